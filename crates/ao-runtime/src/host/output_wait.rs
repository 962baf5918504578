//! Waits for recorded output by watching the files that it is recorded in.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use ao_ports::{OutputPart, RuntimeError};

use super::AttemptDir;
use super::file_watch::FileWatcher;

/// A request for output, with its limits.
pub(crate) struct OutputRequest<'a> {
    pub(crate) file_watcher: &'a FileWatcher,
    pub(crate) attempt_dir: &'a AttemptDir,
    /// The folder with the recorded output.
    pub(crate) dir: PathBuf,
    pub(crate) limit: usize,
    pub(crate) wait: Duration,
}

/// Reads until there is output, the program has ended, or the time is up. `look` reads the current state.
pub(crate) async fn wait_for<F>(
    wanted: OutputRequest<'_>,
    look: impl Fn() -> F,
) -> Result<OutputPart, RuntimeError>
where
    F: Future<Output = Result<OutputPart, RuntimeError>>,
{
    let OutputRequest { file_watcher, attempt_dir, dir, limit, wait } = wanted;
    let is_awaited = |piece: &OutputPart| limit == 0 || !piece.bytes.is_empty() || piece.ended;
    let piece = look().await?;
    if is_awaited(&piece) || wait.is_zero() {
        return Ok(piece);
    }
    // Watch both folders: the exit file appears in one, and the next output file in the other.
    let deaf = |err: &io::Error| {
        let why = "raise fs.inotify.max_user_instances and max_user_watches";
        RuntimeError::Failed(format!("could not listen to `{}`: {err}; {why}", attempt_dir.dir().display()))
    };
    let mut words = file_watcher.listen(attempt_dir.dir()).map_err(|err| deaf(&err))?;
    let mut kept = file_watcher.listen(&dir).map_err(|err| deaf(&err))?;
    let mut passed = pin!(tokio::time::sleep(wait));
    loop {
        // Look again only now: a change between the first look and the start of the watch would be missed.
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
