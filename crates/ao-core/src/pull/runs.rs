//! Runs of a check on one head, and their results.

use serde::{Deserialize, Serialize};

use super::{CheckFacts, CheckState, Pull};
use crate::incident::ProblemId;

/// The runs of one check on the head.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HeadRuns {
    /// Number of failed runs.
    pub failed: u32,
    /// The last failed run, if the forge identifies runs.
    run: Option<String>,
    /// It was seen running, or gone, since the last failure.
    again: bool,
    /// The failure that the last run has shown to be flaky, by passing on the same head.
    pub(crate) flaked: Option<FlakyRun>,
}

/// A flaky failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FlakyRun {
    pub(crate) signature: String,
    /// The first line of the failure.
    pub(crate) excerpt: String,
}

impl HeadRuns {
    /// Records that the check has disappeared, which a re-run may cause for a moment.
    pub(super) fn vanish(&mut self) {
        self.again = true;
    }
}

impl Pull {
    /// Returns the failed check of this problem.
    pub(crate) fn failure(&self, problem: &ProblemId) -> Option<&CheckFacts> {
        let ProblemId::Check { check, signature } = problem else { return None };
        let failed = |known: &&CheckFacts| matches!(&known.state, CheckState::Failed { signature: its, .. } if its == signature);
        self.failures.get(check).filter(failed)
    }
}

/// Counts a report of a check; `failure` is the last known one of this head.
pub(super) fn count(runs: &mut HeadRuns, check: &CheckFacts, failure: Option<&CheckFacts>) {
    match &check.state {
        CheckState::Failed { .. } => {
            let another = match (&runs.run, &check.run) {
                (Some(before), Some(now)) => before != now,
                _ => runs.again || runs.failed == 0,
            };
            runs.failed = runs.failed.saturating_add(u32::from(another));
            runs.run.clone_from(&check.run);
            runs.again = false;
        }
        CheckState::Passed => {
            runs.flaked = failure.and_then(chance);
            runs.again = true;
        }
        CheckState::Pending | CheckState::Skipped | CheckState::Broken { .. } => runs.again = true,
    }
}

fn chance(failure: &CheckFacts) -> Option<FlakyRun> {
    match &failure.state {
        CheckState::Failed { signature, excerpt, certain: false, .. } => {
            let first = excerpt.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            Some(FlakyRun { signature: signature.clone(), excerpt: first.chars().take(200).collect() })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Commit;
    use crate::pull::PullFacts;
    use crate::pull::fixture::{after_looks, check, facts, failed};

    fn runs_after(checks: Vec<CheckFacts>) -> HeadRuns {
        let looks =
            checks.into_iter().zip(1..).map(|(check, at)| PullFacts { checks: vec![check], ..facts(at) });
        after_looks(looks.collect()).runs["build"].clone()
    }

    #[test]
    fn runs_are_told_apart_by_their_number_and_else_by_what_was_between_them() {
        let pending = || check("build", CheckState::Pending);
        let plain = || failed("build", "E1");
        let other_words = || failed("build", "E2");
        let run = |n: &str| CheckFacts { run: Some(n.into()), ..plain() };
        for (checks, expected) in [
            (vec![plain()], 1),
            (vec![plain(), other_words()], 1),
            (vec![plain(), pending(), plain()], 2),
            (vec![plain(), pending(), plain(), pending(), other_words()], 3),
            (vec![run("1"), run("2")], 2),
            (vec![run("1"), pending(), run("1")], 1),
            (vec![run("1"), check("build", CheckState::Passed), run("2")], 2),
        ] {
            assert_eq!(runs_after(checks.clone()).failed, expected, "{checks:?}");
        }
    }

    #[test]
    fn a_pass_on_the_same_head_shows_the_failure_to_have_been_chance_once() {
        let passed = |run: &str| CheckFacts { run: Some(run.into()), ..check("build", CheckState::Passed) };
        let flaked = runs_after(vec![failed("build", "E1"), passed("2")]).flaked.unwrap();
        assert_eq!((flaked.signature.as_str(), flaked.excerpt.as_str()), ("E1", "error: E1"));
        assert_eq!(runs_after(vec![failed("build", "E1"), passed("2"), passed("3")]).flaked, None);
        let mut sure = failed("build", "E1");
        if let CheckState::Failed { certain, .. } = &mut sure.state {
            *certain = true;
        }
        assert_eq!(runs_after(vec![sure, passed("2")]).flaked, None);
    }

    #[test]
    fn a_new_head_counts_anew() {
        let old = PullFacts { checks: vec![failed("build", "E1")], ..facts(1) };
        let new = PullFacts { head: Commit::new("head2"), ..facts(2) };
        assert!(after_looks(vec![old, new]).runs.is_empty());
    }
}
