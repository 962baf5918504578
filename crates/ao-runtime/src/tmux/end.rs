//! Ending an attempt, all of it, for good.

use std::sync::Arc;

use ao_ports::{EndOrder, RuntimeError};

use super::control::ControlError;
use super::place::Pane;
use super::runtime::Shared;
use super::server::Standing;
use super::{names, watch};
use crate::host::{self, Ending, Key};

pub(super) async fn end(shared: &Arc<Shared>, order: &EndOrder) -> Result<(), RuntimeError> {
    let key = (order.session, order.attempt);
    let _turn = shared.turns.take(key).await;
    let place = shared.place(key);
    // What cannot be read keeps nobody from ending it.
    if place.readable(place.ending()) == Some(Ending::Done) {
        return Ok(());
    }
    // First of all, so that a start that comes late finds it.
    place.make()?;
    place.keep_ending(Ending::Wanted)?;
    let pane = place.readable(place.pane());
    host::end::all(key, pane.as_ref().map(|pane| &pane.process), shared.options.grace).await?;
    if let Some(pane) = &pane {
        // With the session goes what tmux knows of the end.
        watch::settle(shared, &place, pane).await;
    }
    match kill_session_of(shared, key, pane.as_ref()).await {
        Ok(()) => {}
        // Nothing runs in it any more. It is left to be seen, and not to be ended again and again.
        Err(err) => tracing::warn!(%err, session = %key.0, "the tmux session of an ended agent is left"),
    }
    shared.samples.forget(key);
    shared.options.families.remove_agent(key);
    shared.wrote.lock().expect("nobody panics while removing one").remove(&key);
    shared.typed.lock().expect("nobody panics while noting").remove(&key);
    shared.sessions.lock().expect("nobody panics while removing one").retain(|_, whose| *whose != key);
    place.aside(|place| place.keep_ending(Ending::Done)).await?;
    shared.sweep();
    let is_last = {
        let mut open = shared.open.lock().expect("nobody panics while counting");
        open.remove(&key);
        open.is_empty()
    };
    if is_last {
        end_unused_server(shared).await;
    }
    Ok(())
}

/// Ends the server, unless there is a session in it, an agent's or one that somebody has opened there. The next start
/// starts a new one.
pub(super) async fn end_unused_server(shared: &Shared) {
    if let Err(err) = shared.control.end_unless(names::ANYTHING).await {
        tracing::warn!(%err, "the tmux server is left, although no agent is");
    }
}

/// Kills the session of one attempt, by what was written down of it if that still holds: to look for it costs as much as
/// there are agents.
async fn kill_session_of(shared: &Shared, key: Key, pane: Option<&Pane>) -> Result<(), RuntimeError> {
    let standing = shared.server.standing()?;
    match pane.filter(|pane| standing == Standing::Lives(pane.server.clone())) {
        Some(pane) => match shared.control.ask(&[format!("kill-session -t {}", pane.session)]).await {
            // It went before, or the server did.
            Ok(_) | Err(ControlError::Refused { .. } | ControlError::Gone) => Ok(()),
            Err(err) => Err(err.into()),
        },
        None => kill_session(shared, key).await,
    }
}

/// Kills the session of one attempt, by the server's own id for it: names are matched by their beginnings.
pub(super) async fn kill_session(shared: &Shared, key: Key) -> Result<(), RuntimeError> {
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
