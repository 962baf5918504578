//! Converts reactions to wire types: the merged reaction, the origin of each field, and the resulting steps.

use std::collections::BTreeMap;

use ao_api::{ConditionTested, ConfiguredAction, Reaction, ReactionStep, ReactionTested, StepKind};
use ao_core::incident::{EscalationLevel, FailureDoubt, IncidentEvent, IncidentKind, Subject};
use ao_core::job::{JobEvent, JobOrder};
use ao_core::notice::NoticeEvent;
use ao_core::reaction::{self as core, DryRun, ReactionAction, ReactionLayer, ReactionPatch};
use ao_core::session::{AgentChoice, SessionEvent};
use ao_core::{Event, ProjectId, StampedEvent, State};

use super::{priority, time};

/// Converts the reactions to all kinds, for a project and an agent if there is one.
pub(crate) fn reactions(
    state: &State,
    project: Option<&ProjectId>,
    agent: Option<&AgentChoice>,
) -> Vec<Reaction> {
    let mut kinds: Vec<IncidentKind> = IncidentKind::ours().collect();
    let layers = state.all_reactions(project, agent);
    for kind in layers.iter().flat_map(|(_, layer)| layer.keys()) {
        if !kinds.contains(kind) {
            kinds.push(kind.clone());
        }
    }
    kinds
        .iter()
        .map(|kind| {
            let layers = state.reaction_layers(kind, project, agent);
            let whole = layers
                .iter()
                .fold(core::Reaction::default_for(kind), |whole, (_, patch)| whole.patched(patch));
            let layers = layers.into_iter().map(|(layer, patch)| (layer, patch.clone())).collect::<Vec<_>>();
            reaction(kind, &whole, &layers)
        })
        .collect()
}

fn reaction(
    kind: &IncidentKind,
    whole: &core::Reaction,
    layers: &[(ReactionLayer, ReactionPatch)],
) -> Reaction {
    Reaction {
        event: kind.to_string(),
        own: matches!(kind, IncidentKind::Custom(_)),
        action: action(whole.action),
        auto: whole.auto,
        retries: whole.attempts,
        escalate_after_seconds: whole.escalate_after.as_secs(),
        priority: priority(whole.level),
        channel: whole.channel.clone(),
        message: whole.message.clone(),
        condition: whole.condition.clone(),
        threshold_seconds: whole.threshold.map(|time| time.as_secs()),
        cooldown_seconds: whole.cooldown.as_secs(),
        rerun: whole.rerun,
        resolve: whole.resolve,
        agent: whole.agent.clone(),
        command: whole.command.clone(),
        timeout_seconds: whole.timeout.as_secs(),
        from: origins(layers),
    }
}

pub(super) fn action(action: ReactionAction) -> ConfiguredAction {
    same_name!(
        action, ReactionAction => ConfiguredAction: SendToAgent, SpawnAgent, Notify, Merge, RerunChecks, Rebase, Run,
        Escalate, Record
    )
}

/// Returns the layer that set each field. The topmost one counts.
fn origins(layers: &[(ReactionLayer, ReactionPatch)]) -> BTreeMap<String, String> {
    let mut from = BTreeMap::new();
    for (layer, patch) in layers {
        let said = serde_json::to_value(patch).unwrap_or_default();
        for field in said.as_object().into_iter().flatten().map(|(field, _)| field.as_str()) {
            let field = match field {
                "attempts" => "retries",
                "escalate_after" => "escalateAfter",
                "level" => "priority",
                same => same,
            };
            let layer = match layer {
                ReactionLayer::Top => "top".to_owned(),
                ReactionLayer::Project(project) => format!("project {project}"),
                ReactionLayer::Agent(agent) => format!("agent {agent}"),
            };
            from.insert(field.to_owned(), layer);
        }
    }
    from
}

/// Returns the reason no message about a failure was sent yet.
pub(super) fn doubted(doubt: &FailureDoubt) -> &'static str {
    match doubt {
        FailureDoubt::Chance { .. } => "it may be flaky, or the base may fail too; this is checked first",
        FailureDoubt::Base {} => "the base may fail too; this is checked first",
        FailureDoubt::BaseRed {} => "the base itself fails; no agent is notified until it passes",
        FailureDoubt::BaseMended { .. } => "the base passes again; the check is run again",
    }
}

