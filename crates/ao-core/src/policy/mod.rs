//! Rules that must hold before a pull request may be merged, as data, and their verdict, with evidence.
//!
//! ```text
//! policy (from the base branch, and from the configuration) ─┐
//! pull request (facts, findings in its added lines) ─────────┼─▶ judge ─▶ Verdict: each rule, its evidence, the next step
//! makers, and the time ──────────────────────────────────────┘
//! ```
//!
//! The caller reads a policy from the base branch, so no pull request loosens the rules it is judged by. What is
//! unknown is not allowed. This module merges, approves and dismisses nothing, and reads no file; the configuration
//! decides which of two layers is stricter.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::pull::{AuthorFacts, AuthorStanding};

mod freeze;
pub mod glob;
mod in_force;
mod judge;
mod people;
mod rule;
mod rules;
mod scan;
mod trust;

pub use freeze::{Freeze, FreezeZone, WEEK, WeeklyFreeze};
pub use judge::{JudgedPull, MergeVerdict, RuleVerdict, judge};
pub use rule::MergeRule;
pub use scan::{ForbiddenPattern, MOST_FINDINGS, ScanFinding, ScanResult};
pub use trust::{AgentTrust, TrustLimits};

/// The path of the policy in a repository.
pub const POLICY_FILE: &str = ".ao/policy.yaml";

/// The rules of a project. An omitted rule has its default, and a misspelt rule is an error: silently dropped, it
/// would protect nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// The number of approvals of the current head that are needed.
    pub approvals: u32,
    pub approvers: ApproverRule,
    pub protected: Vec<ProtectedPath>,
    pub max_files: Option<u64>,
    /// Lines added and removed together.
    pub max_lines: Option<u64>,
    /// Checks that must have passed, regardless of those the forge requires. A skipped check does not count as
    /// passed.
    pub required_checks: Vec<String>,
    pub required_labels: BTreeSet<String>,
    pub forbidden_labels: BTreeSet<String>,
    /// Patterns that no added line may match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forbidden: Vec<ForbiddenPattern>,
    /// Forbids secrets in added lines, by the rule set that comes with the program.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub secrets: bool,
    pub freeze: Vec<Freeze>,
    /// Freezes that repeat every week.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weekly: Vec<WeeklyFreeze>,
    /// At least one trusted person must have approved, even if `approvals` is zero.
    pub human_always: bool,
    /// Requires a person's approval for some pull requests only. Each entry can require it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub human: Vec<HumanNeed>,
    /// Limits on what agents may have merged without a person's approval. All of them must agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trust: Vec<AgentTrust>,
    /// No thread in which a trusted person wrote about a file may be open.
    pub threads_resolved: bool,
    /// Merges automatically what is allowed. If absent, the reaction to `approved-and-green` decides, and that is off
    /// by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<bool>,
}

/// The people whose approval counts, by standing and by login.
///
/// The author, our agents and other programs never count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ApproverRule {
    pub standings: BTreeSet<AuthorStanding>,
    pub logins: Vec<String>,
}

/// Files whose changes need particular approvers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtectedPath {
    /// A pattern relative to the root of the repository: `*`, `?`, `**`, and `dir/` for all below it.
    pub glob: String,
    /// The logins that may approve, in addition to `standings`; `approvals` of them are needed. If neither is given,
    /// no change to the path is allowed.
    pub approvers: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub standings: BTreeSet<AuthorStanding>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub approvals: u32,
}

/// Pull requests that a person must approve. One matching condition is enough.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HumanNeed {
    pub paths: Vec<String>,
    pub labels: BTreeSet<String>,
    /// Matches a change of more files than this.
    pub files: Option<u64>,
    /// Matches a change of more lines than this, added and removed together.
    pub lines: Option<u64>,
    /// Logins of authors, and names of agents and specialists.
    pub authors: Vec<String>,
}

impl Default for Policy {
    /// The safe policy: no automatic merge, and one approval by a person.
    fn default() -> Policy {
        Policy {
            approvals: 1,
            approvers: ApproverRule::default(),
            protected: vec![],
            max_files: None,
            max_lines: None,
            required_checks: vec![],
            required_labels: BTreeSet::new(),
            forbidden_labels: BTreeSet::new(),
            forbidden: vec![],
            secrets: false,
            freeze: vec![],
            weekly: vec![],
            human_always: false,
            human: vec![],
            trust: vec![],
            threads_resolved: true,
            auto_merge: None,
        }
    }
}

impl Default for ApproverRule {
    fn default() -> ApproverRule {
        ApproverRule {
            standings: [AuthorStanding::Owner, AuthorStanding::Member, AuthorStanding::Collaborator].into(),
            logins: vec![],
        }
    }
}

impl ApproverRule {
    fn include(&self, author: &AuthorFacts) -> bool {
        self.standings.contains(&author.standing) || self.logins.iter().any(|login| author.is(login))
    }
}

fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_keeps_its_safe_default() {
        let policy: Policy =
            serde_json::from_str(r#"{"approvals": 2, "approvers": {"logins": ["bob"]}}"#).unwrap();
        assert_eq!((policy.approvals, policy.auto_merge, policy.threads_resolved), (2, None, true));
        assert_eq!(policy.approvers.standings, ApproverRule::default().standings);
    }

    #[test]
    fn a_misspelt_rule_is_an_error() {
        let told = serde_json::from_str::<Policy>(r#"{"aprovals": 2}"#).unwrap_err().to_string();
        assert!(told.starts_with("unknown field `aprovals`, expected one of `approvals`"), "{told}");
    }
}
