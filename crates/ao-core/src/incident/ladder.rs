//! The escalation of an incident: the next action, by whom, and its end.

use super::context::{ActionMisfit, IncidentContext};
use super::{
    EscalationLevel, FailureDoubt, Incident, IncidentEvent, IncidentInput, IncidentKey, IncidentKind, evolve,
};
use crate::Timestamp;
use crate::reaction::ReactionAction;

/// The reason of an escalation that goes to a person first. It is left out of notices.
pub(crate) const ONLY_A_PERSON: &str = "only a person can decide this";

/// Decides what an input means for a problem.
pub(crate) fn decide(
    key: &IncidentKey,
    known: Option<&Incident>,
    context: &IncidentContext<'_>,
    input: IncidentInput,
) -> Vec<IncidentEvent> {
    use IncidentEvent as E;
    use IncidentInput as I;
    let now = context.now;
    match (known, input) {
        (None, I::Seen(problem)) => {
            let opened = Incident::opened(key, &problem.revision, &problem.detail, now);
            let mut events = vec![E::Opened { revision: problem.revision, detail: problem.detail }];
            events.extend(act(&opened, context));
            events
        }
        (None, _) => vec![],
        (Some(incident), I::Seen(problem)) if was_resolved(incident, context) => {
            let opened = decide(key, None, context, I::Seen(problem));
            [E::Closed {}].into_iter().chain(opened).collect()
        }
        (Some(incident), I::Seen(problem)) => {
            let mut events = Vec::new();
            if incident.absent.is_some() {
                events.push(E::Returned { due: due_on_return(incident, context) });
            }
            if problem.revision != incident.revision {
                events.push(E::Revised { revision: problem.revision, detail: problem.detail });
            }
            // A condition that did not hold may hold now, and the configuration may have changed.
            if incident.level == EscalationLevel::None
                && !incident.key.kind.is_moment()
                && context.reaction.action != ReactionAction::Record
                && (context.holds)(&after(incident, &events, now)) == Ok(true)
            {
                events.push(E::Reopened {});
            }
            let now_known = after(incident, &events, now);
            // Even without news: the agent may be reachable again, and doubts may end or begin.
            let red =
                context.suspicion.is_some_and(|it| it.doubt(&now_known) == Some(FailureDoubt::BaseRed {}));
            if now_known.is_fresh() || now_known.doubt.is_some() || red {
                events.extend(act(&now_known, context));
            }
            events
        }
        (Some(incident), I::Absent) if incident.absent.is_none() => {
            vec![E::Vanished { until: now + context.stable_clear }]
        }
        (Some(_), I::Absent) => vec![],
        (Some(incident), I::Due) if incident.due.is_none_or(|due| now < due) => vec![],
        (Some(incident), I::Due) if incident.absent.is_some() || moment_over(incident) => vec![E::Closed {}],
        (Some(incident), I::Due) => {
            let events = act(incident, context);
            match events.is_empty() {
                // The reaction waits longer than it did when this was recorded.
                true => {
                    let patience = incident.since + context.reaction.escalate_after;
                    vec![E::Waiting { due: patience.max(now + std::time::Duration::from_secs(1)) }]
                }
                false => events,
            }
        }
        (Some(incident), I::Unsaid) if incident.acted > 0 && incident.level == EscalationLevel::Agent => {
            vec![E::Unsaid {}]
        }
        (Some(_), I::Unsaid) => vec![],
        (Some(incident), I::NotHeard { by, why }) if incident.level == by => match by {
            // Should the problem return, it is reported as if no message had been sent.
            EscalationLevel::Agent if incident.absent.is_some() && incident.acted > 0 => vec![E::Unsaid {}],
            _ if incident.absent.is_some() => vec![],
            EscalationLevel::Agent => {
                vec![up(incident, context, format!("its agent could not be told: {why}"))]
            }
            EscalationLevel::Orchestrator => {
                vec![person(incident, context, format!("the orchestrator could not be told: {why}"))]
            }
            EscalationLevel::Person | EscalationLevel::None => vec![],
        },
        // Another level was asked meanwhile.
        (Some(_), I::NotHeard { .. }) => vec![],
        (Some(incident), I::Job { round, result }) if incident.awaits(&round) => {
            job(incident, context, result)
        }
        // A stale result of an earlier round.
        (Some(_), I::Job { .. }) => vec![],
        (Some(incident), I::Addressed { commit }) => match &incident.acted_on {
            Some(told) if incident.answered.as_ref() != Some(told) => {
                vec![E::Answered { revision: told.clone(), commit }]
            }
            _ => vec![],
        },
        (Some(_), I::Gone) => vec![E::Closed {}],
    }
}

