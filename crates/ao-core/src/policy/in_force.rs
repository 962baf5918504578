//! The policy in force for a project: its verdict on a known pull request, and the problems that follow from it.

use std::collections::BTreeSet;

use super::{JudgedPull, MergeRule, MergeVerdict, Policy, RuleVerdict, judge};
use crate::incident::{IncidentKey, IncidentKind, ObservedProblem, ProblemId, Subject};
use crate::outside::one_line;
use crate::pull::{Mergeable, Pull, PullState};
use crate::reaction::{Reaction, ReactionAction, ReactionPatch};
use crate::state::State;
use crate::{Timestamp, work};

impl State {
    /// Judges a pull request by the policy of its project.
    pub fn verdict(&self, pull: &Pull, now: Timestamp) -> MergeVerdict {
        let project = self.projects.get(&pull.id.project);
        let (makers, maker_known) = self.makers_of(pull);
        let case = JudgedPull {
            pull,
            makers: &makers,
            maker_known,
            now,
            broken: project.and_then(|project| project.policy_stand.broken.as_deref()),
        };
        match project {
            Some(project) => judge(&project.policy, &case),
            None => judge(&Policy::default(), &case),
        }
    }

    /// Returns the rules that keep a person from merging a pull request, except for those that the person overrules.
    ///
    /// The default policy restricts automatic merges. It does not bind a person who asks for a merge: if no policy is
    /// written, only the rules that apply to every merge count.
    pub fn blockers(&self, pull: &Pull, over: &BTreeSet<MergeRule>, now: Timestamp) -> Vec<RuleVerdict> {
        let stand = self.projects.get(&pull.id.project).map(|project| &project.policy_stand);
        let written = stand.is_some_and(|stand| stand.written || stand.broken.is_some());
        let counts = |rule: MergeRule| match &pull.facts.state {
            PullState::Open => (written || rule.is_basic()) && !(rule.yields() && over.contains(&rule)),
            PullState::Closed => rule == MergeRule::Open,
            PullState::Merged { .. } => false,
        };
        let verdict = self.verdict(pull, now);
        verdict.rules.into_iter().filter(|it| !it.holds && counts(it.rule)).collect()
    }

    /// Returns the problems of a pull request. It is ready only once its policy holds, because readiness triggers the
    /// automatic merge; if the policy needs no approval and merges by itself, it is ready without one. A pull request
    /// that waits for a person and is not ready is reported as one that needs a review.
    pub(crate) fn problems_of_pull(&self, pull: &Pull, now: Timestamp) -> Vec<ObservedProblem> {
        let mut problems = pull.problems();
        if !pull.is_open() {
            return problems;
        }
        problems.retain(|problem| problem.kind != IncidentKind::ApprovedAndGreen);
        let ready = self.readiness(pull, &self.verdict(pull, now));
        if ready.is_none()
            && let Some(step) = work::waits_for_person(self, pull, now)
        {
            let IncidentKey { kind, problem: id, .. } = work::waiting_key(pull);
            let look = step.command.map(|command| format!("Look at it with: {command}"));
            let first = format!("{}: it {}", one_line(&pull.facts.title), step.says);
            let lines = [Some(first), Some(pull.facts.url.clone()), look].into_iter().flatten();
            let lines: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
            problems.push(ObservedProblem {
                kind,
                id,
                revision: pull.facts.head.to_string(),
                detail: lines.join("\n"),
            });
        }
        problems.extend(ready);
        problems
    }

    /// Returns whether an allowed pull request is merged automatically: by its policy or, if that leaves it open, by
    /// the reaction.
    fn merges_unasked(&self, pull: &Pull, verdict: &MergeVerdict) -> bool {
        let by_reaction = || {
            let reaction = self.reaction(&IncidentKind::ApprovedAndGreen, &Subject::Pull(pull.id.clone()));
            verdict.auto_merge.is_none() && reaction.auto && reaction.action == ReactionAction::Merge
        };
        verdict.merges_unasked() || (verdict.allows() && by_reaction())
    }

    /// Returns the problem "ready to merge", if it applies: approved and green, or without an approval if the policy
    /// needs none and merges by itself.
    pub(crate) fn readiness(&self, pull: &Pull, verdict: &MergeVerdict) -> Option<ObservedProblem> {
        let mut problems = pull.problems();
        let ready = problems.iter().position(|problem| problem.kind == IncidentKind::ApprovedAndGreen);
        match ready {
            Some(ready) => verdict.allows().then(|| problems.swap_remove(ready)),
            None if self.merges_unasked(pull, verdict) && pull.facts.mergeable == Mergeable::Clean => {
                Some(ObservedProblem {
                    kind: IncidentKind::ApprovedAndGreen,
                    id: ProblemId::Head(pull.facts.head.clone()),
                    revision: pull.facts.head.to_string(),
                    detail: format!(
                        "{} {}, and its policy asks for no approval",
                        pull.facts.url,
                        pull.checked_words()
                    ),
                })
            }
            None => None,
        }
    }
}

impl Policy {
    /// Applies the policy's `auto_merge` to the reaction. Layers of the reactions that switch it off or choose
    /// another action take precedence.
    pub(crate) fn over(&self, reaction: &mut Reaction, layers: &[&ReactionPatch]) {
        let said_otherwise = layers.iter().any(|layer| layer.auto == Some(false))
            || layers.iter().any(|layer| layer.action.is_some_and(|action| action != ReactionAction::Merge));
        match self.auto_merge {
            Some(true) if !said_otherwise && reaction.action == ReactionAction::Merge => reaction.auto = true,
            Some(false) if reaction.action == ReactionAction::Merge => reaction.auto = false,
            _ => {}
        }
    }
}
