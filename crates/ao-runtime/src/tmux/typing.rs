//! Notices that a person types into an agent's terminal.
//!
//! tmux knows when each client last had a key pressed. It notifies the control client when a client has attached or
//! detached, and, by a subscription, when one was active; our own writes do not count, since they come from no client.
//! The subscription exists only while a person is attached: tmux evaluates it once a second, and up to 3.6 it crashes
//! if our own session is killed just then.
//!
//! Attaching counts as typing: tmux counts in whole seconds, in the first of which typing cannot be distinguished from
//! attaching, and a person may have typed and left before we can ask.

use ao_core::Timestamp;
use ao_ports::RuntimeError;
use tokio::sync::mpsc;

use super::control::TmuxEvent;
use super::runtime::SharedTmux;
use crate::host::AttemptKey;

/// The time of the last activity in each session.
const SUBSCRIBE: &str = "refresh-client -B 'typed::#{S:#{session_id}=#{session_activity} }'";
const UNSUBSCRIBE: &str = "refresh-client -B typed";

/// A read-only client types no more than a program does.
const CLIENTS: &str =
    "list-clients -F '#{?client_readonly,1,#{client_control_mode}} #{session_id} #{client_activity}'";

pub(super) async fn listen(shared: &SharedTmux, mut news: mpsc::UnboundedReceiver<TmuxEvent>) {
    while let Some(event) = news.recv().await {
        if let Err(err) = look(shared, &event).await {
            tracing::debug!(%err, "cannot tell who types");
        }
    }
}

async fn look(shared: &SharedTmux, event: &TmuxEvent) -> Result<(), RuntimeError> {
    let clients = shared.control.ask(&[CLIENTS.to_owned()]).await?;
    let lines = || clients.blocks.iter().flatten();
    if *event != TmuxEvent::Changed {
        let people = lines().any(|line| line.starts_with("0 "));
        // Both commands are idempotent.
        shared.control.ask(&[if people { SUBSCRIBE } else { UNSUBSCRIBE }.to_owned()]).await?;
    }
    let mut typed: Vec<(&str, Timestamp)> = lines().filter_map(|line| typed_in(line)).collect();
    if let TmuxEvent::Came(Some(session)) = event
        && is_a_person(lines(), session)
    {
        typed.push((session, shared.clock.now()));
    }
    for (session, at) in typed {
        let Some(key) = shared.key_of(session) else { continue };
        let pane = shared.attempt_dir(key).pane()?;
        let is_here = pane.is_some_and(|pane| pane.server == clients.server && pane.session == session);
        if is_here && note(shared, key, at) {
            shared.host.reports.typed(key, at).await;
        }
    }
    Ok(())
}

/// Returns true if a person may have attached to a session: all clients there may be programs, but one that has left
/// again may have been a person.
fn is_a_person<'a>(clients: impl Iterator<Item = &'a String>, session: &str) -> bool {
    let mut there =
        clients.filter(|line| line.split(' ').nth(1) == Some(session)).map(|line| line.starts_with("0 "));
    there.next().is_none_or(|first| first || there.any(|person| person))
}

/// Returns the session of a person's client, and when a key was last pressed there or, if none was, when it attached.
fn typed_in(client: &str) -> Option<(&str, Timestamp)> {
    let fields: Vec<&str> = client.split(' ').collect();
    let [control, session, active] = fields[..] else { return None };
    let active: i64 = active.parse().ok()?;
    (control == "0").then_some((session, Timestamp(active * 1000)))
}

/// Returns true if this is later than the last noted time: an attach is noted more exactly than tmux counts.
fn note(shared: &SharedTmux, key: AttemptKey, at: Timestamp) -> bool {
    let mut typed = shared.typed.lock().expect("no thread panics while noting");
    if typed.get(&key).is_some_and(|noted| *noted >= at) {
        return false;
    }
    typed.insert(key, at);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_person_types() {
        assert_eq!(typed_in("0 $3 1700000005"), Some(("$3", Timestamp(1_700_000_005_000))));
        assert_eq!(typed_in("1 $0 1700000005"), None, "a program, or somebody who only reads");
        assert_eq!(typed_in("odd"), None);
    }

    #[test]
    fn a_client_that_has_left_may_have_been_a_person() {
        let clients = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        assert!(is_a_person(clients(&["1 $0 17"]).iter(), "$3"));
        assert!(is_a_person(clients(&["1 $3 17", "0 $3 17"]).iter(), "$3"));
        assert!(!is_a_person(clients(&["1 $3 17", "0 $4 17"]).iter(), "$3"));
    }
}
