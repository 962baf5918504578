//! The rules that a pull request is judged by.

use serde::{Deserialize, Serialize};

use crate::text::word_enum;

word_enum! {
    /// One rule of a policy. Its name is the same in events, on the wire and in output.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum MergeRule {
        Policy = "policy",
        Open = "open",
        Mergeable = "mergeable",
        Checks = "checks",
        RequiredChecks = "required_checks",
        Approvals = "approvals",
        ChangesRequested = "changes_requested",
        Threads = "threads",
        Human = "human",
        Trust = "trust",
        PolicyFile = "policy_file",
        Size = "size",
        Labels = "labels",
        Patterns = "patterns",
        Freeze = "freeze",
        Protected = "protected",
    }
}

impl MergeRule {
    /// Returns the rules that a person may override. A draft, a closed pull request and a conflict cannot be merged
    /// at all.
    pub fn yielding() -> impl Iterator<Item = MergeRule> {
        MergeRule::ALL.into_iter().filter(|rule| rule.yields())
    }

    /// Returns whether a person may merge although the rule does not hold.
    pub fn yields(self) -> bool {
        !matches!(self, MergeRule::Open | MergeRule::Mergeable)
    }

    /// Returns whether the rule counts where no policy is written, also for a person who merges by hand.
    pub fn is_basic(self) -> bool {
        !self.yields() || matches!(self, MergeRule::Checks | MergeRule::ChangesRequested)
    }

    /// Returns whether the rule is about the results of checks.
    pub fn is_about_checks(self) -> bool {
        matches!(self, MergeRule::Checks | MergeRule::RequiredChecks)
    }

    /// Returns whether a person satisfies the rule by a review.
    pub fn is_met_by_review(self) -> bool {
        use MergeRule::{Approvals, Human, PolicyFile, Protected, Trust};
        matches!(self, Approvals | Human | Trust | PolicyFile | Protected)
    }
}