/// Returns whether an earlier conflict was resolved, so that this one is another: the head that answered it was seen to merge
/// cleanly, and then the base moved. Where many changes land, each of them may conflict once; none of that is a failed try.
fn was_resolved(incident: &Incident, context: &IncidentContext<'_>) -> bool {
    let tried = incident.tried.last().map(|tried| &tried.commit);
    incident.key.kind == IncidentKind::MergeConflicts
        && incident.absent.is_some()
        && context.was_clean
        && tried.is_some_and(|tried| context.head.as_ref().is_some_and(|head| head.commit != *tried))
}

/// Returns the time at which the escalation continues where it was, with the time that was left. No message is
/// repeated.
fn due_on_return(incident: &Incident, context: &IncidentContext<'_>) -> Option<Timestamp> {
    if let Some(due) = moment_due(incident, context) {
        return Some(due);
    }
    let waits = incident.doubt == Some(FailureDoubt::BaseRed {})
        || (incident.level == EscalationLevel::Agent
            && incident.answered.is_some()
            && incident.answered.as_ref() == Some(&incident.revision));
    let asked = matches!(incident.level, EscalationLevel::Agent | EscalationLevel::Orchestrator);
    (asked && !waits).then(|| context.now.max(incident.since + context.reaction.escalate_after))
}

/// Returns whether a custom event is past, because it was reported.
fn moment_over(incident: &Incident) -> bool {
    incident.key.kind.is_moment() && (incident.level != EscalationLevel::Agent || !incident.is_fresh())
}

/// Returns the next step for a present problem, if the condition of its reaction holds.
fn act(incident: &Incident, context: &IncidentContext<'_>) -> Vec<IncidentEvent> {
    use IncidentEvent as E;
    if matches!(incident.level, EscalationLevel::Person | EscalationLevel::None) {
        return vec![];
    }
    let recorded = || vec![E::Recorded { due: moment_due(incident, context) }];
    if incident.level == EscalationLevel::Agent && context.reaction.action == ReactionAction::Record {
        return recorded();
    }
    let (mut events, waits) = doubt(incident, context);
    if !waits {
        let believed = after(incident, &events, context.now);
        events.extend(next_rung(&believed, context));
    }
    if incident.level != EscalationLevel::Agent || events.is_empty() {
        return events;
    }
    match (context.holds)(incident) {
        Ok(true) => events,
        // An action was taken, so the incident needs a conclusion.
        Ok(false) if incident.acted > 0 => {
            vec![up(incident, context, tried(action_for(incident, context), incident.acted))]
        }
        Ok(false) => recorded(),
        Err(why) => {
            let condition = context.reaction.condition.as_deref().unwrap_or_default();
            let why =
                format!("nothing was done, because the condition `{condition}` cannot be evaluated: {why}");
            vec![person(incident, context, why)]
        }
    }
}

