//! A piece of work, as its tracker tells it.

mod settled;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::pull::{Author, Standing};
use crate::{Refusal, TaskId, Timestamp};

pub use settled::settled_by;

/// What a tracker says of a task, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFacts {
    pub observed: Timestamp,
    pub title: String,
    pub labels: BTreeSet<String>,
    /// Higher runs first.
    pub priority: i32,
    /// The tasks that must be closed first and, as the tracker sees it, are still open.
    pub blocked_by: BTreeSet<TaskId>,
    pub closed: bool,
    /// The author may set agents to work.
    pub trusted: bool,
    /// What the tracker itself would call a branch for it.
    pub branch: Option<String>,
    /// Who wrote it, with the standing that the tracker vouches for. None if it does not tell, or nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<Author>,
}

/// A task as it was last seen.
pub type Task = TaskFacts;

/// What happened to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskEvent {
    Seen { facts: TaskFacts },
    Closed {},
}

/// Whether work on a task may begin without a person who answers for it. The words of a task become an agent's orders, so
/// that it is up to who wrote them. For what begins by rule, see [`may_begin_unasked`].
pub fn may_pick_up(task: &TaskId, facts: &TaskFacts) -> Result<(), Refusal> {
    let outsider = facts.author.as_ref().filter(|author| author.standing == Standing::Outsider);
    match outsider {
        None if facts.trusted => Ok(()),
        _ => Err(Refusal::UntrustedTask {
            task: task.clone(),
            author: facts.author.as_ref().map_or_else(|| "somebody unknown".into(), crate::outside::signed),
        }),
    }
}

/// Whether work on a task may begin without anybody's word. That takes a person whose word counts: what an agent or another
/// program wrote may be a stranger's words in its mouth, and agents that begin agents have no end.
pub fn may_begin_unasked(facts: &TaskFacts) -> bool {
    // A tracker that names no author vouches for the task by itself.
    let person = facts.author.as_ref().is_none_or(|author| author.standing.is_trusted_person());
    person && facts.trusted
}

/// What a sighting adds to what is known. An older one than the last adds nothing.
pub(crate) fn decide(known: Option<&Task>, facts: TaskFacts) -> Vec<TaskEvent> {
    match known {
        Some(known) if facts.observed <= known.observed => vec![],
        Some(known) if (TaskFacts { observed: known.observed, ..facts.clone() }) == *known => {
            vec![]
        }
        // Also one that was closed before it was ever seen: a session may wait for its turn with it.
        known if facts.closed && known.is_none_or(|known| !known.closed) => {
            vec![TaskEvent::Seen { facts }, TaskEvent::Closed {}]
        }
        _ => vec![TaskEvent::Seen { facts }],
    }
}