/// Describes the steps that were taken, or would be, in order.
pub(crate) fn steps(state: &State, events: &[StampedEvent]) -> Vec<ReactionStep> {
    let step = |step: StepKind, to: Option<String>, text: String, at: Option<ao_core::Timestamp>| {
        ReactionStep { step, to, text, at: at.map(time) }
    };
    let told = |event: &Event| match event {
        Event::Incident(key, IncidentEvent::Acted { action: act, .. }) => {
            Some(step(StepKind::Act, Some(state.subject_name(&key.subject)), action(*act).to_string(), None))
        }
        Event::Incident(_, IncidentEvent::Escalated { to, why, .. }) => {
            let to = if *to == EscalationLevel::Orchestrator { "orchestrator" } else { "person" };
            Some(step(StepKind::Escalate, Some(to.into()), why.clone(), None))
        }
        Event::Incident(_, IncidentEvent::Recorded { .. }) => {
            Some(step(StepKind::Record, None, "it is only recorded".into(), None))
        }
        Event::Incident(_, IncidentEvent::Doubted { doubt, due }) => {
            Some(step(StepKind::Doubt, None, doubted(doubt).to_owned(), *due))
        }
        Event::Incident(key, IncidentEvent::Waiting { due }) => {
            let text = "the agent cannot take a message now; this waits until then".to_owned();
            Some(step(StepKind::Wait, Some(state.subject_name(&key.subject)), text, Some(*due)))
        }
        Event::Session(id, SessionEvent::MessageQueued { message, .. }) => {
            Some(step(StepKind::Tell, Some(state.name_of(*id)), message.body.clone(), None))
        }
        Event::Notice(_, NoticeEvent::Raised { notice }) => {
            let to = notice.channel.clone().unwrap_or_else(|| format!("{} channels", priority(notice.level)));
            Some(step(StepKind::Notify, Some(to), notice.text.clone(), None))
        }
        Event::Queue(project, _) => Some(step(
            StepKind::Queue,
            Some(project.to_string()),
            "it is put into the merge queue".into(),
            None,
        )),
        Event::Job(_, JobEvent::Wanted { job }) => Some(step(StepKind::Order, None, order(&job.order), None)),
        _ => None,
    };
    events.iter().filter_map(|stamped| told(&stamped.event)).collect()
}

fn order(order: &JobOrder) -> String {
    match order {
        JobOrder::Spawn { agent, title, .. } => {
            let agent = agent.as_deref().unwrap_or("the project's agent");
            format!("{agent} is started: {title}")
        }
        JobOrder::Assign { task, agent, why } => {
            let agent = agent.as_deref().unwrap_or("the project's agent");
            format!("{task} is given to {agent}: {why}")
        }
        JobOrder::Settle { pull, .. } => format!("the issues that {pull} settles are closed"),
        JobOrder::Rerun { check, commit, .. } => format!("the check `{check}` is run again on {commit}"),
        JobOrder::CheckBase { check, branch, .. } => {
            format!("the check `{check}` is run on `{branch}` itself")
        }
        JobOrder::Rebase { pull, .. } => format!("the branch of {pull} is put onto its base"),
        JobOrder::Run { command, .. } => format!("this is run: {command}"),
        JobOrder::Reply(reply) => format!("the thread {} of {} is answered", reply.thread, reply.pull),
        JobOrder::Hook { point, .. } => format!("the hooks at `{point}` are run"),
    }
}

/// Converts the result of a dry run.
pub(crate) fn tested(state: &State, rehearsal: &DryRun, example: bool) -> ReactionTested {
    let kind = &rehearsal.key.kind;
    let condition = rehearsal.reaction.condition.as_ref().zip(rehearsal.holds.as_ref());
    let condition = condition.map(|(expression, holds)| ConditionTested {
        expression: expression.clone(),
        holds: holds.as_ref().ok().copied(),
        why: holds.as_ref().err().cloned(),
        values: rehearsal.context.clone(),
    });
    let steps = steps(state, &rehearsal.events);
    ReactionTested {
        reaction: reaction(kind, &rehearsal.reaction, &rehearsal.layers),
        subject: state.subject_name(&rehearsal.key.subject),
        example,
        condition,
        held: held(state, &rehearsal.key.subject),
        then: then(state, rehearsal),
        steps,
    }
}

/// Returns the holds of the agent concerned.
fn held(state: &State, subject: &Subject) -> Vec<String> {
    let session = match subject {
        Subject::Session(id) => Some(*id),
        Subject::Pull(pull) => state.pulls.get(pull).and_then(|pull| pull.owner),
        Subject::Project(_) | Subject::Host => None,
    };
    let session = session.and_then(|id| state.sessions.get(&id));
    session.into_iter().flat_map(|session| session.holds.values()).map(|hold| hold.why.clone()).collect()
}

/// Returns the escalation that would follow, and its time.
fn then(state: &State, rehearsal: &DryRun) -> Option<ReactionStep> {
    let due = rehearsal.events.iter().find_map(|stamped| match &stamped.event {
        Event::Incident(key, IncidentEvent::Acted { due, .. }) if *key == rehearsal.key => {
            Some((*due, false))
        }
        Event::Incident(key, IncidentEvent::Escalated { due: Some(due), .. }) if *key == rehearsal.key => {
            Some((*due, true))
        }
        _ => None,
    });
    let (due, escalated) = due?;
    let retries = rehearsal.reaction.attempts;
    if !escalated && retries > 1 {
        let text = format!(
            "the same again if it is still there, {retries} times at most; then the next escalation level is asked"
        );
        return Some(ReactionStep { step: StepKind::Act, to: None, text, at: Some(time(due)) });
    }
    let has_orchestrator = !escalated && state.orchestrator_for(&rehearsal.key.subject).is_some();
    let to = if has_orchestrator { "orchestrator" } else { "person" };
    let text = "is asked if it is still there".to_owned();
    Some(ReactionStep { step: StepKind::Escalate, to: Some(to.into()), text, at: Some(time(due)) })
}