/// Returns the events of a doubt, and true if the ladder has to wait for it.
fn doubt(incident: &Incident, context: &IncidentContext<'_>) -> (Vec<IncidentEvent>, bool) {
    use IncidentEvent as E;
    let believed = |why: &str| {
        let due = context.now + context.reaction.escalate_after;
        (vec![E::Believed { why: why.to_owned(), due }], false)
    };
    let doubted = |doubt, due| (vec![E::Doubted { doubt, due }], true);
    let Some(suspicion) = &context.suspicion else { return (vec![], false) };
    let out_of_patience = incident.due.is_some_and(|due| due <= context.now);
    match (suspicion.doubt(incident), &incident.doubt) {
        (None, None) => (vec![], false),
        (None, Some(_)) => believed(""),
        (Some(FailureDoubt::BaseRed {}), Some(FailureDoubt::BaseRed {})) if incident.due.is_none() => {
            (vec![], true)
        }
        (Some(held @ FailureDoubt::BaseRed {}), _) => doubted(held, None),
        (Some(now), Some(before)) if now == *before => match now {
            _ if !out_of_patience => (vec![], true),
            FailureDoubt::Base {} => believed("Whether the base passes it is not known yet."),
            _ => believed("It was to be run again, but that run has not come."),
        },
        // The run was the slow part; the base gets the rest of that time.
        (Some(now @ FailureDoubt::Base {}), Some(_)) => doubted(now, incident.due),
        (Some(now), _) => doubted(now, Some(context.now + context.reaction.escalate_after)),
    }
}

fn next_rung(incident: &Incident, context: &IncidentContext<'_>) -> Vec<IncidentEvent> {
    use IncidentEvent as E;
    let IncidentContext { reaction, now, helpers, .. } = context;
    let now = *now;
    let action = action_for(incident, context);
    let due = now + reaction.escalate_after;
    let patience_ended =
        incident.due.is_some_and(|due| due <= now) && now >= incident.since + reaction.escalate_after;
    let fresh = incident.is_fresh();
    let reachable = match action {
        ReactionAction::SendToAgent => helpers.agent,
        // A session that only waits is not replaced.
        ReactionAction::SpawnAgent => helpers.agent || !helpers.live,
        _ => true,
    };
    let left = incident.acted < reaction.attempts;
    let cool = incident.since + reaction.cooldown;
    match incident.level {
        EscalationLevel::Person | EscalationLevel::None => vec![],
        EscalationLevel::Agent if !reaction.auto || action == ReactionAction::Notify => {
            vec![person(incident, context, ONLY_A_PERSON.into())]
        }
        EscalationLevel::Agent
            if matches!(context.misfit, Some(ActionMisfit::Senseless(_))) && !incident.instead =>
        {
            let Some(ActionMisfit::Senseless(why)) = context.misfit else { return vec![] };
            vec![person(incident, context, why.into())]
        }
        EscalationLevel::Agent if context.misfit == Some(ActionMisfit::NoAgent) => {
            vec![up(incident, context, "no agent is concerned".into())]
        }
        EscalationLevel::Agent if action == ReactionAction::Escalate => {
            vec![up(incident, context, "it is not for the agent to mend".into())]
        }
        // The agent cannot get a message now: it is gone, or may not take a turn. Wait for it, but not forever.
        EscalationLevel::Agent
            if !reachable && (!patience_ended || helpers.back.is_some_and(|at| at > now)) =>
        {
            // The time starts when a provider's limit ends, because no one can act before.
            let due = helpers.back.map_or(due, |at| at.max(now) + reaction.escalate_after);
            match incident.due {
                Some(due) if due > now => vec![],
                _ => vec![E::Waiting { due }],
            }
        }
        EscalationLevel::Agent if left && reachable && (fresh || patience_ended) => {
            if incident.acted > 0 && now < cool {
                // News is sent when the cooldown has passed.
                return if incident.due == Some(cool) { vec![] } else { vec![E::Waiting { due: cool }] };
            }
            let due = moment_due(incident, context).unwrap_or(due);
            vec![E::Acted { action, told: incident.acted_on.clone(), due, on: context.head.clone() }]
        }
        EscalationLevel::Agent if (!left && fresh) || patience_ended => {
            vec![up(incident, context, tried(action, incident.acted))]
        }
        EscalationLevel::Orchestrator if patience_ended => {
            let why = format!("{}, and the orchestrator could not help", tried(action, incident.acted));
            vec![person(incident, context, why)]
        }
        EscalationLevel::Agent | EscalationLevel::Orchestrator => vec![],
    }
}

