//! Waiting for kept output by listening to the files that it is kept in.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use ao_ports::{Output, RuntimeError};

use super::Place;
use super::listen::Ear;

/// A wish for output: where it is kept, how much is wanted, and how long it may take.
pub(crate) struct Wanted<'a> {
    pub(crate) ear: &'a Ear,
    pub(crate) place: &'a Place,
    /// Where the output is kept.
    pub(crate) dir: PathBuf,
    pub(crate) limit: usize,
    pub(crate) wait: Duration,
}

/// Looks until there is output, the end has come, or the time has passed. `look` reads what there is now.
pub(crate) async fn wait_for<F>(wanted: Wanted<'_>, look: impl Fn() -> F) -> Result<Output, RuntimeError>
where
    F: Future<Output = Result<Output, RuntimeError>>,
{
    let Wanted { ear, place, dir, limit, wait } = wanted;
    let is_awaited = |piece: &Output| limit == 0 || !piece.bytes.is_empty() || piece.ended;
    let piece = look().await?;
    if is_awaited(&piece) || wait.is_zero() {
        return Ok(piece);
    }
    // To the folders: the exit comes up in the one, and the next file of output in the other.
    let deaf = |err: &io::Error| {
        let why = "raise fs.inotify.max_user_instances and max_user_watches";
        RuntimeError::Failed(format!("could not listen to `{}`: {err}; {why}", place.dir().display()))
    };
    let mut words = ear.listen(place.dir()).map_err(|err| deaf(&err))?;
    let mut kept = ear.listen(&dir).map_err(|err| deaf(&err))?;
    let mut passed = pin!(tokio::time::sleep(wait));
    loop {
        // Only now that it is listened to: what came between the first look and the listening would not be heard.
        let piece = look().await?;
        if is_awaited(&piece) {
            return Ok(piece);
        }
        tokio::select! {
            heard = words.heard() => heard.map_err(|err| deaf(&err))?,
            heard = kept.heard() => heard.map_err(|err| deaf(&err))?,
            () = &mut passed => return look().await,
        }
    }
}
