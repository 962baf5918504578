//! Workspaces of sessions, and the one rule by which anything is ever removed.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ProjectId, SessionId, Timestamp};

/// A session's workspace, folded from the log.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SessionWorkspace {
    pub state: WorkspaceState,
    /// Its path and base, once known.
    pub tree: Option<WorkspaceTree>,
    /// The ref that restores the last state of a removed workspace. Kept until a new one exists, regardless of failed
    /// attempts to create it.
    pub rescue: Option<String>,
    /// Time of its removal, if it is gone.
    pub removed: Option<Timestamp>,
    /// Ready for an agent: its files are there, and the project's commands have run.
    pub set_up: bool,
    /// It is being removed with the work in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discard: bool,
    /// The failed tries of the current operation.
    pub tries: u32,
    /// Time of the next try.
    pub again_at: Option<Timestamp>,
}

/// The state of a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum WorkspaceState {
    #[default]
    None,
    /// Creating it failed, and may have left files. Until those are removed, its branch is not free.
    Doubtful,
    /// It exists.
    Ready,
    /// Its removal was requested; the gate decides.
    Removing,
    /// The gate refused its removal, for these reasons.
    Kept { reasons: Vec<KeepReason> },
    /// It was removed.
    Removed,
}

/// A folder on disk and the commit it started from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceTree {
    pub path: String,
    pub base: String,
}

/// Identifies a session's workspace, to ask about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRef {
    pub session: SessionId,
    pub project: ProjectId,
    /// The repository's own folder.
    pub repository: String,
    /// Its path and base as recorded. Absent if its creation failed and it is not known what that left; then the adapter
    /// searches by session.
    pub recorded: Option<WorkspaceTree>,
    pub branch: String,
}

impl SessionWorkspace {
    pub(crate) fn ready(path: &str, base: &str, set_up: bool) -> SessionWorkspace {
        let tree = WorkspaceTree { path: path.to_owned(), base: base.to_owned() };
        SessionWorkspace {
            state: WorkspaceState::Ready,
            tree: Some(tree),
            set_up,
            ..SessionWorkspace::default()
        }
    }

    /// Enters another state and resets the tries of the previous one.
    pub(crate) fn becomes(&mut self, state: WorkspaceState) {
        let (tree, rescue, set_up) = (self.tree.take(), self.rescue.take(), self.set_up);
        *self = SessionWorkspace { state, tree, rescue, set_up, ..SessionWorkspace::default() };
    }

    /// Returns true if an agent can be started in it.
    pub fn is_set_up(&self) -> bool {
        self.set_up && self.path().is_some()
    }

    /// Returns true if something may be on disk.
    pub fn may_exist(&self) -> bool {
        !matches!(self.state, WorkspaceState::None | WorkspaceState::Removed)
    }

    /// Returns its path, if it exists and its location is known.
    pub fn path(&self) -> Option<&str> {
        self.tree.as_ref().filter(|_| self.may_exist()).map(|tree| tree.path.as_str())
    }
}

/// Facts about a workspace. `None` means that it could not be found out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TreeFacts {
    /// Our records show that we created it.
    pub ours: Option<bool>,
    pub main_worktree: Option<bool>,
    /// A process of any session works in it.
    pub process_inside: Option<bool>,
    pub uncommitted: Option<bool>,
    pub untracked: Option<bool>,
    pub stashed: Option<bool>,
    /// Its head is on no branch, at a commit that no other ref has.
    pub detached: Option<bool>,
    /// In the middle of a merge, rebase, cherry-pick, revert or bisect.
    pub mid_operation: Option<bool>,
    /// It has commits that neither a remote nor a kept ref reaches.
    pub unpushed: Option<bool>,
}

/// A reason to keep a workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepReason {
    NotOurs,
    MainWorktree,
    ProcessInside,
    Uncommitted,
    Untracked,
    Stashed,
    Detached,
    MidOperation,
    Unpushed,
    /// A fact could not be determined.
    Unknown(String),
    /// Its removal failed, and it was left unchanged.
    RemovalFailed(String),
    /// It has the marker of a session that is not in this data folder.
    UnknownSession,
}

