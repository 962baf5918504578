//! How a project wants its queue to go about it.

use serde::{Deserialize, Serialize};

/// How much is tested at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueRules {
    /// How many lanes are in work at a time, each tested on those before it.
    pub parallel: u32,
    /// How many pull requests are tested as one.
    pub batch: u32,
    /// What is done about branches that are behind and merge cleanly.
    pub update: Update,
}

/// What is done about a branch that is behind its base and merges cleanly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Update {
    /// Nothing: the queue tests the merge anyway.
    #[default]
    None,
    /// It is rebased and pushed while its agent is idle.
    Rebase,
}

impl Default for QueueRules {
    fn default() -> QueueRules {
        QueueRules { parallel: 2, batch: 1, update: Update::None }
    }
}
