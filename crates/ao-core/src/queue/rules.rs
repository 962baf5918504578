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

/// The guarantees of a forge when it merges. A missing one is declared, never simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeAbilities {
    /// Merges only if the head is still the one that was judged. Without it, `ao` does not merge there.
    pub pins_head: bool,
    /// Merges only if the base is still the one that the test was about.
    pub pins_base: bool,
    /// Merges only if the result is the tree that was tested.
    pub pins_tree: bool,
    /// Lands several pull requests at once, or none of them. Without it, each lands by itself.
    pub batches: bool,
}

impl MergeAbilities {
    pub const ALL: MergeAbilities =
        MergeAbilities { pins_head: true, pins_base: true, pins_tree: true, batches: true };
    pub const NONE: MergeAbilities =
        MergeAbilities { pins_head: false, pins_base: false, pins_tree: false, batches: false };

    /// Returns the abilities, or `None` if all are there.
    pub fn limits(self) -> Option<MergeAbilities> {
        (self != MergeAbilities::ALL).then_some(self)
    }

    /// Returns the reason why a merge is not possible there. Only a merge without checks can do without a test result,
    /// and so without the base and the tree that this is about.
    pub fn objection(self, checked: bool) -> Option<&'static str> {
        if !self.pins_head {
            Some("this forge cannot merge exactly what was judged, so nothing is merged there from here")
        } else if checked && !(self.pins_base && self.pins_tree) {
            Some("this forge cannot merge exactly what was tested; a person can merge there without checks")
        } else {
            None
        }
    }
}

impl Default for QueueRules {
    fn default() -> QueueRules {
        QueueRules { parallel: 2, batch: 1, update: BranchUpdate::None }
    }
}
