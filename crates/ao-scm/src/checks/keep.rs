//! What is forgotten in time: old runs, and logs of which there is too much.

use std::collections::HashSet;
use std::fs;
use std::sync::Arc;
use std::time::SystemTime;

use ao_core::{Commit, ProjectId};
use camino::Utf8Path;
use tracing::{debug, warn};

use super::error::RunnerError;
use super::live::Desk;

/// Forgets the runs of a group but the newest `keep`, and those of its newest commit.
pub(super) async fn prune(desk: Arc<Desk>, group: String, keep: usize) {
    if let Err(err) = prune_group(&desk, &group, keep).await {
        warn!(%err, group, "old runs of checks could not be forgotten");
    }
}

/// Forgets the oldest runs of a project that has too many.
pub(super) async fn prune_project(desk: Arc<Desk>, project: ProjectId) {
    let keep = desk.options.keep_project_runs;
    let pruned = async {
        // A page at a time, and not for ever: what is under way stays.
        let (mut ids, mut before) = (desk.book.of_project(&project, keep).await?, vec![]);
        while ids.len() > keep && ids != before {
            for id in &ids[keep..] {
                forget(&desk, id, None).await?;
            }
            before = std::mem::replace(&mut ids, desk.book.of_project(&project, keep).await?);
        }
        Ok::<(), RunnerError>(())
    };
    if let Err(err) = pruned.await {
        warn!(%err, %project, "old runs of checks could not be forgotten");
    }
}

async fn prune_group(desk: &Desk, group: &str, keep: usize) -> Result<(), RunnerError> {
    let ids = desk.book.group(group, keep).await?;
    if ids.len() <= keep {
        return Ok(());
    }
    // Of the commit that matters now, nothing is forgotten, however many checks there are; but what was tried with others
    // ahead may have been tried any number of times.
    let newest = match ids.first() {
        Some(id) => desk.book.get(id).await?.map(|stored| stored.run.head),
        None => None,
    };
    for id in &ids[keep..] {
        forget(desk, id, newest.as_ref()).await?;
    }
    Ok(())
}

/// Forgets a run that is over, unless it is of a commit that matters.
async fn forget(desk: &Desk, id: &str, matters: Option<&Commit>) -> Result<(), RunnerError> {
    // Held, so that nobody takes a result over that is just being forgotten.
    let live = desk.live.lock().await;
    let Some(stored) = desk.book.get(id).await? else { return Ok(()) };
    let matters = Some(&stored.run.head) == matters && stored.run.ahead.is_empty();
    if live.runs.contains_key(id) || !stored.run.state.is_over() || matters {
        return Ok(());
    }
    let changes = desk.book.forget(&stored).await?;
    desk.book.change(changes).await?;
    if let Some(execution) = &stored.execution
        && !live.executions.contains_key(execution)
        && !desk.book.has_log(execution).await?
    {
        // There may never have been one.
        fs::remove_file(desk.options.log(execution)).ok();
    }
    debug!(run = id, "forgotten");
    Ok(())
}

/// A log has got its last line. If all of them together are too large, the oldest go, and their runs stay.
pub(super) async fn log_grown(desk: &Desk, log: &Utf8Path) {
    let size = fs::metadata(log).map_or(0, |metadata| metadata.len());
    {
        let mut live = desk.live.lock().await;
        live.logs += size;
        if live.logs <= desk.options.logs_limit {
            return;
        }
    }
    let under_way: HashSet<_> =
        desk.live.lock().await.executions.keys().map(|id| desk.options.log(id)).collect();
    let (folder, limit) = (desk.options.logs(), desk.options.logs_limit);
    let sweeping = tokio::task::spawn_blocking(move || sweep(&folder, limit, &under_way));
    match sweeping.await.map_err(std::io::Error::other).and_then(|swept| swept) {
        Ok(left) => desk.live.lock().await.logs = left,
        Err(err) => warn!(%err, "old logs of checks could not be removed"),
    }
}

/// How many bytes all logs have together.
pub(super) fn size_of_logs(folder: &Utf8Path) -> std::io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        size += entry?.metadata().map_or(0, |metadata| metadata.len());
    }
    Ok(size)
}

/// Removes the oldest logs until a quarter is free again, and says how much is left.
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
