//! The context in which an incident takes its next step.

use std::time::Duration;

use super::doubt::FailedCheckFacts;
use super::{AttemptedFix, Incident, IncidentKey, IncidentKind, Subject};
use crate::Timestamp;
use crate::decide::{agent_of, orchestrator_of};
use crate::reaction::{IDLE_AFTER, Reaction, ReactionAction};
use crate::session::HoldKind;
use crate::state::State;

/// Facts beside the incident itself that decide its next step.
pub(crate) struct IncidentContext<'a> {
    pub(super) reaction: &'a Reaction,
    /// The time for which a problem must be absent before it is over.
    pub(super) stable_clear: Duration,
    pub(super) now: Timestamp,
    pub(super) helpers: IncidentHelpers,
    /// The reason why the action makes no sense here.
    pub(super) misfit: Option<ActionMisfit>,
    pub(super) suspicion: Option<FailedCheckFacts>,
    /// The head of the pull request that it is about.
    pub(super) head: Option<AttemptedFix>,
    /// True if that head was seen to merge without a conflict.
    pub(super) was_clean: bool,
    /// Evaluates the condition of the reaction.
    pub(super) holds: &'a dyn Fn(&Incident) -> Result<bool, String>,
}

/// The helpers that are available now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IncidentHelpers {
    /// There is an agent, and it may take a turn.
    pub(crate) agent: bool,
    /// There is an agent, even if it may not take a turn now.
    pub(crate) live: bool,
    pub(crate) orchestrator: bool,
    /// Time of the agent's next turn, if it waits for a provider's limit to end.
    pub(crate) back: Option<Timestamp>,
}

/// The reason why an action makes no sense for a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ActionMisfit {
    /// No agent is concerned; the next level may help.
    NoAgent,
    /// Only a person can fix this.
    Senseless(&'static str),
}

impl IncidentContext<'_> {
    /// Gathers the context of one problem and passes it to `then`.
    pub(crate) fn of<T>(
        state: &State,
        key: &IncidentKey,
        now: Timestamp,
        then: impl FnOnce(&IncidentContext<'_>) -> T,
    ) -> T {
        let reaction = state.reaction(&key.kind, &key.subject);
        let holds = |incident: &Incident| state.holds(reaction.condition.as_deref(), incident);
        let pull = match &key.subject {
            Subject::Pull(id) => state.pulls.get(id),
            _ => None,
        };
        then(&IncidentContext {
            reaction: &reaction,
            stable_clear: stable_clear(state, key, &reaction),
            now,
            helpers: helpers(state, &key.subject),
            misfit: misfit(state, key, &reaction),
            suspicion: FailedCheckFacts::of(state, key, &reaction),
            head: pull.map(|pull| AttemptedFix {
                commit: pull.facts.head.clone(),
                title: pull.facts.head_title.clone(),
            }),
            was_clean: pull.is_some_and(|pull| pull.clean_head.as_ref() == Some(&pull.facts.head)),
            holds: &holds,
        })
    }
}

/// Returns the time for which a problem must be absent. An agent that is idle again after a short turn has not begun
/// to work, so idle problems need longer.
fn stable_clear(state: &State, key: &IncidentKey, reaction: &Reaction) -> Duration {
    let idle = match key.kind {
        IncidentKind::AgentIdle => reaction.threshold.unwrap_or(IDLE_AFTER).saturating_mul(2),
        _ => Duration::ZERO,
    };
    state.settings.stable_clear + idle
}

fn helpers(state: &State, subject: &Subject) -> IncidentHelpers {
    let agent = agent_of(state, subject);
    let limited = agent.filter(|agent| agent.is_live() && agent.holds.contains_key(&HoldKind::Account));
    IncidentHelpers {
        back: limited.and_then(|agent| agent.resume.at.or(state.accounts.get(agent.account()).copied())),
        agent: agent.is_some_and(|agent| agent.is_live() && agent.holds.is_empty()),
        live: agent.is_some_and(|agent| agent.is_live()),
        orchestrator: orchestrator_of(state, subject)
            .is_some_and(|orchestrator| agent.is_none_or(|agent| agent.id != orchestrator.id)),
    }
}

fn misfit(state: &State, key: &IncidentKey, reaction: &Reaction) -> Option<ActionMisfit> {
    let senseless = |why| Some(ActionMisfit::Senseless(why));
    match (reaction.action, &key.subject) {
        (ReactionAction::SendToAgent, Subject::Project(_) | Subject::Host) => Some(ActionMisfit::NoAgent),
        (ReactionAction::SpawnAgent, Subject::Host) => {
            senseless("an agent was to be started, but it concerns no project")
        }
        (ReactionAction::Merge, subject) if !matches!(subject, Subject::Pull(_)) => {
            senseless("it was to be merged, but it is no pull request")
        }
        (ReactionAction::Rebase, subject) if !matches!(subject, Subject::Pull(_)) => {
            senseless("it was to be rebased, but it is no pull request")
        }
        (ReactionAction::RerunChecks, Subject::Pull(id)) => match state.pulls.get(id) {
            Some(pull) if !pull.failures.is_empty() => None,
            _ => senseless("failed checks were to be run again, but none has failed"),
        },
        (ReactionAction::RerunChecks, _) => {
            senseless("checks were to be run again, but it is no pull request")
        }
        (ReactionAction::Run, Subject::Host) => {
            senseless("a command was to be run, but it concerns no project")
        }
        (ReactionAction::Run, _) if reaction.command.is_none() => {
            senseless("a command was to be run, but the reaction names none")
        }
        _ => None,
    }
}
