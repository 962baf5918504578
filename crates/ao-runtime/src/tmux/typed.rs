//! Noticing that a person types into an agent's terminal.
//!
//! tmux knows when each client last had a key pressed. It tells the control client when somebody has come or gone, and by a
//! subscription when somebody was active; what we write ourselves does not count, as it comes from no client. The
//! subscription is there only while somebody is: tmux looks once a second for it, and up to 3.6 it falls over if our own
//! session is killed just then.

use ao_core::Timestamp;
use ao_ports::RuntimeError;
use tokio::sync::mpsc;

use super::control::News;
use super::runtime::Shared;
use crate::host::{Key, Place};

/// When somebody was last active, for each session.
const SUBSCRIBE: &str = "refresh-client -B 'typed::#{S:#{session_id}=#{session_activity} }'";
const UNSUBSCRIBE: &str = "refresh-client -B typed";

const CLIENTS: &str =
    "list-clients -F '#{client_control_mode} #{session_id} #{client_activity} #{client_created}'";

pub(super) async fn listen(shared: &Shared, mut news: mpsc::UnboundedReceiver<News>) {
    while let Some(told) = news.recv().await {
        if let Err(err) = look(shared, &told).await {
            tracing::debug!(%err, "cannot tell who types");
        }
    }
}

async fn look(shared: &Shared, told: &News) -> Result<(), RuntimeError> {
    let clients = shared.control.ask(&[CLIENTS.to_owned()]).await?;
    if *told == News::Clients {
        let people = clients.blocks.iter().flatten().any(|line| line.starts_with("0 "));
        // Either can be said again without harm.
        shared.control.ask(&[if people { SUBSCRIBE } else { UNSUBSCRIBE }.to_owned()]).await?;
    }
    let typed: Vec<(&str, Timestamp)> =
        clients.blocks.iter().flatten().filter_map(|line| typed_in(line)).collect();
    for place in Place::unended(&shared.agents())? {
        let Some(pane) = place.pane()?.filter(|pane| pane.server == clients.server) else { continue };
        let here = typed.iter().filter(|(session, _)| *session == pane.session).map(|(_, at)| *at);
        if let Some(at) = here.max()
            && note(shared, place.key, at)
        {
            shared.reports.typed(place.key, at).await;
        }
    }
    Ok(())
}

/// The session of a person's client and when a key was last pressed, if one was since it came.
fn typed_in(client: &str) -> Option<(&str, Timestamp)> {
    let fields: Vec<&str> = client.split(' ').collect();
    let [control, session, active, created] = fields[..] else { return None };
    let (active, created): (i64, i64) = (active.parse().ok()?, created.parse().ok()?);
    (control == "0" && active > created).then_some((session, Timestamp(active * 1000)))
}

/// Returns whether it is news.
fn note(shared: &Shared, key: Key, at: Timestamp) -> bool {
    let mut typed = shared.typed.lock().expect("nobody panics while noting");
    typed.insert(key, at) != Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_person_who_has_pressed_a_key_types() {
        assert_eq!(typed_in("0 $3 1700000005 1700000001"), Some(("$3", Timestamp(1_700_000_005_000))));
        assert_eq!(typed_in("0 $3 1700000001 1700000001"), None, "attached, and only looks");
        assert_eq!(typed_in("1 $0 1700000005 1700000001"), None, "a control client is a program");
        assert_eq!(typed_in("odd"), None);
    }
}
