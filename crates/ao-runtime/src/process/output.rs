//! What comes out of a process.

use std::fs::File;
use std::future::pending;
use std::os::unix::fs::FileExt;
use std::pin::pin;
use std::time::Duration;

use ao_ports::{Output, RuntimeError};

use super::place::{Ending, Place, failed};
use super::processes::Shared;
use crate::host::listen::Listening;
use crate::host::wait::gone;

/// The most that one call reads, whatever it is asked for.
const READ_MOST: usize = 1 << 20;
/// How often to look if the kernel lets us watch no more files. Slow, but an agent is not left unheard.
const DEAF: Duration = Duration::from_secs(1);

pub(super) async fn output(
    shared: &Shared,
    place: Place,
    from: u64,
    limit: usize,
    wait: Duration,
) -> Result<Output, RuntimeError> {
    let is_awaited = |piece: &Output| limit == 0 || !piece.bytes.is_empty() || piece.ended;
    let piece = look(&place, from, limit).await?;
    if is_awaited(&piece) || wait.is_zero() {
        return Ok(piece);
    }
    let mut listening = match shared.ear.listen(&place.output()) {
        Ok(listening) => Some(listening),
        Err(err) => {
            tracing::warn!(%err, session = %place.key.0, "output is looked for every second, as it cannot be watched; \
                raise fs.inotify.max_user_instances and max_user_watches");
            None
        }
    };
    let pidfd = match place.record()? {
        Some(record) => record.unless_ended().map_err(|err| failed("look at", "/proc".as_ref(), &err))?,
        None => None,
    };
    let mut end = pin!(async {
        match pidfd {
            Some(pidfd) => gone(pidfd).await,
            None => pending().await,
        }
    });
    let mut passed = pin!(tokio::time::sleep(wait));
    loop {
        // Only now that everything is watched: what came between the first look and the watching would not be heard.
        let piece = look(&place, from, limit).await?;
        if is_awaited(&piece) {
            return Ok(piece);
        }
        tokio::select! {
            () = heard(&mut listening) => {}
            ended = &mut end => {
                ended.map_err(|err| RuntimeError::Failed(format!("could not wait for an end: {err}")))?;
                return look(&place, from, limit).await;
            }
            () = &mut passed => return look(&place, from, limit).await,
        }
    }
}

async fn heard(listening: &mut Option<Listening>) {
    if let Some(heard) = listening {
        match heard.heard().await {
            Ok(()) => return,
            Err(_) => *listening = None,
        }
    }
    tokio::time::sleep(DEAF).await;
}

async fn look(place: &Place, from: u64, limit: usize) -> Result<Output, RuntimeError> {
    let place = place.clone();
    tokio::task::spawn_blocking(move || read(&place, from, limit))
        .await
        .map_err(|err| RuntimeError::Failed(err.to_string()))?
}

fn read(place: &Place, from: u64, limit: usize) -> Result<Output, RuntimeError> {
    // Asked first: what is read afterwards is then all that it has left.
    let has_ended = has_ended(place)?;
    let path = place.output();
    let file = File::open(&path).map_err(|err| failed("open", &path, &err))?;
    let size = file.metadata().map_err(|err| failed("look at", &path, &err))?.len();
    let left = usize::try_from(size.saturating_sub(from)).unwrap_or(usize::MAX);
    let mut bytes = vec![0; left.min(limit).min(READ_MOST)];
    let count = file.read_at(&mut bytes, from).map_err(|err| failed("read", &path, &err))?;
    bytes.truncate(count);
    let ended = has_ended && from.saturating_add(count as u64) >= size;
    Ok(Output { from, bytes, ended })
}

/// Not [`super::life`]: there, an end counts only when its code is written down.
fn has_ended(place: &Place) -> Result<bool, RuntimeError> {
    if place.exit()?.is_some() || place.ending()? == Some(Ending::Done) {
        return Ok(true);
    }
    // Without a record, a start is under way or was cut off.
    let Some(record) = place.record()? else { return Ok(false) };
    let alive = record.unless_ended().map_err(|err| failed("look at", "/proc".as_ref(), &err))?;
    Ok(alive.is_none())
}
