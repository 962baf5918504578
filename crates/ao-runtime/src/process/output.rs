//! What comes out of a process.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use ao_ports::{Output, RuntimeError};

use super::processes::Shared;
use crate::host::files::failed;
use crate::host::heard::{self, Wanted};
use crate::host::{Ending, Place};
use crate::kept;

pub(super) async fn output(
    shared: &Shared,
    place: Place,
    from: u64,
    limit: usize,
    wait: Duration,
) -> Result<Output, RuntimeError> {
    let mut passed = pin!(tokio::time::sleep(wait));
    loop {
        // Both taken before the look: what comes after the look is told, and so is the end. A daemon that has just begun asks
        // before it listens to what an earlier one has started, and so waits for that first.
        let mut linked = pin!(shared.linked.notified());
        linked.as_mut().enable();
        let mut link = shared.link(place.key);
        let piece = look(&place, from, limit).await?;
        if limit == 0 || !piece.bytes.is_empty() || piece.ended || wait.is_zero() {
            return Ok(piece);
        }
        if let Some(link) = &mut link {
            link.offset.mark_unchanged();
            link.tell_beyond(from);
        }
        let told = async {
            match &mut link {
                // An error means that it has ended.
                Some(link) => drop(link.offset.changed().await),
                None => linked.await,
            }
        };
        tokio::select! {
            () = told => {}
            () = &mut passed => return look(&place, from, limit).await,
        }
    }
}

/// What people are shown. Of a program on pipes that is kept apart from what it says there.
pub(super) async fn log(
    shared: &Shared,
    place: Place,
    from: u64,
    limit: usize,
    wait: Duration,
) -> Result<Output, RuntimeError> {
    let dir = place.log();
    if !dir.is_dir() {
        return output(shared, place, from, limit, wait).await;
    }
    let wanted = Wanted { ear: &shared.ear, place: &place, dir, limit, wait };
    let look = || place.aside(move |place| read(place, &place.log(), from, limit));
    heard::wait_for(wanted, look).await
}

async fn look(place: &Place, from: u64, limit: usize) -> Result<Output, RuntimeError> {
    place.aside(move |place| read(place, &place.output(), from, limit)).await
}

fn read(place: &Place, dir: &Path, from: u64, limit: usize) -> Result<Output, RuntimeError> {
    // Asked first: what is read afterwards is then all that it has left.
    let has_ended = has_ended(place)?;
    kept::output(dir, from, limit, has_ended).map_err(|err| failed("read", dir, &err))
}

/// Not [`super::life`]: here, what cannot be told is an error.
fn has_ended(place: &Place) -> Result<bool, RuntimeError> {
    if place.exit()?.is_some() || place.ending()? == Some(Ending::Done) {
        return Ok(true);
    }
    let Some(record) = place.record()? else {
        // A start is under way or was cut off, or there never was one.
        return match place.begun()? {
            true => Ok(false),
            false => Err(RuntimeError::Failed(format!("`{}` was never started", place.process().0))),
        };
    };
    if record.lives()? {
        return Ok(false);
    }
    // While there is a shim, it is about to write the end down.
    Ok(!place.holder()?.is_some_and(|holder| holder.lives().unwrap_or(true)) || place.exit()?.is_some())
}
