//! Ends an attempt for good, with all its processes.

use std::sync::Arc;

use ao_ports::{EndOrder, RuntimeError};

use super::attempt_dir::PaneRecord;
use super::control::ControlError;
use super::runtime::SharedTmux;
use super::server::ServerState;
use super::{names, watch};
use crate::host::{self, AttemptKey, EndState};

pub(super) async fn end(shared: &Arc<SharedTmux>, order: &EndOrder) -> Result<(), RuntimeError> {
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
    let pane = attempt_dir.readable(attempt_dir.pane());
    host::end::all(key, pane.as_ref().map(|pane| &pane.process), shared.options.grace).await?;
    if let Some(pane) = &pane {
        // tmux forgets the exit together with the session.
        watch::settle(shared, &attempt_dir, pane).await;
    }
    match kill_session_of(shared, key, pane.as_ref()).await {
        Ok(()) => {}
        // Nothing runs in it any more. It stays visible, and ending it is not retried forever.
        Err(err) => tracing::warn!(%err, session = %key.0, "the tmux session of an ended agent is left"),
    }
    shared.host.samples.forget(key);
    shared.options.families.remove_agent(key);
    shared.wrote.lock().expect("no thread panics while removing one").remove(&key);
    shared.typed.lock().expect("no thread panics while noting").remove(&key);
    shared.sessions.lock().expect("no thread panics while removing one").retain(|_, whose| *whose != key);
    attempt_dir.aside(|attempt_dir| attempt_dir.keep_ending(EndState::Done)).await?;
    shared.sweep();
    let is_last = {
        let mut open = shared.open.lock().expect("no thread panics while counting");
        open.remove(&key);
        open.is_empty()
    };
    if is_last {
        end_unused_server(shared).await;
    }
    Ok(())
}

/// Ends the server, unless it has a session of an agent or one that a person has opened. The next start starts a new
/// server.
pub(super) async fn end_unused_server(shared: &SharedTmux) {
    if let Err(err) = shared.control.end_unless(names::ANYTHING).await {
        tracing::warn!(%err, "the tmux server is left, although no agent is");
    }
}

/// Kills the session of one attempt, by its recorded id if that is still valid: a search costs time in proportion to
/// the agents.
async fn kill_session_of(
    shared: &SharedTmux,
    key: AttemptKey,
    pane: Option<&PaneRecord>,
) -> Result<(), RuntimeError> {
    let standing = shared.server.standing()?;
    match pane.filter(|pane| standing == ServerState::Lives(pane.server.clone())) {
        Some(pane) => match shared.control.ask(&[format!("kill-session -t {}", pane.session)]).await {
            // The session or the server was gone already.
            Ok(_) | Err(ControlError::Refused { .. } | ControlError::Gone) => Ok(()),
            Err(err) => Err(err.into()),
        },
        None => kill_session(shared, key).await,
    }
}

/// Kills the session of one attempt, by the server's own id for it: names are matched by their beginnings.
pub(super) async fn kill_session(shared: &SharedTmux, key: AttemptKey) -> Result<(), RuntimeError> {
    let sessions = ["list-sessions -F '#{session_id} #{session_name}'".to_owned()];
    let reply = match shared.control.ask(&sessions).await {
        Ok(reply) => reply,
        Err(ControlError::Gone) => return Ok(()),
        Err(err) => return Err(err.into()),
    };
    for line in reply.blocks.iter().flatten() {
        if let Some((id, name)) = line.split_once(' ')
            && names::is_of(name, key)
        {
            shared.control.ask(&[format!("kill-session -t {id}")]).await?;
        }
    }
    Ok(())
}
