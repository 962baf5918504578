//! Waits for the ends of agents: the kernel reports the end, and tmux knows the code.

use std::sync::Arc;
use std::time::Duration;

use ao_ports::RuntimeError;
use rustix::process::Signal as Kill;

use super::attempt_dir::PaneRecord;
use super::runtime::{SharedTmux, Tmux};
use super::server;
use super::start::{keeping, path_text};
use crate::host::files::{failed, no_procfs};
use crate::host::{AttemptDir, ProgramExit, wait};

/// Time that tmux and the helpers get to record an exit, before tmux is signalled again.
const PATIENCE: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_millis(300), Duration::from_secs(1), Duration::from_secs(4)];

/// Waits for an agent that has just been started.
pub(super) fn begin(tmux: &Tmux, attempt_dir: &AttemptDir, pane: PaneRecord) -> Result<(), RuntimeError> {
    let pidfd = unless_ended(&pane)?;
    let (shared, attempt_dir) = (tmux.shared.clone(), attempt_dir.clone());
    let session = (pane.session.clone(), attempt_dir.key);
    shared.sessions.lock().expect("no thread panics while adding one").extend([session]);
    tmux.spawn_waiter(attempt_dir.key, async move {
        if let Some(pidfd) = pidfd
            && let Err(err) = wait::gone(pidfd).await
        {
            tracing::warn!(%err, session = %attempt_dir.key.0, "cannot wait for an agent");
            shared.waited_for.lock().expect("no thread panics while counting").remove(&attempt_dir.key);
            return;
        }
        ended(&shared, &attempt_dir, &pane).await;
    });
    Ok(())
}

/// Waits for an agent that an earlier daemon has started. Returns it if it has ended and its exit is not recorded.
pub(super) async fn adopt(tmux: &Tmux, attempt_dir: &AttemptDir) -> Result<Option<PaneRecord>, RuntimeError> {
    let shared = &tmux.shared;
    let Some(pane) = attempt_dir.pane()? else { return Ok(None) };
    if shared.is_waited_for(attempt_dir.key)
        || attempt_dir.exit()?.is_some()
        || attempt_dir.ending()?.is_some()
    {
        return Ok(None);
    }
    if pane.process.is_of_this_boot() {
        shared.options.families.add_agent(&pane.process, attempt_dir.key);
        shared.options.families.add_tmux_server(&pane.server);
    }
    if unless_ended(&pane)?.is_none() {
        return Ok(Some(pane));
    }
    begin(tmux, attempt_dir, pane.clone())?;
    // The recorder may have been killed; that of a living agent is started again. tmux itself would notice only when it
    // has output to pass on.
    if attempt_dir.is_kept() {
        return Ok(None);
    }
    let keeping = keeping(&pane.id, &path_text(attempt_dir.dir())?, shared.options.keep, pane.without_input);
    if let Err(err) = shared.control.ask(&keeping).await {
        tracing::warn!(%err, session = %attempt_dir.key.0, "the output of an agent is not kept");
    }
    Ok(None)
}

/// Gets the exit of an ended agent recorded, with its code if tmux can provide it.
pub(super) async fn settle(shared: &SharedTmux, attempt_dir: &AttemptDir, pane: &PaneRecord) {
    let settled = async {
        for patience in PATIENCE {
            // tmux may have missed SIGCHLD; another one makes it look.
            server::signal(&pane.server, Kill::CHILD);
            match tokio::time::timeout(patience, written(shared, attempt_dir, pane)).await {
                Ok(written) => {
                    written?;
                    break;
                }
                Err(_) => tracing::debug!(session = %attempt_dir.key.0, "an exit is waited for"),
            }
        }
        match attempt_dir.exit()? {
            Some(_) => Ok(()),
            None => attempt_dir.keep_exit(ProgramExit {
                code: code(shared, pane).await,
                ..ProgramExit::unseen(shared.clock.now())
            }),
        }
    };
    if let Err(err) = settled.await {
        tracing::warn!(%err, session = %attempt_dir.key.0, "an exit could not be kept");
    }
}

/// Waits until the exit is recorded, or no process is left that could record it.
async fn written(
    shared: &SharedTmux,
    attempt_dir: &AttemptDir,
    pane: &PaneRecord,
) -> Result<(), RuntimeError> {
    let deaf = |err: std::io::Error| failed("listen to", attempt_dir.dir(), &err);
    let mut listening = shared.host.file_watcher.listen(attempt_dir.dir()).map_err(deaf)?;
    while attempt_dir.exit()?.is_none() && (!attempt_dir.is_closed() || pane.server.lives()?) {
        listening.heard().await.map_err(deaf)?;
    }
    Ok(())
}

/// Asks tmux for the exit code.
async fn code(shared: &SharedTmux, pane: &PaneRecord) -> Option<i32> {
    let status = format!("display-message -p -t {} '#{{pane_dead_status}}'", pane.id);
    let reply = shared.control.ask(&[status]).await.ok()?;
    (reply.server == pane.server).then(|| reply.line().parse().ok()).flatten()
}

/// Gets the end recorded first and reports it afterwards, so that a receiver of the report finds it.
async fn ended(shared: &Arc<SharedTmux>, attempt_dir: &AttemptDir, pane: &PaneRecord) {
    settle(shared, attempt_dir, pane).await;
    let exit = attempt_dir.exit().ok().flatten().unwrap_or_else(|| ProgramExit::unseen(shared.clock.now()));
    shared.waited_for.lock().expect("no thread panics while counting").remove(&attempt_dir.key);
    shared.host.reports.exited(attempt_dir.key, exit.at, exit.code).await;
}

fn unless_ended(pane: &PaneRecord) -> Result<Option<std::os::fd::OwnedFd>, RuntimeError> {
    pane.process.unless_ended().map_err(|err| no_procfs(&err))
}
