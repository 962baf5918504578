//! What comes out of an agent's terminal.

use std::pin::pin;
use std::time::Duration;

use ao_ports::{Output, RuntimeError};

use super::place::{Ending, Place, failed};
use super::runtime::Shared;
use super::segments;

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
    // To the folder: the exit, and the next file of output, come up in there as well.
    let deaf = |err: &std::io::Error| {
        let why = "raise fs.inotify.max_user_instances and max_user_watches";
        RuntimeError::Failed(format!("could not listen to `{}`: {err}; {why}", place.dir.display()))
    };
    let mut listening = shared.ear.listen(&place.dir).map_err(|err| deaf(&err))?;
    let mut passed = pin!(tokio::time::sleep(wait));
    loop {
        // Only now that it is listened to: what came between the first look and the listening would not be heard.
        let piece = look(&place, from, limit).await?;
        if is_awaited(&piece) {
            return Ok(piece);
        }
        tokio::select! {
            heard = listening.heard() => heard.map_err(|err| deaf(&err))?,
            () = &mut passed => return look(&place, from, limit).await,
        }
    }
}

async fn look(place: &Place, from: u64, limit: usize) -> Result<Output, RuntimeError> {
    let place = place.clone();
    tokio::task::spawn_blocking(move || read(&place, from, limit))
        .await
        .map_err(|err| RuntimeError::Failed(err.to_string()))?
}

fn read(place: &Place, from: u64, limit: usize) -> Result<Output, RuntimeError> {
    // Asked first. The exit is written down after all that was put out, so what is read afterwards is all of it.
    let has_ended = place.exit()?.is_some() || place.ending()? == Some(Ending::Done);
    let (from, bytes, whole) = segments::read(&place.dir, from, limit)
        .map_err(|err| failed("read the output in", &place.dir, &err))?;
    Ok(Output { from, bytes, ended: has_ended && whole })
}