/// Returns the events that the outcome of a job leads to.
fn job(
    incident: &Incident,
    context: &IncidentContext<'_>,
    result: Result<String, String>,
) -> Vec<IncidentEvent> {
    use IncidentEvent as E;
    let action = action_for(incident, context);
    let due = context.now + context.reaction.escalate_after;
    let acted = incident.level == EscalationLevel::Agent && incident.acted > 0 && incident.absent.is_none();
    let by_job = matches!(
        action,
        ReactionAction::SpawnAgent
            | ReactionAction::RerunChecks
            | ReactionAction::Rebase
            | ReactionAction::Run
    );
    match result {
        Ok(said) if acted && by_job && !said.trim().is_empty() => vec![E::Noted { said }],
        Ok(_) => vec![],
        // The check in doubt cannot be run again; the base may still be at fault.
        Err(why)
            if matches!(
                incident.doubt,
                Some(FailureDoubt::Chance { .. } | FailureDoubt::BaseMended { .. })
            ) =>
        {
            let why = format!("It could not be run again: {}.", why.trim_end_matches('.'));
            let mut events = match context.suspicion.is_some_and(|suspicion| suspicion.base_is_open(incident))
            {
                true => vec![
                    E::Failed { why, due: None, instead: false },
                    E::Doubted { doubt: FailureDoubt::Base {}, due: incident.due },
                ],
                false => vec![E::Believed { why, due }],
            };
            let now_known = after(incident, &events, context.now);
            if incident.absent.is_none() {
                events.extend(act(&now_known, context));
            }
            events
        }
        // The answer failed, so the incident continues as if it had not been tried.
        Err(why)
            if incident.due.is_none()
                && incident.answered.is_some()
                && incident.level == EscalationLevel::Agent =>
        {
            vec![E::Failed {
                why: format!("The answer was not given: {why}"),
                due: Some(due),
                instead: false,
            }]
        }
        Err(why) if acted && action == ReactionAction::Rebase => {
            let why = format!("It was not rebased: {why}");
            let mut events = vec![E::Failed { why, due: None, instead: true }];
            let told = after(incident, &events, context.now);
            events.extend(act(&told, context));
            events
        }
        Err(why) if acted && by_job => {
            let what = match action {
                ReactionAction::SpawnAgent => "no agent could be started",
                ReactionAction::RerunChecks => "the checks could not be run again",
                _ => "the command failed",
            };
            vec![up(incident, context, format!("{what}: {why}"))]
        }
        Err(_) => vec![],
    }
}

/// Returns the action for this incident.
fn action_for(incident: &Incident, context: &IncidentContext<'_>) -> ReactionAction {
    if incident.instead { ReactionAction::SendToAgent } else { context.reaction.action }
}

/// Escalates to the next level above the agent.
fn up(incident: &Incident, context: &IncidentContext<'_>, why: String) -> IncidentEvent {
    if context.helpers.orchestrator && incident.level == EscalationLevel::Agent {
        let due = moment_due(incident, context).unwrap_or(context.now + context.reaction.escalate_after);
        IncidentEvent::Escalated { to: EscalationLevel::Orchestrator, due: Some(due), why }
    } else {
        person(incident, context, why)
    }
}

fn person(incident: &Incident, context: &IncidentContext<'_>, why: String) -> IncidentEvent {
    IncidentEvent::Escalated { to: EscalationLevel::Person, due: moment_due(incident, context), why }
}

/// Returns the time at which a reported moment is past.
fn moment_due(incident: &Incident, context: &IncidentContext<'_>) -> Option<Timestamp> {
    incident.key.kind.is_moment().then_some(context.now + context.stable_clear)
}

