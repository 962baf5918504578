//! Retention: deletes old runs, and logs beyond the size limit.

use std::collections::HashSet;
use std::fs;
use std::sync::Arc;
use std::time::SystemTime;

use ao_core::{Commit, ProjectId};
use camino::Utf8Path;
use tracing::{debug, warn};

use super::error::RunnerError;
use super::live::RunnerState;

/// Deletes the runs of a group except the newest `keep` and those of its newest commit.
pub(super) async fn prune(shared: Arc<RunnerState>, group: String, keep: usize) {
    if let Err(err) = prune_group(&shared, &group, keep).await {
        warn!(%err, group, "old runs of checks could not be forgotten");
    }
}

/// Deletes the oldest runs of a project that has too many.
pub(super) async fn prune_project(shared: Arc<RunnerState>, project: ProjectId) {
    let keep = shared.options.keep_project_runs;
    let pruned = async {
        // One page at a time. Live runs stay, so stop when a pass changes nothing.
        let (mut ids, mut before) = (shared.records.of_project(&project, keep).await?, vec![]);
        while ids.len() > keep && ids != before {
            for id in &ids[keep..] {
                forget(&shared, id, None).await?;
            }
            before = std::mem::replace(&mut ids, shared.records.of_project(&project, keep).await?);
        }
        Ok::<(), RunnerError>(())
    };
    if let Err(err) = pruned.await {
        warn!(%err, %project, "old runs of checks could not be forgotten");
    }
}

async fn prune_group(shared: &RunnerState, group: &str, keep: usize) -> Result<(), RunnerError> {
    let ids = shared.records.group(group, keep).await?;
    if ids.len() <= keep {
        return Ok(());
    }
    // Keep all runs of the newest commit, however many checks there are, except speculative ones, which have no
    // bound.
    let newest = match ids.first() {
        Some(id) => shared.records.get(id).await?.map(|stored| stored.run.head),
        None => None,
    };
    for id in &ids[keep..] {
        forget(shared, id, newest.as_ref()).await?;
    }
    Ok(())
}

/// Deletes a run that is over, unless it belongs to the commit to keep.
async fn forget(shared: &RunnerState, id: &str, matters: Option<&Commit>) -> Result<(), RunnerError> {
    // Locked, so that no new run takes over a result that is being deleted.
    let live = shared.live.lock().await;
    let Some(stored) = shared.records.get(id).await? else { return Ok(()) };
    let matters = Some(&stored.run.head) == matters && stored.run.ahead.is_empty();
    if live.runs.contains_key(id) || !stored.run.state.is_over() || matters {
        return Ok(());
    }
    let changes = shared.records.forget(&stored).await?;
    shared.records.change(changes).await?;
    if let Some(execution) = &stored.execution
        && !live.executions.contains_key(execution)
        && !shared.records.has_log(execution).await?
    {
        // There may never have been one.
        fs::remove_file(shared.options.log(execution)).ok();
    }
    debug!(run = id, "forgotten");
    Ok(())
}

/// Adds a finished log to the total. If the total exceeds the limit, deletes the oldest logs; their runs stay.
pub(super) async fn log_grown(shared: &RunnerState, log: &Utf8Path) {
    let size = fs::metadata(log).map_or(0, |metadata| metadata.len());
    {
        let mut live = shared.live.lock().await;
        live.logs += size;
        if live.logs <= shared.options.logs_limit {
            return;
        }
    }
    let under_way: HashSet<_> =
        shared.live.lock().await.executions.keys().map(|id| shared.options.log(id)).collect();
    let (folder, limit) = (shared.options.logs(), shared.options.logs_limit);
    let sweeping = tokio::task::spawn_blocking(move || sweep(&folder, limit, &under_way));
    match sweeping.await.map_err(std::io::Error::other).and_then(|swept| swept) {
        Ok(left) => shared.live.lock().await.logs = left,
        Err(err) => warn!(%err, "old logs of checks could not be removed"),
    }
}

/// Returns the total size of all logs.
pub(super) fn size_of_logs(folder: &Utf8Path) -> std::io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        size += entry?.metadata().map_or(0, |metadata| metadata.len());
    }
    Ok(size)
}

/// Deletes the oldest logs until a quarter of the limit is free, and returns the remaining size.
fn sweep(folder: &Utf8Path, limit: u64, under_way: &HashSet<camino::Utf8PathBuf>) -> std::io::Result<u64> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if let Ok(metadata) = entry.metadata() {
            let written = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            logs.push((written, metadata.len(), entry.path()));
        }
    }
    logs.sort();
    let mut left: u64 = logs.iter().map(|(_, size, _)| size).sum();
    for (_, size, path) in logs {
        if left <= limit / 4 * 3 {
            break;
        }
        let is_live = Utf8Path::from_path(&path).is_some_and(|path| under_way.contains(path));
        if !is_live && fs::remove_file(&path).is_ok() {
            left -= size;
        }
    }
    Ok(left)
}
