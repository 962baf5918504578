//! Rehearsal of a reaction on a copy of the state: nothing is done, and nothing is remembered.

use serde_json::Value;

use super::{Reaction, ReactionLayer, ReactionPatch, context};
use crate::event::StampedEvent;
use crate::incident::{
    Incident, IncidentInput, IncidentKey, IncidentKind, ObservedProblem, ProblemId, Subject,
};
use crate::input::Input;
use crate::state::State;
use crate::step::step;
use crate::{Moment, Timestamp};

/// The rehearsed reaction to a problem, and the reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct DryRun {
    pub key: IncidentKey,
    /// All layers combined.
    pub reaction: Reaction,
    /// The layers that configure the kind, the lowest first.
    pub layers: Vec<(ReactionLayer, ReactionPatch)>,
    /// The result of the condition, if there is one, or the reason why it cannot be judged.
    pub holds: Option<Result<bool, String>>,
    /// The values for condition and message.
    pub context: Value,
    /// All events that would follow.
    pub events: Vec<StampedEvent>,
}

/// Computes what would follow if this problem were seen now for the first time.
pub fn rehearse(state: &State, now: Timestamp, subject: Subject, problem: ObservedProblem) -> DryRun {
    let key = IncidentKey { subject, kind: problem.kind.clone(), problem: problem.id.clone() };
    let mut copy = state.clone();
    copy.forget_incident(&key);
    let incident = Incident::opened(&key, &problem.revision, &problem.detail, now);
    let reaction = copy.reaction(&key.kind, &key.subject);
    let (project, agent) = copy.whose(&key.subject);
    let layers = copy.reaction_layers(&key.kind, project, agent);
    let layers = layers.into_iter().map(|(layer, patch)| (layer, patch.clone())).collect();
    let holds = reaction.condition.as_deref().map(|condition| copy.holds(Some(condition), &incident));
    let context = context(&copy, &incident);
    let seen = Input::Incident { key: key.clone(), input: IncidentInput::Seen(problem) };
    // What the copy refuses would have no effect on the state either.
    let events = step(&mut copy, &Moment { at: now, seed: 1 }, seen).unwrap_or_default();
    DryRun { key, reaction, layers, holds, context, events }
}

/// Returns the present problem of a kind on a subject; of several labels, the named one.
pub fn problem_of(
    state: &State,
    now: Timestamp,
    subject: &Subject,
    kind: &IncidentKind,
    label: Option<&str>,
) -> Option<ObservedProblem> {
    let problems = match subject {
        Subject::Session(id) => state.sessions.get(id)?.problems(now, state),
        Subject::Pull(id) => state.pulls.get(id)?.problems(),
        Subject::Project(_) | Subject::Host => vec![],
    };
    problems
        .into_iter()
        .find(|problem| problem.kind == *kind && label.is_none_or(|label| is_label(&problem.id, label)))
}

fn is_label(problem: &ProblemId, label: &str) -> bool {
    matches!(problem, ProblemId::Label(its) if its == label)
}
