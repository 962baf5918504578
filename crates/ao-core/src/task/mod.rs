//! A task: an issue as its tracker reports it.

mod settled;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::pull::{AuthorFacts, AuthorStanding};
use crate::{Refusal, TaskId, Timestamp};

pub use settled::settled_by;

/// The facts about a task from its tracker, complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFacts {
    pub observed: Timestamp,
    pub title: String,
    pub labels: BTreeSet<String>,
    /// A higher number runs first.
    pub priority: i32,
    /// The tasks that must be closed first and are still open according to the tracker.
    pub blocked_by: BTreeSet<TaskId>,
    pub closed: bool,
    /// The author may start agents.
    pub trusted: bool,
    /// The tracker's own branch name for it.
    pub branch: Option<String>,
    /// The author, with the standing that the tracker vouches for; absent if the tracker does not report one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<AuthorFacts>,
}

/// The latest facts about a task.
pub type Task = TaskFacts;

/// An event of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskEvent {
    Seen { facts: TaskFacts },
    Closed {},
}

/// Checks whether work on a task may begin without a person who vouches for it. The text of a task becomes an agent's
/// instructions, so this depends on its author. For tasks that begin automatically, see [`may_begin_unasked`].
pub fn may_pick_up(task: &TaskId, facts: &TaskFacts) -> Result<(), Refusal> {
    let outsider = facts.author.as_ref().filter(|author| author.standing == AuthorStanding::Outsider);
    match outsider {
        None if facts.trusted => Ok(()),
        _ => Err(Refusal::UntrustedTask {
            task: task.clone(),
            author: facts.author.as_ref().map_or_else(|| "an unknown author".into(), crate::outside::signed),
        }),
    }
}

/// Returns whether work on a task may begin automatically. That needs a trusted person as the author: text of an
/// agent or another program may repeat a stranger's, and agents that start agents have no end.
pub fn may_begin_unasked(facts: &TaskFacts) -> bool {
    // A tracker without authors vouches for the task by itself.
    let person = facts.author.as_ref().is_none_or(|author| author.standing.is_trusted_person());
    person && facts.trusted
}

/// Decides the events of a sighting. A sighting older than the last adds nothing.
pub(crate) fn decide(known: Option<&Task>, facts: TaskFacts) -> Vec<TaskEvent> {
    match known {
        Some(known) if facts.observed <= known.observed => vec![],
        Some(known) if (TaskFacts { observed: known.observed, ..facts.clone() }) == *known => {
            vec![]
        }
        // Includes a task that was closed before it was ever seen: a queued session may be for it.
        known if facts.closed && known.is_none_or(|known| !known.closed) => {
            vec![TaskEvent::Seen { facts }, TaskEvent::Closed {}]
        }
        _ => vec![TaskEvent::Seen { facts }],
    }
}