/// The deletion gate: returns the reasons to keep a workspace, none if it may go. Unknown means keep.
pub fn reasons_to_keep(facts: &TreeFacts) -> Vec<KeepReason> {
    let work = [
        (facts.uncommitted, KeepReason::Uncommitted, "whether it has uncommitted changes"),
        (facts.untracked, KeepReason::Untracked, "whether it has untracked files"),
        (facts.stashed, KeepReason::Stashed, "whether it has stashes"),
        (facts.detached, KeepReason::Detached, "whether its head is detached"),
        (facts.mid_operation, KeepReason::MidOperation, "whether an operation is under way"),
        (facts.unpushed, KeepReason::Unpushed, "whether all its commits are kept elsewhere"),
    ];
    let mut reasons = reasons_against_discard(facts);
    reasons.extend(work.into_iter().filter_map(reason));
    reasons
}

/// The deletion gate for a workspace whose work a person discards: returns the remaining reasons against its removal.
pub fn reasons_against_discard(facts: &TreeFacts) -> Vec<KeepReason> {
    let harmful = [
        (facts.ours.map(|ours| !ours), KeepReason::NotOurs, "whether we made it"),
        (facts.main_worktree, KeepReason::MainWorktree, "whether it is the main worktree"),
        (facts.process_inside, KeepReason::ProcessInside, "whether a process works in it"),
    ];
    harmful.into_iter().filter_map(reason).collect()
}

/// Returns the reason to keep it that follows from a fact.
fn reason((found, reason, question): (Option<bool>, KeepReason, &str)) -> Option<KeepReason> {
    match found {
        Some(false) => None,
        Some(true) => Some(reason),
        None => Some(KeepReason::Unknown(question.into())),
    }
}

impl KeepReason {
    /// Returns whether the reason is unsaved work, which a person may discard.
    pub fn is_work(&self) -> bool {
        use KeepReason::*;
        matches!(self, Uncommitted | Untracked | Stashed | Detached | MidOperation | Unpushed)
    }
}

impl fmt::Display for KeepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeepReason::NotOurs => f.write_str("we did not make it"),
            KeepReason::MainWorktree => f.write_str("it is the main worktree"),
            KeepReason::ProcessInside => f.write_str("a process still works in it"),
            KeepReason::Uncommitted => f.write_str("it has uncommitted changes"),
            KeepReason::Untracked => f.write_str("it has untracked files"),
            KeepReason::Stashed => f.write_str("it has stashed changes"),
            KeepReason::Detached => f.write_str("its head is on no branch"),
            KeepReason::MidOperation => f.write_str("a merge or rebase is under way in it"),
            KeepReason::Unpushed => f.write_str("it has commits that nothing else keeps"),
            KeepReason::Unknown(question) => write!(f, "it could not be found out {question}"),
            KeepReason::RemovalFailed(why) => write!(f, "it could not be removed: {why}"),
            KeepReason::UnknownSession => f.write_str(
                "it was made for a session that is not in this data folder; `git worktree remove` takes it away",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A setter for one fact.
    type Spoil = fn(&mut TreeFacts, Option<bool>);

    fn harmless() -> TreeFacts {
        let no = Some(false);
        TreeFacts {
            ours: Some(true),
            main_worktree: no,
            process_inside: no,
            uncommitted: no,
            untracked: no,
            stashed: no,
            detached: no,
            mid_operation: no,
            unpushed: no,
        }
    }

    const FACTS: [Spoil; 9] = [
        |facts, found| facts.ours = found.map(|bad| !bad),
        |facts, found| facts.main_worktree = found,
        |facts, found| facts.process_inside = found,
        |facts, found| facts.uncommitted = found,
        |facts, found| facts.untracked = found,
        |facts, found| facts.stashed = found,
        |facts, found| facts.detached = found,
        |facts, found| facts.mid_operation = found,
        |facts, found| facts.unpushed = found,
    ];

    /// acceptance: W1
    #[test]
    fn one_bad_or_unknown_fact_is_enough_to_keep_a_tree() {
        assert_eq!(reasons_to_keep(&harmless()), []);
        for spoil in FACTS {
            for found in [Some(true), None] {
                let mut facts = harmless();
                spoil(&mut facts, found);
                assert_eq!(reasons_to_keep(&facts).len(), 1, "{facts:?}");
            }
        }
        assert_eq!(reasons_to_keep(&TreeFacts::default()).len(), FACTS.len());
    }

    /// Work can be discarded; a tree that is not ours, or in use, stays.
    #[test]
    fn a_discard_passes_over_work_and_over_nothing_else() {
        for (n, spoil) in FACTS.into_iter().enumerate() {
            for found in [Some(true), None] {
                let mut facts = harmless();
                spoil(&mut facts, found);
                assert_eq!(reasons_against_discard(&facts).len(), usize::from(n < 3), "{facts:?}");
            }
        }
    }
}
