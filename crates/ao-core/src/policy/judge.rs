//! Judges a pull request by a policy: every rule in turn, with its evidence.

use std::fmt;

use super::{MergeRule, Policy, people, rules};
use crate::Timestamp;
use crate::pull::{Pull, PullMaker};

/// The input of a judgement: a pull request, its makers, and the time.
#[derive(Debug, Clone, Copy)]
pub struct JudgedPull<'a> {
    pub pull: &'a Pull,
    /// Our agents that made it, or that own it or once did. The strictest rule about any of them counts.
    pub makers: &'a [PullMaker],
    /// The actual maker is among `makers`. If a program made the pull request and this is false, any agent may have.
    pub maker_known: bool,
    pub now: Timestamp,
    /// The reason why the policy on the base branch cannot be read. The previous policy is used then, and nothing is
    /// allowed.
    pub broken: Option<&'a str>,
}

/// The result of each rule for the current head of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeVerdict {
    pub rules: Vec<RuleVerdict>,
    /// The policy's own choice of automatic merges; if absent, the reactions decide. Not a rule: a person may merge
    /// without it.
    pub auto_merge: Option<bool>,
}

/// The result of one rule, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleVerdict {
    pub rule: MergeRule,
    pub holds: bool,
    pub evidence: String,
    /// The next step for a person, if the rule does not hold.
    pub next: Option<&'static str>,
}

impl MergeVerdict {
    /// Returns whether the pull request may be merged on request.
    pub fn allows(&self) -> bool {
        self.rules.iter().all(|rule| rule.holds)
    }

    /// Returns whether the policy itself wants it merged automatically.
    pub fn merges_unasked(&self) -> bool {
        self.auto_merge == Some(true) && self.allows()
    }

    /// Returns the rules that do not hold.
    pub fn against(&self) -> impl Iterator<Item = &RuleVerdict> {
        self.rules.iter().filter(|rule| !rule.holds)
    }
}

impl fmt::Display for RuleVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.rule, self.evidence)
    }
}

impl RuleVerdict {
    pub(super) fn new(rule: MergeRule, holds: bool, evidence: impl Into<String>) -> RuleVerdict {
        let verdict = RuleVerdict { rule, holds, evidence: evidence.into(), next: None };
        let next = match rule {
            MergeRule::Policy => "fix the policy on the base branch; `ao policy check` shows the line",
            // Its state decides: nothing opens a merged one again.
            MergeRule::Open => return verdict,
            MergeRule::Mergeable => "rebase its branch onto the base, and resolve the conflict",
            MergeRule::Checks => "wait for the checks, or fix what they report: `ao pr checks`",
            MergeRule::RequiredChecks => "run these checks on this head until they pass",
            MergeRule::Approvals => "ask for a review of this head",
            MergeRule::ChangesRequested => "answer the objection, and ask for another review",
            MergeRule::Threads => "answer the threads, and resolve them",
            MergeRule::Size => "split it into smaller ones",
            MergeRule::Labels => "change its labels",
            MergeRule::Freeze => "wait until the freeze is over",
            MergeRule::Patterns => "remove these lines, and replace a secret that was pushed",
            MergeRule::Human | MergeRule::Trust | MergeRule::PolicyFile => {
                "a person has to approve this head"
            }
            MergeRule::Protected => "ask a person who may approve the path",
        };
        verdict.with_next(next)
    }

    /// Sets the next step, if the rule does not hold.
    pub(super) fn with_next(mut self, next: &'static str) -> RuleVerdict {
        self.next = (!self.holds).then_some(next);
        self
    }

    /// Returns the obstacle to a merge as text for the person who asks for the merge.
    pub fn blocker(&self) -> String {
        match self.rule {
            MergeRule::Open => format!("it is {}", self.evidence),
            MergeRule::Mergeable => format!("it {}", self.evidence),
            MergeRule::Checks => format!("checks: {}", self.evidence),
            MergeRule::ChangesRequested => self.evidence.clone(),
            rule => format!("policy, {rule}: {}", self.evidence),
        }
    }
}

impl JudgedPull<'_> {
    /// Returns whether a trusted person has approved the current head.
    pub(super) fn person_approved(&self) -> bool {
        self.pull.approvals().iter().any(|review| review.author.standing.is_trusted_person())
    }

    /// Returns whether a program made it, ours or another one. Its present and former owners and its opener count.
    pub(super) fn by_program(&self) -> bool {
        !self.makers.is_empty() || self.pull.owner.is_some() || self.pull.opened_by_program()
    }

    /// Returns whether an unidentified bot or agent made it.
    pub(super) fn by_unknown_program(&self) -> bool {
        let opened = self.pull.opened_by_program() && !self.maker_known;
        opened || (self.by_program() && self.makers.is_empty())
    }
}

/// Judges a pull request by all rules. Rules are independent, so a person sees at once everything that is missing.
pub fn judge(policy: &Policy, case: &JudgedPull<'_>) -> MergeVerdict {
    let pull = case.pull;
    let broken = case
        .broken
        .map(|why| RuleVerdict::new(MergeRule::Policy, false, format!("it cannot be read: {why}")));
    let mut verdicts: Vec<RuleVerdict> = broken.into_iter().collect();
    verdicts.extend([
        rules::open(pull),
        rules::mergeable(pull),
        rules::checks(pull),
        rules::required_checks(policy, pull),
        people::approvals(policy, pull),
        people::changes_requested(pull),
        people::threads(policy, pull),
        people::human(policy, case),
        people::trust(policy, case),
        people::policy_file(case),
        rules::size(policy, pull),
        rules::labels(policy, pull),
        rules::patterns(policy, pull),
        rules::freeze(policy, case.now),
    ]);
    verdicts.extend(people::protected(policy, pull));
    MergeVerdict { rules: verdicts, auto_merge: policy.auto_merge }
}

#[cfg(test)]
mod tests;
