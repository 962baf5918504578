//! Cleanup after an earlier daemon that was killed, or a machine that went down.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;

use ao_ports::environment::CHECK_RUN;
use ao_ports::{Clock, RunState};
use ao_process::Mark;
use camino::Utf8PathBuf;
use tracing::warn;

use super::error::RunnerError;
use super::options::Options;
use super::run_records::{self, RunRecords};
use super::tree::CheckTree;
use crate::error_chain::error_chain;

/// Reason of runs that were cancelled by the end of the daemon.
pub(super) const ENDED: &str = "the daemon ended";

/// Ends leftover processes, removes leftover checkouts, and then marks the runs as cancelled.
pub(super) async fn clear(
    options: &Options,
    records: &RunRecords,
    clock: &dyn Clock,
) -> Result<(), RunnerError> {
    for folder in [options.trees(), options.logs()] {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&folder);
        made.map_err(RunnerError::file("make", folder))?;
    }
    let trees = trees(options)?;
    let clearing = trees.into_iter().map(|holder| clear_tree(options, holder));
    futures::future::join_all(clearing).await;
    let mut changes = Vec::new();
    for id in records.live().await? {
        let Some(mut stored) = records.get(&id).await? else { continue };
        stored.run.state = RunState::Cancelled;
        stored.run.why = Some(ENDED.into());
        stored.run.ended_at = Some(clock.now());
        changes.extend(run_records::end(&stored));
    }
    records.change(changes).await?;
    Ok(())
}

/// Cleans up one checkout. A process of a run never outlives its tree, so the trees lead to all processes.
async fn clear_tree(options: &Options, holder: Utf8PathBuf) {
    let run = holder.file_name().unwrap_or_default();
    if let Err(err) = Mark::new(&[(CHECK_RUN, run.as_bytes())], options.grace).end().await {
        warn!(%err, run, "a check of an earlier daemon could not be ended");
    }
    if let Err(err) = CheckTree::left_in(&holder).remove(&options.queues).await {
        warn!(err = error_chain(&err), run, "the checkout of an earlier daemon could not be removed");
    }
}

fn trees(options: &Options) -> Result<Vec<Utf8PathBuf>, RunnerError> {
    let folder = options.trees();
    let listed = fs::read_dir(&folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let listed = listed.map_err(RunnerError::file("list", folder))?;
    Ok(listed.into_iter().filter_map(|entry| Utf8PathBuf::from_path_buf(entry.path()).ok()).collect())
}