/// Returns the repeated action as a text for people.
fn tried(action: ReactionAction, times: u32) -> String {
    let often = match times {
        0 => return "no agent could be told".to_owned(),
        1 => "once".to_owned(),
        n => format!("{n} times"),
    };
    match action {
        ReactionAction::Merge => format!("it was put into the merge queue {often} and is still not merged"),
        ReactionAction::RerunChecks => format!("the checks were run again {often} and it is still there"),
        ReactionAction::Rebase => format!("the branch was rebased {often} and it is still there"),
        ReactionAction::Run => format!("the command was run {often} and it is still there"),
        _ => format!("the agent was told {often} and it is still there"),
    }
}

/// Returns the incident after some events.
fn after(incident: &Incident, events: &[IncidentEvent], now: Timestamp) -> Incident {
    let mut after = incident.clone();
    for event in events {
        evolve(&mut after, event, now);
    }
    after
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::incident::context::IncidentHelpers;
    use crate::incident::{ObservedProblem, ProblemId, Subject};
    use crate::job::ReactionRound;
    use crate::reaction::Reaction;
    use crate::settings::DaemonSettings;
    use crate::{ProjectId, PullId};

    const ALL: IncidentHelpers = IncidentHelpers { agent: true, live: true, orchestrator: true, back: None };
    const AGENT: IncidentHelpers = IncidentHelpers { orchestrator: false, ..ALL };
    const PAUSED: IncidentHelpers = IncidentHelpers { agent: false, ..AGENT };
    const NOBODY: IncidentHelpers =
        IncidentHelpers { agent: false, live: false, orchestrator: false, back: None };

    fn key() -> IncidentKey {
        let subject = Subject::Pull(PullId { project: ProjectId::new("app"), number: 7 });
        IncidentKey { subject, kind: IncidentKind::MergeConflicts, problem: ProblemId::Base("main".into()) }
    }

    fn problem(revision: &str) -> IncidentInput {
        let (kind, id) = (IncidentKind::MergeConflicts, ProblemId::Base("main".into()));
        IncidentInput::Seen(ObservedProblem { kind, id, revision: revision.into(), detail: "a.rs".into() })
    }

    /// Returns the events of some inputs, each with its second, as short names.
    fn story(reaction: &Reaction, helpers: IncidentHelpers, inputs: Vec<(i64, IncidentInput)>) -> String {
        let mut known: Option<Incident> = None;
        let mut told = Vec::new();
        let settings = DaemonSettings::default();
        for (second, input) in inputs {
            let now = Timestamp(second * 1000);
            let context = IncidentContext {
                reaction,
                stable_clear: settings.stable_clear,
                now,
                helpers,
                misfit: None,
                suspicion: None,
                head: None,
                was_clean: false,
                holds: &|_| Ok(true),
            };
            for event in decide(&key(), known.as_ref(), &context, input) {
                match &event {
                    IncidentEvent::Opened { revision, detail } => {
                        known = Some(Incident::opened(&key(), revision, detail, now));
                    }
                    IncidentEvent::Closed {} => known = None,
                    event => evolve(known.as_mut().expect("it is open"), event, now),
                }
                told.push(match event {
                    IncidentEvent::Escalated { to, .. } => format!("{to:?}").to_lowercase(),
                    IncidentEvent::Acted { action, .. } => {
                        serde_json::to_string(&action).unwrap().replace('"', "")
                    }
                    other => {
                        let value = serde_json::to_value(&other).unwrap();
                        value.as_object().unwrap().keys().next().unwrap().clone()
                    }
                });
            }
        }
        told.join(" ")
    }

    fn does(action: ReactionAction, attempts: u32) -> Reaction {
        let escalate_after = Duration::from_secs(60);
        Reaction { action, attempts, escalate_after, ..Reaction::default_for(&IncidentKind::MergeConflicts) }
    }

    #[test]
    fn every_story_ends_whoever_is_there_to_help() {
        let seen = |at| (at, problem("1"));
        let due = |at| (at, IncidentInput::Due);
        let all = || vec![seen(0), due(60), due(120), due(180), due(1000)];
        for (action, helpers, expected) in [
            (ReactionAction::SendToAgent, ALL, "opened send-to-agent send-to-agent orchestrator person"),
            (ReactionAction::SendToAgent, AGENT, "opened send-to-agent send-to-agent person"),
            (ReactionAction::SendToAgent, PAUSED, "opened waiting person"),
            (ReactionAction::SendToAgent, NOBODY, "opened waiting person"),
            (ReactionAction::SpawnAgent, NOBODY, "opened spawn-agent spawn-agent person"),
            (ReactionAction::SpawnAgent, PAUSED, "opened waiting person"),
            (ReactionAction::Merge, NOBODY, "opened merge merge person"),
            (ReactionAction::Rebase, AGENT, "opened rebase rebase person"),
            (ReactionAction::Run, NOBODY, "opened run run person"),
            (ReactionAction::RerunChecks, NOBODY, "opened rerun-checks rerun-checks person"),
            (ReactionAction::Escalate, ALL, "opened orchestrator person"),
            (ReactionAction::Escalate, AGENT, "opened person"),
            (ReactionAction::Notify, ALL, "opened person"),
            (ReactionAction::Record, ALL, "opened recorded"),
        ] {
            assert_eq!(story(&does(action, 2), helpers, all()), expected, "{action:?} {helpers:?}");
        }
    }

    #[test]
    fn a_job_that_comes_to_nothing_goes_one_rung_up_and_a_rebase_to_the_agent() {
        let round = || ReactionRound { opened: Timestamp(0), revision: None, acted: None };
        let job = |result| IncidentInput::Job { round: round(), result };
        let failed = || vec![(0, problem("1")), (5, job(Err("no".into())))];
        let done = || vec![(0, problem("1")), (5, job(Ok("yes".into())))];
        for (action, helpers, inputs, expected) in [
            (ReactionAction::Run, ALL, failed(), "opened run orchestrator"),
            (ReactionAction::Run, AGENT, failed(), "opened run person"),
            (ReactionAction::Run, AGENT, done(), "opened run noted"),
            (ReactionAction::SpawnAgent, NOBODY, failed(), "opened spawn-agent person"),
            (ReactionAction::RerunChecks, NOBODY, failed(), "opened rerun-checks person"),
            (ReactionAction::Rebase, AGENT, failed(), "opened rebase failed send-to-agent"),
            (ReactionAction::Rebase, NOBODY, failed(), "opened rebase failed"),
            (ReactionAction::SendToAgent, AGENT, failed(), "opened send-to-agent"),
        ] {
            assert_eq!(story(&does(action, 2), helpers, inputs), expected, "{action:?} {helpers:?}");
        }
    }

    #[test]
    fn the_late_word_about_an_earlier_round_means_nothing() {
        let failed = |opened: i64, revision: Option<&str>, acted| IncidentInput::Job {
            round: ReactionRound { opened: Timestamp(opened), revision: revision.map(str::to_owned), acted },
            result: Err("no".into()),
        };
        for (late, expected) in [
            (failed(0, Some("2"), Some(2)), "opened run revised run person"),
            (failed(0, Some("2"), None), "opened run revised run person"),
            (failed(0, None, None), "opened run revised run person"),
            (failed(0, Some("1"), None), "opened run revised run"),
            (failed(0, Some("2"), Some(1)), "opened run revised run"),
            (failed(-1000, Some("2"), Some(2)), "opened run revised run"),
        ] {
            let inputs = vec![(0, problem("1")), (5, problem("2")), (6, late.clone())];
            assert_eq!(story(&does(ReactionAction::Run, 3), AGENT, inputs), expected, "{late:?}");
        }
    }

    #[test]
    fn news_within_the_cooldown_waits_for_its_end() {
        let reaction = Reaction { cooldown: Duration::from_secs(30), ..does(ReactionAction::SendToAgent, 3) };
        let inputs = vec![
            (0, problem("1")),
            (5, problem("2")),
            (6, problem("3")),
            (29, IncidentInput::Due),
            (30, IncidentInput::Due),
            (31, IncidentInput::Due),
        ];
        let expected = "opened send-to-agent revised waiting revised send-to-agent";
        assert_eq!(story(&reaction, AGENT, inputs), expected);
    }
}
