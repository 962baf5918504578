//! Ends an attempt for good, with all its processes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ao_ports::{EndOrder, RuntimeError};
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::process::{Signal, pidfd_send_signal};

use super::connection::ShimConnection;
use super::processes::SharedProcesses;
use super::protocol::{ShimMessage, ShimRequest};
use crate::host::files::failed;
use crate::host::{self, AttemptDir, EndState, ProgramExit, wait};

/// Time that a shim may take beyond the grace period. It kills for about ten seconds before it gives up.
const KILLING: Duration = Duration::from_secs(15);
/// Time that a shim may take to exit when nothing is left.
const GOING: Duration = Duration::from_secs(3);

pub(super) async fn end(shared: &Arc<SharedProcesses>, order: &EndOrder) -> Result<(), RuntimeError> {
    let key = (order.session, order.attempt);
    let _turn = shared.host.turns.take(key).await;
    let attempt_dir = shared.attempt_dir(key);
    // An unreadable state does not prevent the end.
    if attempt_dir.readable(attempt_dir.ending()) == Some(EndState::Done) {
        return Ok(());
    }
    // Written first, so that a late start finds it.
    attempt_dir.make()?;
    attempt_dir.keep_ending(EndState::Wanted)?;
    if attempt_dir.begun().unwrap_or(true) {
        // A start that did not find it finishes first.
        wait_for_a_start(&attempt_dir).await?;
        end_all(shared, &attempt_dir).await?;
    }
    shared.host.samples.forget(key);
    shared.options.families.remove_agent(key);
    attempt_dir.aside(|attempt_dir| attempt_dir.keep_ending(EndState::Done)).await?;
    shared.sweep();
    Ok(())
}

async fn wait_for_a_start(attempt_dir: &AttemptDir) -> Result<(), RuntimeError> {
    let path = attempt_dir.start_lock();
    let waited = tokio::task::spawn_blocking(move || {
        let file =
            openat(CWD, path, OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
        flock(file, FlockOperation::LockExclusive)
    });
    // A start that hangs is ended together with the rest.
    let Ok(waited) = tokio::time::timeout(KILLING, waited).await else { return Ok(()) };
    let waited = waited.map_err(|err| RuntimeError::Failed(err.to_string()))?;
    waited.map_err(|err| failed("wait for", &attempt_dir.start_lock(), &err.into()))
}

async fn end_all(shared: &SharedProcesses, attempt_dir: &AttemptDir) -> Result<(), RuntimeError> {
    let grace = shared.options.grace;
    match tokio::time::timeout(grace + KILLING, ask(attempt_dir, grace)).await {
        // Nothing is left below the shim. Processes that escaped it are found by their environment, in a search that
        // all concurrent ends share. Not by the group: that is empty, and its id may be in use elsewhere by now.
        Ok(Ok(ShimMessage::Done)) => return host::end::all(attempt_dir.key, None, grace).await,
        Ok(Ok(ShimMessage::Failed { why })) => return Err(RuntimeError::Failed(why)),
        // There is no shim, because nothing was left to hold.
        _ if attempt_dir.is_left().unwrap_or(false) => {
            return host::end::all(attempt_dir.key, None, grace).await;
        }
        Ok(_) | Err(_) => {}
    }
    let record = attempt_dir.readable(attempt_dir.record());
    host::end::all(attempt_dir.key, record.as_ref(), grace).await?;
    if let Some(shim) = attempt_dir.readable(attempt_dir.holder()).and_then(|holder| holder.pidfd()) {
        // It has nothing left to hold and exits by itself, unless something is wrong with it.
        let killed = shim.try_clone();
        if tokio::time::timeout(GOING, wait::gone(shim)).await.is_err()
            && let Ok(shim) = killed
        {
            let _ = pidfd_send_signal(&shim, Signal::KILL);
        }
    }
    if record.is_some() && attempt_dir.readable(attempt_dir.exit()).is_none() {
        attempt_dir.keep_exit(ProgramExit::unseen(shared.clock.now()))?;
    }
    Ok(())
}

/// Lets the shim end everything, and waits until it has exited too.
async fn ask(attempt_dir: &AttemptDir, grace: Duration) -> io::Result<ShimMessage> {
    let mut line = ShimConnection::to(attempt_dir.dir()).await?;
    line.ask(&ShimRequest::End { grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX) }, &[])
        .await?;
    let Some((said, _)) = line.hear().await? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
    if said == ShimMessage::Done {
        let _ = tokio::time::timeout(GOING, line.hear()).await;
    }
    Ok(said)
}
