//! Where a project's own commands are run on the way from a task to a merge.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A command that is run at one point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    pub point: HookPoint,
    /// For the user's shell, in the project's folder, with a JSON document on its standard input.
    pub command: String,
    pub timeout: Duration,
}

/// The points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookPoint {
    /// A session has its turn. The hook may object.
    BeforeAssign,
    WorkspaceCreated,
    SessionStarted,
    PrCreated,
    /// All checks of a head have ended.
    ChecksCompleted,
    ReviewReceived,
    /// A pull request is about to land. The hook may object.
    BeforeMerge,
    Merged,
    SessionEnded,
}

impl HookPoint {
    pub const ALL: [HookPoint; 9] = [
        HookPoint::BeforeAssign,
        HookPoint::WorkspaceCreated,
        HookPoint::SessionStarted,
        HookPoint::PrCreated,
        HookPoint::ChecksCompleted,
        HookPoint::ReviewReceived,
        HookPoint::BeforeMerge,
        HookPoint::Merged,
        HookPoint::SessionEnded,
    ];

    /// Whether what follows waits for the hook, which may object.
    pub fn may_object(self) -> bool {
        matches!(self, HookPoint::BeforeAssign | HookPoint::BeforeMerge)
    }

    pub fn word(self) -> &'static str {
        match self {
            HookPoint::BeforeAssign => "before-assign",
            HookPoint::WorkspaceCreated => "workspace-created",
            HookPoint::SessionStarted => "session-started",
            HookPoint::PrCreated => "pr-created",
            HookPoint::ChecksCompleted => "checks-completed",
            HookPoint::ReviewReceived => "review-received",
            HookPoint::BeforeMerge => "before-merge",
            HookPoint::Merged => "merged",
            HookPoint::SessionEnded => "session-ended",
        }
    }
}

impl fmt::Display for HookPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
