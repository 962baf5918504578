//! The way of drafts into a tracker, whichever it is.

use std::collections::BTreeSet;

use ao_core::pull::Author;
use ao_core::{ProjectId, TaskId};
use ao_ports::{TaskEdit, Tracker, TrackerError};

use super::Draft;

/// What became of a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Brought {
    /// Absent if it would be made.
    pub task: Option<TaskId>,
    pub title: String,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Made,
    /// An earlier import has made it. What it is now is left as it is.
    Known,
    WouldBeMade,
}

/// Makes an issue of every draft that none was made of before, in their order; with `dry_run`, only says so.
///
/// What was made before an error stays: a second call makes the rest.
pub async fn bring_in(
    tracker: &dyn Tracker,
    project: &ProjectId,
    by: &Author,
    drafts: &[Draft],
    dry_run: bool,
) -> Result<Vec<Brought>, TrackerError> {
    let mut brought: Vec<Brought> = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let known = tracker.find(project, &draft.key).await?;
        let first = draft.blocked_by.iter().filter_map(|n| brought.get(*n));
        let (task, outcome) = match known {
            Some(task) => {
                let new: BTreeSet<TaskId> =
                    first.filter(|it| it.outcome == Outcome::Made).filter_map(|it| it.task.clone()).collect();
                if !new.is_empty() {
                    let edit = TaskEdit { add_blocked_by: new, ..TaskEdit::default() };
                    tracker.edit(&task, &edit).await?;
                }
                (Some(task), Outcome::Known)
            }
            None if dry_run => (None, Outcome::WouldBeMade),
            None => {
                let first = first.filter_map(|it| it.task.clone()).collect();
                (Some(tracker.create(&draft.task(project, by, first)).await?), Outcome::Made)
            }
        };
        brought.push(Brought { task, title: draft.title.clone(), outcome });
    }
    Ok(brought)
}
