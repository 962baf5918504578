//! What follows from what happened in the merge queue.

use std::collections::VecDeque;

use super::bounded;
use crate::decide::agent_of;
use crate::incident::Subject;
use crate::input::Input;
use crate::notice::Level;
use crate::outside::{Kind, fenced, one_line};
use crate::pull::TEXT_LIMIT;
use crate::queue::{QueueEvent, Rejection};
use crate::session::{MessageKind, NewMessage, Sender, SessionInput};
use crate::state::State;

pub(super) fn follow(state: &State, event: &QueueEvent, then: &mut VecDeque<Input>) {
    let QueueEvent::Rejected { pull: id, head, reason } = event else { return };
    let what = match reason {
        Rejection::Red { output } => {
            format!("The checks failed on what would have landed:\n{}", fenced(Kind::Log, output, TEXT_LIMIT))
        }
        Rejection::Conflict { files } => {
            let files: Vec<String> = files.iter().map(|file| one_line(file)).collect();
            format!("It no longer merges cleanly:\n{}", files.join("\n"))
        }
        Rejection::Broken { why } => format!("It could not be tested: {}", one_line(why)),
        Rejection::Vetoed { why } => format!("The hook `before-merge` objects: {}", one_line(why)),
    };
    let text = format!("{id} at {head} left the merge queue. {what}");
    let subject = Subject::Pull(id.clone());
    let owner = agent_of(state, &subject).filter(|owner| owner.is_live());
    match (owner, reason) {
        // The change is at fault, and there is somebody to mend it.
        (Some(owner), Rejection::Red { .. } | Rejection::Conflict { .. }) => then.push_back(Input::Session {
            session: owner.id,
            input: SessionInput::Send(NewMessage {
                from: Sender::Daemon,
                kind: MessageKind::Text,
                body: bounded(text),
                interrupt: false,
                key: Some(format!("rejected {id} {head}")),
            }),
        }),
        _ => then.push_back(Input::Tell {
            level: Level::Action,
            subject,
            key: format!("rejected {id} {head}"),
            text,
            channel: None,
        }),
    }
}
