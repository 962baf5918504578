//! Imports drafts into any tracker.

use std::collections::BTreeSet;

use ao_core::pull::AuthorFacts;
use ao_core::{ProjectId, TaskId};
use ao_ports::{TaskEdit, Tracker, TrackerError};

use super::IssueDraft;

/// The result for one draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportResult {
    /// Absent in a dry run if the task does not exist yet.
    pub task: Option<TaskId>,
    pub title: String,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Made,
    /// An earlier import has created it. It is left as it is now.
    Known,
    WouldBeMade,
}

/// Creates an issue for every draft that has none yet, in order; with `dry_run`, only reports it.
///
/// Issues created before an error stay: a second call creates the rest.
pub async fn bring_in(
    tracker: &dyn Tracker,
    project: &ProjectId,
    by: &AuthorFacts,
    drafts: &[IssueDraft],
    dry_run: bool,
) -> Result<Vec<ImportResult>, TrackerError> {
    let mut brought: Vec<ImportResult> = Vec::with_capacity(drafts.len());
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
        brought.push(ImportResult { task, title: draft.title.clone(), outcome });
    }
    Ok(brought)
}
