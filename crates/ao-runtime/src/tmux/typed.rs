//! Noticing that a person types into an agent's terminal.
//!
//! tmux knows when each client last had a key pressed. It tells the control client when somebody has come or gone, and by a
//! subscription when somebody was active; what we write ourselves does not count, as it comes from no client. The
//! subscription is there only while somebody is: tmux looks once a second for it, and up to 3.6 it falls over if our own
//! session is killed just then.
//!
//! Whoever comes counts as one who types: tmux counts in whole seconds, in the first of which typing cannot be told from
//! coming, and somebody may have typed and gone again before we can ask.

use ao_core::Timestamp;
use ao_ports::RuntimeError;
use tokio::sync::mpsc;

use super::control::News;
use super::runtime::Shared;
use crate::host::Key;

/// When somebody was last active, for each session.
const SUBSCRIBE: &str = "refresh-client -B 'typed::#{S:#{session_id}=#{session_activity} }'";
const UNSUBSCRIBE: &str = "refresh-client -B typed";

/// Who may only read types no more than a program does.
const CLIENTS: &str =
    "list-clients -F '#{?client_readonly,1,#{client_control_mode}} #{session_id} #{client_activity}'";

pub(super) async fn listen(shared: &Shared, mut news: mpsc::UnboundedReceiver<News>) {
    while let Some(told) = news.recv().await {
        if let Err(err) = look(shared, &told).await {
            tracing::debug!(%err, "cannot tell who types");
        }
    }
}

async fn look(shared: &Shared, told: &News) -> Result<(), RuntimeError> {
    let clients = shared.control.ask(&[CLIENTS.to_owned()]).await?;
    let lines = || clients.blocks.iter().flatten();
    if *told != News::Changed {
        let people = lines().any(|line| line.starts_with("0 "));
        // Either can be said again without harm.
        shared.control.ask(&[if people { SUBSCRIBE } else { UNSUBSCRIBE }.to_owned()]).await?;
    }
    let mut typed: Vec<(&str, Timestamp)> = lines().filter_map(|line| typed_in(line)).collect();
    if let News::Came(Some(session)) = told
        && is_a_person(lines(), session)
    {
        typed.push((session, shared.clock.now()));
    }
    for (session, at) in typed {
        let Some(key) = shared.key_of(session) else { continue };
        let pane = shared.place(key).pane()?;
        let is_here = pane.is_some_and(|pane| pane.server == clients.server && pane.session == session);
        if is_here && note(shared, key, at) {
            shared.reports.typed(key, at).await;
        }
    }
    Ok(())
}

/// Whether it may have been a person who came to a session: all who are there may be programs, but one who has gone again
/// may have been a person.
fn is_a_person<'a>(clients: impl Iterator<Item = &'a String>, session: &str) -> bool {
    let mut there =
        clients.filter(|line| line.split(' ').nth(1) == Some(session)).map(|line| line.starts_with("0 "));
    there.next().is_none_or(|first| first || there.any(|person| person))
}

/// The session of a person's client, and when a key was last pressed there or, if none was, when it came.
fn typed_in(client: &str) -> Option<(&str, Timestamp)> {
    let fields: Vec<&str> = client.split(' ').collect();
    let [control, session, active] = fields[..] else { return None };
    let active: i64 = active.parse().ok()?;
    (control == "0").then_some((session, Timestamp(active * 1000)))
}

/// Returns whether it is news: one who comes is noted more exactly than tmux counts.
fn note(shared: &Shared, key: Key, at: Timestamp) -> bool {
    let mut typed = shared.typed.lock().expect("nobody panics while noting");
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
    fn one_who_has_gone_again_may_have_been_a_person() {
        let clients = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        assert!(is_a_person(clients(&["1 $0 17"]).iter(), "$3"));
        assert!(is_a_person(clients(&["1 $3 17", "0 $3 17"]).iter(), "$3"));
        assert!(!is_a_person(clients(&["1 $3 17", "0 $4 17"]).iter(), "$3"));
    }
}
