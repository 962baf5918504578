//! Verdicts of reviewers and checks on the current head, taken together.

use super::facts::may_ask;
use super::{AuthorStanding, CheckFacts, CheckState, Mergeable, Pull, ReviewFacts, ReviewVerdict};

/// Result of all checks of the current head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChecksVerdict {
    /// All have passed.
    Yes,
    /// No check is configured, so none is waited for.
    Unchecked,
    /// Not failed so far.
    Waiting { why: String },
    /// At least one has failed.
    Red { why: String },
}

impl ChecksVerdict {
    /// Returns true if no check stands in the way of a merge.
    pub fn allows(&self) -> bool {
        matches!(self, ChecksVerdict::Yes | ChecksVerdict::Unchecked)
    }
}

impl Pull {
    /// Describes the checks of a pull request that is ready.
    pub fn checked_words(&self) -> &'static str {
        if self.green() == ChecksVerdict::Unchecked { "has no checks" } else { "is green" }
    }

    /// Returns the approvals of the current head: each by a person other than the author whose latest verdict it is,
    /// given on exactly this commit. The policy decides whether that person's approval counts.
    pub fn approvals(&self) -> Vec<&ReviewFacts> {
        self.approvals_by_others().filter(|review| review.commit == self.facts.head).collect()
    }

    /// Returns the approvals of an earlier head, which no longer count.
    pub fn stale_approvals(&self) -> Vec<&ReviewFacts> {
        self.approvals_by_others().filter(|review| review.commit != self.facts.head).collect()
    }

    /// Returns the open reviews that request changes. New commits do not answer them; their author does.
    pub fn changes_requested(&self) -> Vec<&ReviewFacts> {
        self.verdicts()
            .filter(|review| review.verdict == ReviewVerdict::ChangesRequested && may_ask(&review.author))
            .collect()
    }

    /// Returns the combined result of the required checks on the current head. If the forge requires none, all count.
    ///
    /// A skipped check does not block, as with every forge; a policy can name checks that must have run. If no check
    /// is configured at all, none is waited for.
    pub fn green(&self) -> ChecksVerdict {
        let required = self.facts.checks.iter().any(|check| check.required);
        let (mut waiting, mut red, mut broken) = (vec![], vec![], vec![]);
        for check in self.facts.checks.iter().filter(|check| check.required == required) {
            match check.state {
                CheckState::Pending => waiting.push(check.name.as_str()),
                CheckState::Failed { .. } => red.push(check.name.as_str()),
                CheckState::Broken { .. } => broken.push(check.name.as_str()),
                CheckState::Passed | CheckState::Skipped => {}
            }
        }
        let head = &self.facts.head;
        if !red.is_empty() {
            ChecksVerdict::Red { why: format!("failed on {head}: {}", red.join(", ")) }
        } else if self.facts.checks.is_empty() && self.facts.no_checks {
            ChecksVerdict::Unchecked
        } else if self.facts.checks.is_empty() {
            ChecksVerdict::Waiting { why: format!("no check has reported on {head} yet") }
        } else if !broken.is_empty() {
            ChecksVerdict::Waiting { why: format!("could not be run on {head}: {}", broken.join(", ")) }
        } else if !waiting.is_empty() && self.checks_are_blocked() {
            ChecksVerdict::Waiting {
                why: format!("cannot run while it conflicts with `{}`", self.facts.base_branch),
            }
        } else if !waiting.is_empty() {
            ChecksVerdict::Waiting { why: format!("still running on {head}: {}", waiting.join(", ")) }
        } else {
            ChecksVerdict::Yes
        }
    }

    /// Returns true if checks wait that will not run: there is no merged tree to run them on.
    pub fn checks_are_blocked(&self) -> bool {
        let waits = |check: &CheckFacts| check.state == CheckState::Pending;
        matches!(self.facts.mergeable, Mergeable::Conflict { .. }) && self.facts.checks.iter().any(waits)
    }

    fn approvals_by_others(&self) -> impl Iterator<Item = &ReviewFacts> {
        self.verdicts()
            .filter(|review| review.verdict == ReviewVerdict::Approved)
            .filter(|review| !review.author.is(&self.facts.author.login))
            .filter(|review| !matches!(review.author.standing, AuthorStanding::Agent | AuthorStanding::Bot))
    }

    /// Returns each reviewer's latest verdict. A mere comment afterwards does not replace it.
    fn verdicts(&self) -> impl Iterator<Item = &ReviewFacts> {
        let reviews = &self.facts.reviews;
        reviews
            .iter()
            .enumerate()
            .filter(|(place, review)| {
                let later = &reviews[place + 1..];
                let decided = |review: &ReviewFacts| review.verdict != ReviewVerdict::Commented;
                decided(review)
                    && !later.iter().any(|other| decided(other) && other.author.is(&review.author.login))
            })
            .map(|(_, review)| review)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Commit;
    use crate::pull::fixture::{agent, approved, bot, check, facts, failed, member, outsider, pull, review};
    use crate::pull::{AuthorFacts, CheckFacts, PullFacts};

    fn approvers(author: AuthorFacts, reviews: Vec<ReviewFacts>) -> Vec<String> {
        let pull = pull(PullFacts { author, reviews, ..facts(1) });
        pull.approvals().into_iter().map(|review| review.author.login.clone()).collect()
    }

    #[test]
    fn an_approval_counts_for_the_head_it_was_given_on() {
        let stale = ReviewFacts { commit: Commit::new("before"), ..approved("r1", member("bob")) };
        assert_eq!(approvers(member("ann"), vec![stale.clone()]), [""; 0]);
        assert_eq!(approvers(member("ann"), vec![stale, approved("r2", member("bob"))]), ["bob"]);
    }

    #[test]
    fn nobody_approves_for_themselves_and_no_program_approves() {
        assert_eq!(approvers(member("Ann"), vec![approved("r1", member("ann"))]), [""; 0]);
        assert_eq!(approvers(member("ann"), vec![approved("r1", agent()), approved("r2", bot())]), [""; 0]);
    }

    #[test]
    fn the_latest_verdict_of_a_reviewer_stands_and_a_comment_is_no_verdict() {
        use ReviewVerdict::{ChangesRequested, Commented};
        let no = |id| review(id, member("bob"), ChangesRequested, "no");
        let hm = |id| review(id, member("bob"), Commented, "hm");
        let yes = |id| approved(id, member("bob"));
        for (reviews, approves, objects) in [
            (vec![yes("1"), hm("2")], 1, 0),
            (vec![yes("1"), no("2")], 0, 1),
            (vec![no("1"), hm("2")], 0, 1),
            (vec![no("1"), yes("2")], 1, 0),
            (vec![hm("1")], 0, 0),
            (vec![no("1"), no("2")], 0, 1),
        ] {
            let pull = pull(PullFacts { reviews: reviews.clone(), ..facts(1) });
            assert_eq!(
                (pull.approvals().len(), pull.changes_requested().len()),
                (approves, objects),
                "{reviews:?}"
            );
        }
    }

    #[test]
    fn an_outsider_cannot_hold_a_pull_request_up() {
        let reviews = vec![review("r1", outsider(), ReviewVerdict::ChangesRequested, "no")];
        assert!(pull(PullFacts { reviews, ..facts(1) }).changes_requested().is_empty());
    }

    #[test]
    fn where_no_check_is_configured_none_is_waited_for() {
        let without = PullFacts { no_checks: true, ..facts(1) };
        assert_eq!(pull(without.clone()).green(), ChecksVerdict::Unchecked);
        assert_eq!(pull(without.clone()).checked_words(), "has no checks");
        // Results of an earlier configuration count for as long as they are reported.
        let red = PullFacts { checks: vec![failed("build", "E1")], ..without };
        assert!(!pull(red).green().allows());
        assert!(!pull(facts(1)).green().allows(), "a forge that does not know may still hear of one");
    }

    #[test]
    fn green_means_every_required_check_passed_on_this_head() {
        let must = |check: CheckFacts| CheckFacts { required: true, ..check };
        let ok = || check("ok", CheckState::Passed);
        for (checks, expected) in [
            (vec![], "waiting: no check has reported on head1 yet"),
            (vec![ok()], "yes"),
            (vec![ok(), check("docs", CheckState::Skipped)], "yes"),
            (vec![ok(), check("slow", CheckState::Pending)], "waiting: still running on head1: slow"),
            (
                vec![ok(), check("e2e", CheckState::Broken { why: "no browser".into() })],
                "waiting: could not be run on head1: e2e",
            ),
            (vec![ok(), failed("build", "E1")], "red: failed on head1: build"),
            (vec![must(ok()), failed("optional", "E1")], "yes"),
            (vec![must(check("slow", CheckState::Pending)), ok()], "waiting: still running on head1: slow"),
            (
                vec![CheckFacts { commit: Commit::new("before"), ..ok() }],
                "waiting: no check has reported on head1 yet",
            ),
        ] {
            let told = match pull(PullFacts { checks: checks.clone(), ..facts(1) }).green() {
                ChecksVerdict::Yes => "yes".to_owned(),
                ChecksVerdict::Unchecked => "unchecked".to_owned(),
                ChecksVerdict::Waiting { why } => format!("waiting: {why}"),
                ChecksVerdict::Red { why } => format!("red: {why}"),
            };
            assert_eq!(told, expected, "{checks:?}");
        }
    }
}
