//! What must hold before a pull request may be merged, as data, and whether it holds, with evidence.
//!
//! A policy is read from the base branch by whoever reads it, so that no pull request loosens the rules it is judged
//! by. Nothing here merges, approves or dismisses anything.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::Timestamp;
use crate::pull::{Author, Standing};

mod glob;
mod judge;
mod rules;

pub use judge::{RuleVerdict, Verdict, judge};

/// The rules of a project. What is left out has its default, and a misspelt rule is an error: silently dropped, it
/// would protect nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// How many approvals of the current head are needed.
    pub approvals: u32,
    pub approvers: Approvers,
    pub protected: Vec<ProtectedPath>,
    pub max_files: Option<u64>,
    /// Lines added and removed, together.
    pub max_lines: Option<u64>,
    /// Checks that must have passed, whatever the forge requires. Being skipped is not enough here.
    pub required_checks: Vec<String>,
    pub required_labels: BTreeSet<String>,
    pub forbidden_labels: BTreeSet<String>,
    pub freeze: Vec<Freeze>,
    /// At least one trusted person must have approved, even if `approvals` is zero.
    pub human_always: bool,
    /// No thread in which a trusted person wrote about a file may be open.
    pub threads_resolved: bool,
    /// Whether what is allowed is also merged unasked. Off, everything is still judged, but a person decides.
    pub auto_merge: bool,
}

/// Whose approval counts: anyone of these standings, and these logins.
///
/// The author, our agents and other programs never count, whatever stands here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Approvers {
    pub standings: BTreeSet<Standing>,
    pub logins: Vec<String>,
}

/// Files that only some may let through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProtectedPath {
    /// Seen from the root of the repository: `*`, `?`, `**`, and `dir/` for all below it.
    pub glob: String,
    /// One of these logins must have approved. With none, nothing that touches the path is allowed.
    pub approvers: Vec<String>,
}

/// A time in which nothing is merged; `until` is the first moment after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Freeze {
    pub from: Timestamp,
    pub until: Timestamp,
    pub why: String,
}

impl Default for Policy {
    /// The safe one: nothing is merged unasked, and a person has looked.
    fn default() -> Policy {
        Policy {
            approvals: 1,
            approvers: Approvers::default(),
            protected: vec![],
            max_files: None,
            max_lines: None,
            required_checks: vec![],
            required_labels: BTreeSet::new(),
            forbidden_labels: BTreeSet::new(),
            freeze: vec![],
            human_always: false,
            threads_resolved: true,
            auto_merge: false,
        }
    }
}

impl Default for Approvers {
    fn default() -> Approvers {
        Approvers {
            standings: [Standing::Owner, Standing::Member, Standing::Collaborator].into(),
            logins: vec![],
        }
    }
}

impl Approvers {
    fn include(&self, author: &Author) -> bool {
        self.standings.contains(&author.standing) || self.logins.iter().any(|login| author.is(login))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_keeps_its_safe_default() {
        let policy: Policy =
            serde_json::from_str(r#"{"approvals": 2, "approvers": {"logins": ["bob"]}}"#).unwrap();
        assert_eq!(
            (policy.approvals, policy.auto_merge, policy.threads_resolved),
            (2, false, true)
        );
        assert_eq!(policy.approvers.standings, Approvers::default().standings);
    }

    #[test]
    fn a_misspelt_rule_is_an_error() {
        let told = serde_json::from_str::<Policy>(r#"{"aprovals": 2}"#)
            .unwrap_err()
            .to_string();
        assert!(
            told.starts_with("unknown field `aprovals`, expected one of `approvals`"),
            "{told}"
        );
    }
}
