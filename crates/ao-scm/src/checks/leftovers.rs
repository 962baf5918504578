//! What an earlier daemon has left, because it was killed or the machine went down.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;

use ao_ports::environment::CHECK_RUN;
use ao_ports::{Clock, RunState};
use ao_process::Mark;
use camino::Utf8PathBuf;
use tracing::warn;

use super::book::{self, Book};
use super::error::RunnerError;
use super::options::Options;
use super::tree::Tree;
use crate::told::told;

/// Why a run was cancelled that nobody cancelled.
pub(super) const ENDED: &str = "the daemon ended";

/// Ends its processes, removes its checkouts, and then says of its runs that they are over.
pub(super) async fn clear(options: &Options, book: &Book, clock: &dyn Clock) -> Result<(), RunnerError> {
    for folder in [options.trees(), options.logs()] {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(RunnerError::file("make", folder))?;
    }
    let trees = trees(options)?;
    let clearing = trees.into_iter().map(|holder| clear_tree(options, holder));
    futures::future::join_all(clearing).await;
    let mut changes = Vec::new();
    for id in book.live().await? {
        let Some(mut stored) = book.get(&id).await? else { continue };
        stored.run.state = RunState::Cancelled;
        stored.run.why = Some(ENDED.into());
        stored.run.ended_at = Some(clock.now());
        changes.extend(book::end(&stored));
    }
    book.change(changes).await?;
    Ok(())
}

/// Every process of a run lives shorter than its tree, so by the trees all of them are found.
async fn clear_tree(options: &Options, holder: Utf8PathBuf) {
    let run = holder.file_name().unwrap_or_default();
    if let Err(err) = Mark::new(&[(CHECK_RUN, run.as_bytes())], options.grace).end().await {
        warn!(%err, run, "a check of an earlier daemon could not be ended");
    }
    if let Err(err) = Tree::left_in(&holder).remove(&options.queues).await {
        warn!(err = told(&err), run, "the checkout of an earlier daemon could not be removed");
    }
}

fn trees(options: &Options) -> Result<Vec<Utf8PathBuf>, RunnerError> {
    let folder = options.trees();
    let listed = fs::read_dir(&folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let listed = listed.map_err(RunnerError::file("list", folder))?;
    Ok(listed.into_iter().filter_map(|entry| Utf8PathBuf::from_path_buf(entry.path()).ok()).collect())
}
