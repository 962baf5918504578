//! Reasons not to wake an agent for a failed check: it may be flaky, and the base may be at fault.
//!
//! ```text
//!  failed ─► run again, and the base asked at the same time
//!               ├─ passed ─► a flake: remembered, nobody woken
//!               ├─ failed again, base green ─► believed
//!               ├─ base red ─► held until it is green, then run again
//!               └─ no answer in time ─► believed, and that is said
//! ```

use serde::{Deserialize, Serialize};

use super::{Incident, IncidentKey, IncidentKind, Subject};
use crate::Timestamp;
use crate::health::{BaseState, flake_of};
use crate::pull::CheckState;
use crate::reaction::{Reaction, ReactionAction};
use crate::state::State;

/// Further re-runs of a failure that was flaky before.
const FLAKE_RERUNS: u32 = 2;

/// The reason why no agent is woken yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureDoubt {
    /// It may be flaky: after this many failed runs of this head, the check is run once more.
    Chance { run: u32 },
    /// The base is being checked.
    Base {},
    /// The base fails the same check. No timer ends this: the base does.
    BaseRed {},
    /// The base was red and is fixed: after this many failed runs of this head, the check is run once more.
    BaseMended { run: u32 },
}

/// Facts about a failed check beside its failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FailedCheckFacts {
    /// Runs of it that failed on this head.
    pub(crate) failed: u32,
    /// The number of failed runs after which it is believed.
    pub(crate) needed: u32,
    pub(crate) base: BaseState,
    /// Time at which the base was last found not to be red, at any tip.
    pub(crate) not_red_at: Option<Timestamp>,
}

impl FailedCheckFacts {
    /// Gathers the facts about the failed check of a problem, if it is about one.
    pub(crate) fn of(state: &State, key: &IncidentKey, reaction: &Reaction) -> Option<FailedCheckFacts> {
        let Subject::Pull(id) = &key.subject else { return None };
        if key.kind != IncidentKind::CiFailed || reaction.action == ReactionAction::Record {
            return None;
        }
        let (pull, project) = (state.pulls.get(id)?, state.projects.get(&id.project)?);
        let check = pull.failure(&key.problem)?;
        let certain = matches!(check.state, CheckState::Failed { certain: true, .. });
        let needed = match reaction.rerun {
            // The reaction itself runs it again.
            _ if certain || reaction.action == ReactionAction::RerunChecks => 1,
            0 => 1,
            rerun if flake_of(&project.flakes, &key.problem).is_some() => 1 + rerun + FLAKE_RERUNS,
            rerun => 1 + rerun,
        };
        let failed = pull.runs.get(&check.name).map_or(1, |runs| runs.failed.max(1));
        let signature = match &check.state {
            CheckState::Failed { signature, .. } => signature.as_str(),
            _ => "",
        };
        let base = project.base.view(&pull.facts.base_branch, &check.name, signature, &pull.facts.base);
        let not_red_at = project.base.not_red_at(&pull.facts.base_branch, &check.name);
        Some(FailedCheckFacts { failed, needed, base, not_red_at })
    }

    /// Returns the reason not to wake an agent now.
    pub(super) fn doubt(&self, incident: &Incident) -> Option<FailureDoubt> {
        let failed = self.failed;
        if self.base == BaseState::Red {
            return Some(FailureDoubt::BaseRed {});
        }
        match &incident.doubt {
            Some(FailureDoubt::BaseRed {}) => return Some(FailureDoubt::BaseMended { run: failed }),
            Some(FailureDoubt::BaseMended { run }) => {
                return (failed <= *run).then_some(FailureDoubt::BaseMended { run: *run });
            }
            // Regardless of the run, only the base is left to check.
            Some(FailureDoubt::Base {}) => {
                return self.base_is_open(incident).then_some(FailureDoubt::Base {});
            }
            Some(FailureDoubt::Chance { .. }) | None => {}
        }
        if incident.believed.as_ref() == Some(&incident.revision) {
            None
        } else if failed < self.needed {
            Some(FailureDoubt::Chance { run: failed })
        } else {
            self.base_is_open(incident).then_some(FailureDoubt::Base {})
        }
    }

