//! What comes out of an agent's terminal.

use std::pin::pin;
use std::time::Duration;

use ao_ports::{Output, RuntimeError};

use super::runtime::Shared;
use crate::host::files::failed;
use crate::host::{Ending, Place};
use crate::kept;

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
    // To the folders: the exit comes up in the one, and the next file of output in the other.
    let deaf = |err: &std::io::Error| {
        let why = "raise fs.inotify.max_user_instances and max_user_watches";
        RuntimeError::Failed(format!("could not listen to `{}`: {err}; {why}", place.dir().display()))
    };
    let mut words = shared.ear.listen(place.dir()).map_err(|err| deaf(&err))?;
    let mut kept = shared.ear.listen(&place.output()).map_err(|err| deaf(&err))?;
    let mut passed = pin!(tokio::time::sleep(wait));
    loop {
        // Only now that it is listened to: what came between the first look and the listening would not be heard.
        let piece = look(&place, from, limit).await?;
        if is_awaited(&piece) {
            return Ok(piece);
        }
        tokio::select! {
            heard = words.heard() => heard.map_err(|err| deaf(&err))?,
            heard = kept.heard() => heard.map_err(|err| deaf(&err))?,
            () = &mut passed => return look(&place, from, limit).await,
        }
    }
}

async fn look(place: &Place, from: u64, limit: usize) -> Result<Output, RuntimeError> {
    place.aside(move |place| read(place, from, limit)).await
}

fn read(place: &Place, from: u64, limit: usize) -> Result<Output, RuntimeError> {
    // Asked first. The exit is written down after all that was put out, so what is read afterwards is all of it.
    let has_ended = place.exit()?.is_some() || place.ending()? == Some(Ending::Done);
    let dir = place.output();
    kept::output(&dir, from, limit, has_ended).map_err(|err| failed("read", &dir, &err))
}
