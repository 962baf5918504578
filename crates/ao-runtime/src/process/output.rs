//! Reads the output of a process.

use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use ao_ports::{OutputPart, RuntimeError};

use super::processes::{NAME, SharedProcesses};
use crate::host::files::failed;
use crate::host::output_wait::{self, OutputRequest};
use crate::host::{AttemptDir, EndState};
use crate::recording;

pub(super) async fn output(
    shared: &SharedProcesses,
    attempt_dir: AttemptDir,
    from: u64,
    limit: usize,
    wait: Duration,
) -> Result<OutputPart, RuntimeError> {
    let mut passed = pin!(tokio::time::sleep(wait));
    loop {
        // Both are taken before the look, so that output and an end after the look are noticed. A daemon that has just
        // started reads before it is linked to processes of an earlier daemon, and then waits for the link first.
        let mut linked = pin!(shared.linked.notified());
        linked.as_mut().enable();
        let mut link = shared.link(attempt_dir.key);
        let piece = look(&attempt_dir, from, limit).await?;
        if limit == 0 || !piece.bytes.is_empty() || piece.ended || wait.is_zero() {
            return Ok(piece);
        }
        if let Some(link) = &mut link {
            link.offset.mark_unchanged();
            link.notify_beyond(from);
        }
        let notified = async {
            match &mut link {
                // An error means that it has ended.
                Some(link) => drop(link.offset.changed().await),
                None => linked.await,
            }
        };
        tokio::select! {
            () = notified => {}
            () = &mut passed => return look(&attempt_dir, from, limit).await,
        }
    }
}

/// Reads the output for people. For a program on pipes it is recorded separately from the protocol on its stdout.
pub(super) async fn log(
    shared: &SharedProcesses,
    attempt_dir: AttemptDir,
    from: u64,
    limit: usize,
    wait: Duration,
) -> Result<OutputPart, RuntimeError> {
    let dir = attempt_dir.log();
    if !dir.is_dir() {
        return output(shared, attempt_dir, from, limit, wait).await;
    }
    let wanted = OutputRequest {
        file_watcher: &shared.host.file_watcher,
        attempt_dir: &attempt_dir,
        dir,
        limit,
        wait,
    };
    let look = || attempt_dir.aside(move |attempt_dir| read(attempt_dir, &attempt_dir.log(), from, limit));
    output_wait::wait_for(wanted, look).await
}

async fn look(attempt_dir: &AttemptDir, from: u64, limit: usize) -> Result<OutputPart, RuntimeError> {
    attempt_dir.aside(move |attempt_dir| read(attempt_dir, &attempt_dir.output(), from, limit)).await
}

fn read(attempt_dir: &AttemptDir, dir: &Path, from: u64, limit: usize) -> Result<OutputPart, RuntimeError> {
    // Checked first, so that a read after the end gets everything that is left.
    let has_ended = has_ended(attempt_dir)?;
    recording::output(dir, from, limit, has_ended).map_err(|err| failed("read", dir, &err))
}

/// Unlike [`super::life`], an undetermined state is an error here.
fn has_ended(attempt_dir: &AttemptDir) -> Result<bool, RuntimeError> {
    if attempt_dir.exit()?.is_some() || attempt_dir.ending()? == Some(EndState::Done) {
        return Ok(true);
    }
    let Some(record) = attempt_dir.record()? else {
        // A start is under way or was interrupted, or there never was one.
        return match attempt_dir.begun()? {
            true => Ok(false),
            false => Err(RuntimeError::Failed(format!("`{}` was never started", attempt_dir.process(NAME)))),
        };
    };
    if record.lives()? {
        return Ok(false);
    }
    // While there is a shim, it is about to record the exit.
    Ok(!attempt_dir.holder()?.is_some_and(|holder| holder.lives().unwrap_or(true))
        || attempt_dir.exit()?.is_some())
}