    /// Returns true if it is still unknown whether the base passes. The base may have moved since it was asked about: an answer that
    /// is younger than the doubt is good enough, because where it moves all day there would never be a better one.
    pub(super) fn base_is_open(&self, incident: &Incident) -> bool {
        let doubted = incident.doubt.as_ref().and(incident.doubted);
        let answered = doubted.is_some_and(|since| self.not_red_at.is_some_and(|at| at >= since));
        matches!(self.base, BaseState::Unasked | BaseState::Asked) && !answered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PullId;

    fn incident() -> Incident {
        let subject = Subject::Pull(PullId { project: crate::ProjectId::new("app"), number: 7 });
        let problem = super::super::ProblemId::Check { check: "test".into(), signature: "login".into() };
        let key = IncidentKey { subject, kind: IncidentKind::CiFailed, problem };
        Incident::opened(&key, "c1", "", Timestamp(0))
    }

    /// acceptance: F3
    #[test]
    fn a_failure_is_doubted_until_it_failed_often_enough_and_the_base_is_known() {
        use BaseState::{Asked, Green, Red, Unasked, Unknown};
        let chance = |run| Some(FailureDoubt::Chance { run });
        for (failed, needed, base, expected) in [
            (1, 2, Unasked, chance(1)),
            (1, 2, Green, chance(1)),
            (2, 2, Asked, Some(FailureDoubt::Base {})),
            (2, 2, Unasked, Some(FailureDoubt::Base {})),
            (2, 2, Green, None),
            (2, 2, Unknown, None),
            (2, 4, Green, chance(2)),
            (1, 1, Green, None),
            (1, 1, Unasked, Some(FailureDoubt::Base {})),
            (1, 2, Red, Some(FailureDoubt::BaseRed {})),
            (9, 1, Red, Some(FailureDoubt::BaseRed {})),
        ] {
            let found = FailedCheckFacts { failed, needed, base, not_red_at: None }.doubt(&incident());
            assert_eq!(found, expected, "{failed} of {needed}, base {base:?}");
        }
    }

    #[test]
    fn what_was_believed_is_not_doubted_again_but_a_red_base_holds_it_all_the_same() {
        let believed = Incident { believed: Some("c1".into()), ..incident() };
        let seen = |base| FailedCheckFacts { failed: 1, needed: 2, base, not_red_at: None };
        assert_eq!(seen(BaseState::Unasked).doubt(&believed), None);
        assert_eq!(seen(BaseState::Red).doubt(&believed), Some(FailureDoubt::BaseRed {}));
    }

    #[test]
    fn an_answer_about_an_older_tip_will_do_if_it_is_younger_than_the_doubt() {
        let at = |not_red_at| FailedCheckFacts { failed: 2, needed: 2, base: BaseState::Unasked, not_red_at };
        let doubted =
            Incident { doubt: Some(FailureDoubt::Base {}), doubted: Some(Timestamp(5)), ..incident() };
        assert_eq!(at(Some(Timestamp(7))).doubt(&doubted), None);
        assert_eq!(at(Some(Timestamp(4))).doubt(&doubted), Some(FailureDoubt::Base {}));
        assert_eq!(
            at(Some(Timestamp(7))).doubt(&incident()),
            Some(FailureDoubt::Base {}),
            "it was not asked for this"
        );
    }

    #[test]
    fn after_a_red_base_the_check_runs_once_more_before_anybody_is_told() {
        let held =
            Incident { doubt: Some(FailureDoubt::BaseRed {}), believed: Some("c1".into()), ..incident() };
        let green = |failed| FailedCheckFacts { failed, needed: 2, base: BaseState::Green, not_red_at: None };
        let mended = Some(FailureDoubt::BaseMended { run: 1 });
        assert_eq!(green(1).doubt(&held), mended);
        let waits = Incident { doubt: mended.clone(), ..held };
        assert_eq!(green(1).doubt(&waits), mended);
        assert_eq!(green(2).doubt(&waits), None, "it failed again on a green base");
    }
}
