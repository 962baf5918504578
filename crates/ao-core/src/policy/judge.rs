//! Whether a policy holds for a pull request: every rule, one after the other, with what it found.

use serde::Serialize;

use super::{Policy, rules};
use crate::Timestamp;
use crate::pull::Pull;

/// What each rule says about a pull request, for its current head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    pub rules: Vec<RuleVerdict>,
    /// Whether the policy merges unasked what it allows. Not a rule: a person may merge without it.
    pub auto_merge: bool,
}

/// What one rule says, and from what it says so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleVerdict {
    pub rule: &'static str,
    pub holds: bool,
    pub evidence: String,
}

impl Verdict {
    /// Returns whether the pull request may be merged, should someone ask for it.
    pub fn allows(&self) -> bool {
        self.rules.iter().all(|rule| rule.holds)
    }

    /// Returns whether it may be merged with nobody asking.
    pub fn merges_unasked(&self) -> bool {
        self.auto_merge && self.allows()
    }

    /// Returns an error that names everything in the way, where [`Verdict::allows`] would only say no.
    pub fn require(&self) -> Result<(), String> {
        let against: Vec<String> = self
            .against()
            .map(|rule| format!("{} ({})", rule.rule, rule.evidence))
            .collect();
        if against.is_empty() {
            Ok(())
        } else {
            Err(against.join("; "))
        }
    }

    /// Returns what stands in the way.
    pub fn against(&self) -> impl Iterator<Item = &RuleVerdict> {
        self.rules.iter().filter(|rule| !rule.holds)
    }
}

/// Judges a pull request by all rules. None stops another, so that a person sees everything that is missing at once.
pub fn judge(policy: &Policy, pull: &Pull, now: Timestamp) -> Verdict {
    let mut rules = vec![
        rules::open(pull),
        rules::mergeable(pull),
        rules::checks(pull),
        rules::required_checks(policy, pull),
        rules::approvals(policy, pull),
        rules::changes_requested(pull),
        rules::threads(policy, pull),
        rules::size(policy, pull),
        rules::labels(policy, pull),
        rules::freeze(policy, now),
    ];
    rules.extend(rules::protected(policy, pull));
    Verdict {
        rules,
        auto_merge: policy.auto_merge,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Freeze, ProtectedPath};
    use super::*;
    use crate::Commit;
    use crate::pull::PullFacts;
    use crate::pull::fixture::{after_looks, pull, ready};

    /// acceptance: F11
    #[test]
    fn what_is_allowed_is_merged_unasked_only_with_auto_merge_on() {
        let off = judge(&Policy::default(), &pull(ready()), Timestamp(0));
        assert!(off.allows() && !off.merges_unasked());
        let policy = Policy {
            auto_merge: true,
            ..Policy::default()
        };
        assert!(judge(&policy, &pull(ready()), Timestamp(0)).merges_unasked());
        let moved = PullFacts {
            head: Commit::new("head2"),
            observed_at: Timestamp(2),
            ..ready()
        };
        let verdict = judge(&policy, &after_looks(vec![ready(), moved]), Timestamp(0));
        assert!(!verdict.merges_unasked());
        let told: Vec<&str> = verdict.against().map(|rule| rule.evidence.as_str()).collect();
        assert_eq!(
            told,
            [
                "no check has reported on head2 yet",
                "0 of 1 on head2; given on an older head, by bob"
            ]
        );
    }

    /// acceptance: F12
    #[test]
    fn every_rule_is_listed_with_its_evidence_whether_it_holds_or_not() {
        let policy = Policy {
            approvals: 2,
            protected: vec![ProtectedPath {
                glob: "src/**".into(),
                approvers: vec!["ann".into()],
            }],
            max_lines: Some(5),
            freeze: vec![Freeze {
                from: Timestamp(0),
                until: Timestamp(9_000_000),
                why: "release week".into(),
            }],
            ..Policy::default()
        };
        let verdict = judge(&policy, &pull(ready()), Timestamp(1_000));
        let told: Vec<String> = verdict
            .rules
            .iter()
            .map(|rule| {
                format!(
                    "{} {}: {}",
                    if rule.holds { "+" } else { "-" },
                    rule.rule,
                    rule.evidence
                )
            })
            .collect();
        let expected = [
            "+ open: open, and no draft",
            "+ mergeable: merges into main",
            "+ checks: green on head1",
            "+ required_checks: none are named",
            "- approvals: 1 of 2 on head1, by bob",
            "+ changes_requested: by nobody",
            "+ threads: none open",
            "- size: 1 files, 12 lines of at most 5",
            "+ labels: as they should be",
            "- freeze: release week, for another 2 h 30 min",
            "- protected: src/** touched by src/lib.rs, not approved by ann",
        ];
        assert_eq!(told, expected);
        assert!(!verdict.allows());
        assert_eq!(
            verdict.require().unwrap_err(),
            "approvals (1 of 2 on head1, by bob); size (1 files, 12 lines of at most 5); \
             freeze (release week, for another 2 h 30 min); \
             protected (src/** touched by src/lib.rs, not approved by ann)"
        );
    }
}
