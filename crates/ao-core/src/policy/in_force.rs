//! The policy of a project as it is in force: what it says of a pull request that is known, and what that makes of it.

use super::{Case, Policy, Verdict, judge};
use crate::Timestamp;
use crate::incident::{IncidentKind, Problem};
use crate::pull::{Mergeable, Pull};
use crate::reaction::{Action, Reaction, ReactionPatch};
use crate::state::State;

impl State {
    /// What the policy of its project says of a pull request, now.
    pub fn verdict(&self, pull: &Pull, now: Timestamp) -> Verdict {
        let project = self.projects.get(&pull.id.project);
        let (makers, maker_known) = self.makers_of(pull);
        let case = Case {
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

    /// The problems of a pull request. It is ready only once its policy holds, so that who merges unasked is asked then; and
    /// where the policy wants no approval and merges by itself, without one.
    pub(crate) fn problems_of_pull(&self, pull: &Pull, now: Timestamp) -> Vec<Problem> {
        let mut problems = pull.problems();
        if !pull.is_open() {
            return problems;
        }
        let verdict = self.verdict(pull, now);
        let ready = problems.iter().any(|problem| problem.kind == IncidentKind::ApprovedAndGreen);
        if ready && !verdict.allows() {
            problems.retain(|problem| problem.kind != IncidentKind::ApprovedAndGreen);
        } else if !ready && verdict.merges_unasked() && pull.facts.mergeable == Mergeable::Clean {
            problems.push(Problem {
                kind: IncidentKind::ApprovedAndGreen,
                problem: pull.facts.head.to_string(),
                revision: pull.facts.head.to_string(),
                detail: format!("{} is green, and its policy asks for no approval", pull.facts.url),
            });
        }
        problems
    }
}

impl Policy {
    /// Whether what is ready is merged with nobody asking, where a policy says so. Whoever has said in the reactions that it
    /// is not, or that something else is done, is not overruled by it.
    pub(crate) fn over(&self, reaction: &mut Reaction, layers: &[&ReactionPatch]) {
        let said_otherwise = layers.iter().any(|layer| layer.auto == Some(false))
            || layers.iter().any(|layer| layer.action.is_some_and(|action| action != Action::Merge));
        match self.auto_merge {
            Some(true) if !said_otherwise && reaction.action == Action::Merge => reaction.auto = true,
            Some(false) if reaction.action == Action::Merge => reaction.auto = false,
            _ => {}
        }
    }
}
