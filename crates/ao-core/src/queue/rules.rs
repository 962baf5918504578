//! Settings of a project's merge queue.

use serde::{Deserialize, Serialize};

/// Limits on concurrent tests, and the handling of branches that are behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRules {
    /// The number of lanes under way at a time, each tested on those before it.
    pub parallel: u32,
    /// The number of pull requests that are tested as one.
    pub batch: u32,
    /// The handling of branches that are behind their base and merge cleanly.
    pub update: BranchUpdate,
}

/// The handling of a branch that is behind its base and merges cleanly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchUpdate {
    /// Leaves it: the queue tests the merge result anyway.
    #[default]
    None,
    /// Rebases and pushes it while its agent is idle.
    Rebase,
}

impl Default for QueueRules {
    fn default() -> QueueRules {
        QueueRules { parallel: 2, batch: 1, update: BranchUpdate::None }
    }
}
