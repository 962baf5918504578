//! Waiting for the ends of agents: the kernel wakes us, and tmux knows the code.

use std::sync::Arc;
use std::time::Duration;

use ao_ports::RuntimeError;
use rustix::process::Signal as Kill;

use super::place::Pane;
use super::runtime::{Shared, Tmux};
use super::server;
use super::start::{keeping, path_text};
use crate::host::files::{failed, no_procfs};
use crate::host::{Exit, Place, wait};

/// How long tmux and the helpers may take to write an exit down, before tmux is made to look again.
const PATIENCE: [Duration; 4] =
    [Duration::from_millis(100), Duration::from_millis(300), Duration::from_secs(1), Duration::from_secs(4)];

/// Waits for an agent that has just been started.
pub(super) fn begin(tmux: &Tmux, place: &Place, pane: Pane) -> Result<(), RuntimeError> {
    let pidfd = unless_ended(&pane)?;
    let (shared, place) = (tmux.shared.clone(), place.clone());
    let session = (pane.session.clone(), place.key);
    shared.sessions.lock().expect("nobody panics while adding one").extend([session]);
    tmux.spawn_waiter(place.key, async move {
        if let Some(pidfd) = pidfd
            && let Err(err) = wait::gone(pidfd).await
        {
            tracing::warn!(%err, session = %place.key.0, "cannot wait for an agent");
            shared.waited_for.lock().expect("nobody panics while counting").remove(&place.key);
            return;
        }
        ended(&shared, &place, &pane).await;
    });
    Ok(())
}

/// Waits for an agent that an earlier daemon has started. Returns it if it has ended and its exit is not written down.
pub(super) async fn adopt(tmux: &Tmux, place: &Place) -> Result<Option<Pane>, RuntimeError> {
    let shared = &tmux.shared;
    let Some(pane) = place.pane()? else { return Ok(None) };
    if shared.is_waited_for(place.key) || place.exit()?.is_some() || place.ending()?.is_some() {
        return Ok(None);
    }
    if pane.process.is_of_this_boot() {
        shared.options.families.add_agent(&pane.process, place.key);
        shared.options.families.add_tmux_server(&pane.server);
    }
    if unless_ended(&pane)?.is_none() {
        return Ok(Some(pane));
    }
    begin(tmux, place, pane.clone())?;
    // Whoever kept the output may have been killed; that of a living agent is kept again. tmux itself would notice only
    // when it has something to pass on.
    if place.is_kept() {
        return Ok(None);
    }
    let keeping = keeping(&pane.id, &path_text(place.dir())?, shared.options.keep, pane.without_input);
    if let Err(err) = shared.control.ask(&keeping).await {
        tracing::warn!(%err, session = %place.key.0, "the output of an agent is not kept");
    }
    Ok(None)
}

/// Has the exit of an agent that has ended written down, with its code if tmux can be made to tell.
pub(super) async fn settle(shared: &Shared, place: &Place, pane: &Pane) {
    let settled = async {
        for patience in PATIENCE {
            // tmux may have missed the signal of its child; another makes it look.
            server::signal(&pane.server, Kill::CHILD);
            match tokio::time::timeout(patience, written(shared, place, pane)).await {
                Ok(written) => {
                    written?;
                    break;
                }
                Err(_) => tracing::debug!(session = %place.key.0, "an exit is waited for"),
            }
        }
        match place.exit()? {
            Some(_) => Ok(()),
            None => {
                place.keep_exit(Exit { code: code(shared, pane).await, ..Exit::unseen(shared.clock.now()) })
            }
        }
    };
    if let Err(err) = settled.await {
        tracing::warn!(%err, session = %place.key.0, "an exit could not be kept");
    }
}

/// Waits until the exit is written down, or nobody is left who could.
async fn written(shared: &Shared, place: &Place, pane: &Pane) -> Result<(), RuntimeError> {
    let deaf = |err: std::io::Error| failed("listen to", place.dir(), &err);
    let mut listening = shared.ear.listen(place.dir()).map_err(deaf)?;
    while place.exit()?.is_none() && (!place.is_closed() || pane.server.lives()?) {
        listening.heard().await.map_err(deaf)?;
    }
    Ok(())
}

/// What tmux knows of the end.
async fn code(shared: &Shared, pane: &Pane) -> Option<i32> {
    let status = format!("display-message -p -t {} '#{{pane_dead_status}}'", pane.id);
    let reply = shared.control.ask(&[status]).await.ok()?;
    (reply.server == pane.server).then(|| reply.line().parse().ok()).flatten()
}

/// Has the end written down first and tells of it afterwards, so that whoever looks because of the report finds it.
async fn ended(shared: &Arc<Shared>, place: &Place, pane: &Pane) {
    settle(shared, place, pane).await;
    let exit = place.exit().ok().flatten().unwrap_or_else(|| Exit::unseen(shared.clock.now()));
    shared.waited_for.lock().expect("nobody panics while counting").remove(&place.key);
    shared.reports.exited(place.key, exit.at, exit.code).await;
}

fn unless_ended(pane: &Pane) -> Result<Option<std::os::fd::OwnedFd>, RuntimeError> {
    pane.process.unless_ended().map_err(|err| no_procfs(&err))
}
