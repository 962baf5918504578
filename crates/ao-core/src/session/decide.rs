//! What an input means for a session. One match shows the whole behaviour; what needs more than a few lines has a name
//! below it.

use std::borrow::Cow;

use super::outbox::{Carries, Next, backoff, carries};
use super::{
    AfterStop, Delivery, HoldKind, Message, MessageKind, NewMessage, Outcome, Phase, Sender, Session,
    SessionEvent, SessionInput, Stage, fresh_conversation,
};
use crate::budget::{Limits, Spend};
use crate::effect::EffectKey;
use crate::evidence::{Activity, Reading, Signal, Source, Weight};
use crate::refusal::Refusal;
use crate::state::State;
use crate::workspace::{KeepReason, WorkspaceState};
use crate::{Attempt, Moment, Timestamp};

type Events = Result<Vec<SessionEvent>, Refusal>;

const NOTHING: Events = Ok(Vec::new());

pub(crate) fn decide(state: &State, session: &Session, moment: &Moment, input: SessionInput) -> Events {
    use SessionEvent as E;
    use SessionInput as I;
    let settings = &state.settings;
    let now = moment.at;
    match (&session.phase, input) {
        // ── making the workspace ──
        (Phase::Preparing { attempt, then_stop }, I::WorkspaceReady { attempt: of, path, base })
            if of == *attempt =>
        {
            if let Some(owner) = state.owner_of_path(&path)
                && owner != session.id
            {
                return Ok(vec![E::WorkspaceFailed {
                    why: format!("the workspace `{path}` belongs to {owner}"),
                    again_at: None,
                }]);
            }
            let mut events = vec![E::WorkspaceReady { path, base }];
            match then_stop {
                Some(outcome) => events.extend(ended(session, outcome.clone())),
                // A launch can be a turn. It gives its slot back and waits in line, with its workspace ready.
                None if !session.holds.is_empty() => {
                    events.push(E::Requeued { why: "held while its workspace was made".into() });
                }
                None => events.extend(launch(session, moment, *attempt)),
            }
            Ok(events)
        }
        (Phase::Preparing { then_stop: Some(outcome), .. }, I::Failed { effect, .. })
            if is_creation(session, &effect) =>
        {
            Ok(ended(session, outcome.clone()))
        }
        (Phase::Preparing { .. }, I::Failed { effect, why }) if is_creation(session, &effect) => {
            let tries = session.workspace.tries + 1;
            let again_at = (tries < settings.setup_tries).then(|| now + backoff(tries));
            Ok(vec![E::WorkspaceFailed { why, again_at }])
        }

        // ── starting the process ──
        (Phase::Starting { attempt, then_stop, .. }, I::Launched { attempt: of, process, conversation })
            if of == *attempt =>
        {
            let mut events = vec![E::Launched { process }];
            if let Some(conversation) = conversation.filter(|seen| session.conversation.as_ref() != Some(seen))
                // Somebody else's conversation is not ours to adopt, whatever the agent says.
                && state.owner_of_conversation(&conversation).is_none_or(|owner| owner == session.id)
            {
                events.push(E::ConversationSeen { conversation });
            }
            if let Some(delivery) = &session.outbox.current
                && delivery.with_launch == Some(of)
            {
                events.push(E::Written { delivery: delivery.no, proof_by: now + settings.proof_wait });
            }
            if let Some(outcome) = then_stop {
                events.push(E::Stopping { then: AfterStop::End { outcome: outcome.clone() } });
            }
            Ok(events)
        }
        (Phase::Starting { attempt, then_stop, .. }, I::ConversationGone { attempt: of })
            if of == *attempt =>
        {
            // One fresh start with the original task. It may wait in the outbox still, if it was never accepted.
            let mut events = vec![E::ConversationGone { attempt: of }];
            if !session.outbox.waits_for_task() {
                events.push(E::MessageQueued { message: task_message(session, now), replaces: None });
            }
            let why = "the conversation to resume is gone; starts afresh with the task".to_owned();
            let then = match then_stop {
                Some(outcome) => AfterStop::End { outcome: outcome.clone() },
                None if session.restarts < settings.restarts => {
                    AfterStop::Retry { restarts: session.restarts + 1, at: now, why }
                }
                None => AfterStop::Rest { code: None, why },
            };
            events.push(E::Stopping { then });
            Ok(events)
        }
        (Phase::Starting { attempt, tries, then_stop, .. }, I::Failed { effect, why })
            if effect == (EffectKey::Launch { session: session.id, attempt: *attempt, tries: *tries }) =>
        {
            Ok(vec![if let Some(outcome) = then_stop {
                E::Stopping { then: AfterStop::End { outcome: outcome.clone() } }
            } else if tries + 1 < settings.setup_tries {
                E::LaunchFailed { why, again_at: now + backoff(*tries) }
            } else {
                let why = format!("its process could not be started: {why}");
                E::Stopping { then: AfterStop::Rest { code: None, why } }
            }])
        }

        // ── seeing what it does ──
        (Phase::Running { attempt, .. } | Phase::Starting { attempt, .. }, I::Signal(signal)) => {
            if signal.attempt != *attempt {
                return Err(Refusal::Stale {
                    session: session.id,
                    attempt: signal.attempt,
                    current: *attempt,
                });
            }
            Ok(see(state, session, now, signal))
        }
        (Phase::Running { attempt, .. }, I::Looked { attempt: of, signals }) if of == *attempt => {
            let mut events = Vec::new();
            for signal in signals {
                if signal.attempt == of && !session_leaves(&events) {
                    events.extend(see(state, session, now, signal));
                }
            }
            if events.is_empty() && session.look {
                events.push(E::LookFailed { why: "the look showed nothing new".into() });
            }
            Ok(events)
        }
        (Phase::Running { attempt, .. }, I::Failed { effect: EffectKey::Look { attempt: of, .. }, why })
            if of == *attempt =>
        {
            let blind = Signal {
                attempt: of,
                source: Source::Process,
                at: now,
                confidence: crate::evidence::Confidence::High,
                reading: Reading::Unreadable { why: why.clone() },
            };
            let mut events = see(state, session, now, blind);
            events.push(E::LookFailed { why });
            Ok(events)
        }

        // ── messages ──
        (phase, I::Send(new)) => send(session, phase, now, new),
        (_, I::Withdraw { incident }) => Ok(session
            .outbox
            .waiting
            .iter()
            .filter(|message| message.kind == MessageKind::News { incident: incident.clone() })
            .map(|message| E::MessageWithdrawn { no: message.no })
            .collect()),
        (_, I::Proof { attempt, .. }) if attempt != session.attempt => NOTHING,
        (_, I::Proof { delivery, turn, text, .. }) => Ok(proven(session, delivery, turn, &text)),
        (Phase::Running { attempt, .. }, I::Written { attempt: of, delivery, tries })
            if of == *attempt && is_writing(session, delivery, tries) =>
        {
            Ok(vec![E::Written { delivery, proof_by: now + settings.proof_wait }])
        }
        (Phase::Running { attempt, .. }, I::NotWritten { attempt: of, delivery, tries, why })
            if of == *attempt && is_writing(session, delivery, tries) =>
        {
            let pauses = session.outbox.current.as_ref().map_or(0, |current| current.pauses);
            let until = now + backoff(pauses);
            let mut events = vec![E::DeliveryPaused { delivery, until, counts: false, why }];
            // The evidence called for it and the screen did not: something was not told to us.
            if !session.look {
                events.push(E::LookWanted {});
            }
            Ok(events)
        }
        (
            Phase::Running { attempt, .. },
            I::Failed { effect: EffectKey::Deliver { attempt: of, delivery, tries, .. }, why },
        ) if of == *attempt && is_writing(session, delivery, tries) => {
            Ok(vec![if tries < settings.delivery_tries {
                E::DeliveryPaused { delivery, until: now + backoff(tries), counts: true, why }
            } else {
                E::DeliveryFailed { delivery, why: format!("not accepted: {why}") }
            }])
        }
        (Phase::Running { .. }, I::Flush) => Ok(flush(state, session, now)),
        // A normal end of one turn, and there is more to say.
        (Phase::Exited { code: Some(0), .. }, I::Flush) if !session.outbox.is_empty() => {
            match &session.outbox.current {
                Some(delivery) if delivery.tries >= settings.delivery_tries => Ok(vec![E::DeliveryFailed {
                    delivery: delivery.no,
                    why: "not accepted: the agent ended its turns without taking it".into(),
                }]),
                _ if session.in_vain > settings.restarts => NOTHING,
                _ if session.holds.is_empty() && may_go_on(state, session).is_ok() => {
                    Ok(vec![E::Requeued { why: "a message waits for it".into() }])
                }
                _ => NOTHING,
            }
        }

        // ── the end of a process ──
        (Phase::Stopping { attempt, then, .. }, I::ProcessEnded { attempt: of }) if of == *attempt => {
            let mut events = Vec::new();
            match then {
                AfterStop::End { outcome } => events.extend(ended(session, outcome.clone())),
                other => events.push(other.event()),
            }
            Ok(events)
        }
        (Phase::Stopping { attempt, tries, .. }, I::Failed { effect, why })
            if effect == (EffectKey::End { session: session.id, attempt: *attempt, tries: *tries }) =>
        {
            // Not bounded: a process that may still run is never called ended. From the third try on it is an
            // incident, so a person knows.
            Ok(vec![E::StopFailed { why, again_at: now + backoff(*tries) }])
        }
        (Phase::Ended { .. }, I::Stop { .. } | I::Merged { .. }) => NOTHING,
        (_, I::Stop { by, why }) => Ok(stop(session, Outcome::Stopped { by, why })),
        (_, I::Merged { pull }) => Ok(stop(session, Outcome::Merged { pull })),

        // ── waking it again ──
        (Phase::SetupFailed { .. }, I::Retry | I::Restore) => {
            may_go_on(state, session)?;
            Ok(vec![E::Requeued { why: "tried again".into() }])
        }
        (Phase::Exited { .. }, I::Retry | I::Restore) => {
            may_go_on(state, session)?;
            Ok(vec![E::Requeued { why: "restored".into() }])
        }
        (Phase::Ended { .. }, I::Restore) => restore(state, session),

        // ── holds and budgets ──
        (Phase::Ended { .. }, I::Hold { .. } | I::Release { .. } | I::Spent { .. }) => NOTHING,
        (_, I::Pause { by }) if session.is_live() => {
            Ok(hold(session, HoldKind::Person, format!("paused by {by}")))
        }
        (_, I::Hold { kind, why }) => Ok(hold(session, kind, why)),
        (_, I::Release { kind }) => Ok(release(session, kind)),
        (_, I::Resume { limits }) => resume(session, limits),
        (_, I::Spent { attempt, spend }) if attempt == session.attempt => Ok(spent(session, spend)),

        // ── what it leaves behind ──
        (_, I::PullLinked { pull }) if !session.pulls.contains(&pull) => Ok(vec![E::PullLinked { pull }]),
        (Phase::Ended { .. }, I::Cleanup) => match &session.workspace.state {
            WorkspaceState::Ready | WorkspaceState::Kept { .. } | WorkspaceState::Doubtful => {
                Ok(vec![E::RemovalWanted {}])
            }
            // Gone already, or on its way: what was asked for is so.
            WorkspaceState::None | WorkspaceState::Removed { .. } | WorkspaceState::Removing => NOTHING,
        },
        (_, I::WorkspaceRemoved { tries, rescue }) if is_removing(session, tries) => {
            Ok(vec![E::WorkspaceRemoved { rescue }])
        }
        (_, I::WorkspaceKept { tries, reasons }) if is_removing(session, tries) => {
            Ok(vec![E::WorkspaceKept { reasons }])
        }
        (_, I::Failed { effect: EffectKey::RemoveWorkspace { tries, .. }, why })
            if is_removing(session, tries) =>
        {
            Ok(vec![if tries + 1 < settings.setup_tries {
                E::RemovalFailed { why, again_at: now + backoff(tries) }
            } else {
                E::WorkspaceKept { reasons: vec![KeepReason::RemovalFailed(why)] }
            }])
        }

        (_, I::Due) => due(state, session, moment),

        // Results of what we no longer wait for: a replaced attempt, a try already counted, a delivery already proven.
        (
            _,
            I::WorkspaceReady { .. }
            | I::Launched { .. }
            | I::ConversationGone { .. }
            | I::Written { .. }
            | I::NotWritten { .. }
            | I::Looked { .. }
            | I::ProcessEnded { .. }
            | I::WorkspaceRemoved { .. }
            | I::WorkspaceKept { .. }
            | I::Failed { .. }
            | I::Spent { .. }
            | I::PullLinked { .. }
            | I::Flush,
        ) => NOTHING,
        (_, I::Signal(signal)) => Err(Refusal::NotRunning { session: session.id, attempt: signal.attempt }),
        (_, I::Retry | I::Restore) => Err(Refusal::not_now(session, now, "restored", "it is not at rest")),
        (_, I::Cleanup) => Err(Refusal::not_now(session, now, "cleaned up", "stop it first")),
        (_, I::Pause { .. }) => Err(Refusal::not_now(session, now, "paused", "it has ended")),
    }
}

// ── starting ──

/// Decides how the next process starts: resumed, or afresh with the task; with the first message or without.
pub(crate) fn launch(session: &Session, moment: &Moment, attempt: Attempt) -> Vec<SessionEvent> {
    let abilities = session.spec.agent.abilities;
    let resume = session.conversation_begun && abilities.resume;
    let mut events = Vec::new();
    let mut outbox = Cow::Borrowed(&session.outbox);
    if !resume && session.conversation_begun {
        // The agent remembers nothing. What an earlier process may or may not have taken is to be said again.
        events.push(SessionEvent::ConversationGone { attempt });
        outbox.to_mut().unsend();
        if !outbox.waits_for_task() {
            let task = task_message(session, moment.at);
            outbox.to_mut().queue(&task, None);
            events.push(SessionEvent::MessageQueued { message: task, replaces: None });
        }
    }
    let conversation = match &session.conversation {
        Some(conversation) if resume => conversation.clone(),
        _ => fresh_conversation(session.id, moment),
    };
    // A resumed agent gets its messages typed, unless each of its turns is a launch.
    let delivery = (abilities.prompt_at_launch && (!resume || abilities.one_turn))
        .then(|| match &outbox.current {
            Some(unproven) => Some(Delivery {
                tries: unproven.tries.saturating_add(1),
                with_launch: Some(attempt),
                stage: Stage::Writing,
                ..unproven.clone()
            }),
            None => outbox.compose(Stage::Writing, Some(attempt)),
        })
        .flatten()
        .map(Box::new);
    events.push(SessionEvent::Launching { attempt, conversation, resume, delivery });
    events
}

/// The events that give a queued session its slot.
pub(crate) fn admit(session: &Session, moment: &Moment) -> Vec<SessionEvent> {
    let attempt = session.attempt.next();
    let mut events = vec![SessionEvent::Admitted { attempt }];
    if session.workspace.path().is_some() {
        events.extend(launch(session, moment, attempt));
    }
    events
}

/// Whether the work is still wanted: the task is open and its change has not been merged.
pub(crate) fn may_go_on(state: &State, session: &Session) -> Result<(), Refusal> {
    if let Some(task) = &session.spec.task
        && state.tasks.get(task).is_some_and(|task| task.closed)
    {
        return Err(Refusal::TaskClosed { task: task.clone() });
    }
    match session.pulls.iter().find(|pull| state.pulls.get(pull).is_some_and(|pull| pull.is_merged())) {
        Some(pull) => Err(Refusal::AlreadyMerged { pull: pull.clone() }),
        None => Ok(()),
    }
}

fn restore(state: &State, session: &Session) -> Events {
    if let Phase::Ended { outcome: Outcome::Merged { pull }, .. } = &session.phase {
        return Err(Refusal::AlreadyMerged { pull: pull.clone() });
    }
    may_go_on(state, session)?;
    if let Some(task) = &session.spec.task
        && let Some(owner) = state.live_session_of(task)
    {
        return Err(Refusal::TaskTaken { task: task.clone(), session: owner });
    }
    // Its branch was free while it was gone.
    if let Some(owner) = state.owner_of_branch(&session.spec.project, &session.spec.branch)
        && owner != session.id
    {
        return Err(Refusal::BranchTaken { branch: session.spec.branch.clone(), session: owner });
    }
    if session.workspace.state == WorkspaceState::Removing {
        return Err(Refusal::Invalid {
            what: "its workspace is being removed; try again in a moment".into(),
        });
    }
    Ok(vec![SessionEvent::Requeued { why: "restored".into() }])
}

fn is_creation(session: &Session, effect: &EffectKey) -> bool {
    *effect
        == EffectKey::CreateWorkspace {
            session: session.id,
            attempt: session.attempt,
            tries: session.workspace.tries,
        }
}

fn is_removing(session: &Session, tries: u32) -> bool {
    session.workspace.state == WorkspaceState::Removing && session.workspace.tries == tries
}

// ── seeing ──

/// What a signal means: perhaps nothing, perhaps that the process has ended.
fn see(state: &State, session: &Session, now: Timestamp, mut signal: Signal) -> Vec<SessionEvent> {
    // A source whose clock runs ahead must not outlive everything that is said after it.
    signal.at = signal.at.min(now);
    if session.evidence.weigh(&signal) != Weight::News {
        return vec![];
    }
    let exit = match &signal.reading {
        Reading::Exited { code } => Some(*code),
        _ => None,
    };
    let mut events = vec![SessionEvent::SignalSeen { signal }];
    if let Some(code) = exit {
        events.push(SessionEvent::Stopping { then: after_exit(state, session, now, code) });
    }
    events
}

fn session_leaves(events: &[SessionEvent]) -> bool {
    events.iter().any(|event| matches!(event, SessionEvent::Stopping { .. }))
}

/// What becomes of a session whose process has ended by itself.
fn after_exit(state: &State, session: &Session, now: Timestamp, code: Option<i32>) -> AfterStop {
    if let Phase::Starting { then_stop: Some(outcome), .. } = &session.phase {
        return AfterStop::End { outcome: outcome.clone() };
    }
    let settings = &state.settings;
    let ran = match session.phase {
        Phase::Running { since, .. } => now.since(since),
        _ => std::time::Duration::ZERO,
    };
    let restarts = if ran >= settings.stable_run { 0 } else { session.restarts };
    let how = match code {
        Some(code) => format!("the agent exited with code {code}"),
        None => "the agent was ended by a signal".into(),
    };
    if code == Some(0) {
        return AfterStop::Rest { code, why: how };
    }
    if let Err(refusal) = may_go_on(state, session) {
        return AfterStop::Rest { code, why: format!("{how}; not started again: {refusal}") };
    }
    if restarts >= settings.restarts {
        return AfterStop::Rest { code, why: format!("{how}, and {restarts} restarts did not help") };
    }
    AfterStop::Retry { restarts: restarts + 1, at: now + backoff(restarts), why: how }
}

// ── messages ──

fn send(session: &Session, phase: &Phase, now: Timestamp, new: NewMessage) -> Events {
    if let Phase::Ended { outcome, .. } = phase {
        return Err(Refusal::Ended { session: session.id, outcome: outcome.to_string() });
    }
    if new.body.trim().is_empty() {
        return Err(Refusal::Invalid { what: "the message is empty".into() });
    }
    if new.body.len() > super::outbox::DELIVERY_BYTES {
        return Err(Refusal::Invalid {
            what: format!(
                "the message has {} bytes, more than the {} that fit; put it into a file and send its path",
                new.body.len(),
                super::outbox::DELIVERY_BYTES
            ),
        });
    }
    if new.key.as_deref().is_some_and(|key| session.outbox.sent_with(key).is_some()) {
        return NOTHING;
    }
    let replaces = session.outbox.outdated_by(&new.kind);
    let NewMessage { from, kind, body, interrupt, key } = new;
    let message = Message { no: session.outbox.message_no(), from, kind, body, interrupt, key, queued: now };
    let mut events = vec![SessionEvent::MessageQueued { message, replaces }];
    if matches!(phase, Phase::Exited { .. }) && session.holds.is_empty() {
        events.push(SessionEvent::Requeued { why: "a message waits for it".into() });
    }
    Ok(events)
}

/// What a turn of the agent's proves: the delivery that is under way, or one that was given up too early, or nothing.
fn proven(session: &Session, delivery: Option<u32>, turn: String, text: &str) -> Vec<SessionEvent> {
    let current =
        session.outbox.current.as_ref().filter(|current| carries(text, &current.text) == Carries::Yes);
    match (current, delivery) {
        // The adapter knows which delivery it means.
        (Some(current), Some(no)) if current.no == no => {
            return vec![SessionEvent::Accepted { delivery: no, turn }];
        }
        (_, Some(_)) => return vec![],
        (_, None) if session.outbox.proved_by(&turn) => return vec![],
        (_, None) => {}
    }
    // The elder first: the same words may have been said again after they were given up.
    let late: Vec<u32> = session
        .outbox
        .failed
        .iter()
        .filter(|(message, _)| carries(text, &message.body) == Carries::Yes)
        .map(|(message, _)| message.no)
        .collect();
    if !late.is_empty() {
        return vec![SessionEvent::TakenAfterAll { messages: late, turn }];
    }
    current.map(|current| SessionEvent::Accepted { delivery: current.no, turn }).into_iter().collect()
}

/// The task as the first message of a conversation.
pub(crate) fn task_message(session: &Session, now: Timestamp) -> Message {
    Message {
        no: session.outbox.message_no(),
        from: Sender::Daemon,
        kind: MessageKind::Task,
        body: session.spec.prompt.clone(),
        interrupt: false,
        key: None,
        queued: now,
    }
}

fn is_writing(session: &Session, delivery: u32, tries: u32) -> bool {
    session.outbox.current.as_ref().is_some_and(|current| {
        current.no == delivery && current.tries == tries && current.stage == Stage::Writing
    })
}

fn flush(state: &State, session: &Session, now: Timestamp) -> Vec<SessionEvent> {
    match session.outbox_next(now, &state.settings) {
        Next::Nothing | Next::At(_) => vec![],
        Next::Start => session
            .outbox
            .compose(Stage::Writing, None)
            .map(|delivery| SessionEvent::DeliveryStarted { delivery: Box::new(delivery) })
            .into_iter()
            .collect(),
        Next::Retry => session
            .outbox
            .current
            .iter()
            .map(|delivery| SessionEvent::DeliveryRetried { delivery: delivery.no })
            .collect(),
        Next::GiveUp => session
            .outbox
            .current
            .iter()
            .map(|delivery| SessionEvent::DeliveryFailed {
                delivery: delivery.no,
                why: format!("not accepted after {} tries", delivery.tries),
            })
            .collect(),
    }
}

// ── ending ──

fn stop(session: &Session, outcome: Outcome) -> Vec<SessionEvent> {
    match &session.phase {
        // Nothing is under way while a try waits for its time.
        Phase::Preparing { .. } if session.workspace.again_at.is_some() => ended(session, outcome),
        Phase::Preparing { .. } => vec![SessionEvent::StopWanted { outcome }],
        Phase::Starting { again_at: None, .. } if session.holds.is_empty() => {
            vec![SessionEvent::StopWanted { outcome }]
        }
        Phase::Stopping { then: AfterStop::End { .. }, .. } => vec![],
        Phase::Starting { .. } | Phase::Running { .. } | Phase::Stopping { .. } => {
            vec![SessionEvent::Stopping { then: AfterStop::End { outcome } }]
        }
        Phase::Queued { .. } | Phase::SetupFailed { .. } | Phase::Retrying { .. } | Phase::Exited { .. } => {
            ended(session, outcome)
        }
        Phase::Ended { .. } => vec![],
    }
}

fn ended(session: &Session, outcome: Outcome) -> Vec<SessionEvent> {
    let mut events = Vec::new();
    if !session.outbox.is_empty() {
        events.push(SessionEvent::MessagesDropped { why: format!("the session ended: {outcome}") });
    }
    events.extend(session.holds.keys().map(|kind| SessionEvent::Released { kind: *kind }));
    events.push(SessionEvent::Ended { outcome });
    // Nobody has worked in it, and nobody knows whether it is there: that is cleared up at once, by the gate.
    if session.workspace.state == WorkspaceState::Doubtful {
        events.push(SessionEvent::RemovalWanted {});
    }
    events
}

// ── holds and budgets ──

fn hold(session: &Session, kind: HoldKind, why: String) -> Vec<SessionEvent> {
    if session.holds.contains_key(&kind) {
        return vec![];
    }
    let mut events = vec![SessionEvent::Held { kind, why }];
    // Its launch may not come any more, so a stop that waits for it goes ahead.
    if let Phase::Starting { then_stop: Some(outcome), .. } = &session.phase {
        events.push(SessionEvent::Stopping { then: AfterStop::End { outcome: outcome.clone() } });
    }
    events
}

fn release(session: &Session, kind: HoldKind) -> Vec<SessionEvent> {
    if session.holds.contains_key(&kind) { vec![SessionEvent::Released { kind }] } else { vec![] }
}

fn resume(session: &Session, limits: Option<Limits>) -> Events {
    let in_force = limits.unwrap_or(session.limits);
    if session.holds.contains_key(&HoldKind::Budget)
        && let Some(reached) = in_force.reached(&session.spend)
    {
        return Err(Refusal::Budget { session: session.id, reached: reached.to_string() });
    }
    let mut events = Vec::new();
    if let Some(limits) = limits {
        events.push(SessionEvent::LimitsSet { limits });
    }
    events.extend(release(session, HoldKind::Budget));
    events.extend(release(session, HoldKind::Person));
    Ok(events)
}

fn spent(session: &Session, report: Spend) -> Vec<SessionEvent> {
    let spend = session.spend.later(report);
    if spend == session.spend {
        return vec![];
    }
    let mut events = vec![SessionEvent::Spent { spend }];
    if let Some(reached) = session.limits.reached(&spend) {
        events.extend(hold(session, HoldKind::Budget, format!("its budget is spent: {reached}")));
    } else if let Some(mark) = session.limits.nearly_reached(&spend)
        && !session.budget_marked
    {
        events.push(SessionEvent::BudgetMarked { mark: mark.to_string() });
    }
    events
}

// ── time ──

/// What has become due. [`Session::due`] says when to ask.
fn due(state: &State, session: &Session, moment: &Moment) -> Events {
    use SessionEvent as E;
    let now = moment.at;
    if session.again_at().is_some_and(|at| at <= now) {
        return Ok(vec![E::DelayOver {}]);
    }
    Ok(match &session.phase {
        Phase::Retrying { at, why } if *at <= now && session.holds.is_empty() => {
            match may_go_on(state, session) {
                Ok(()) => launch(session, moment, session.attempt.next()),
                Err(refusal) => {
                    vec![E::Exited { code: None, why: format!("{why}; not started again: {refusal}") }]
                }
            }
        }
        Phase::Running { .. } => {
            let mut events = flush(state, session, now);
            if session.look_at(&state.settings).is_some_and(|at| at <= now) {
                events.push(E::LookWanted {});
            }
            events
        }
        Phase::Ended { at, .. }
            if *at + state.settings.keep_ended <= now && !session.workspace.may_exist() =>
        {
            vec![E::Archived { pulls: session.pulls.clone() }]
        }
        _ => vec![],
    })
}

impl Session {
    /// When time alone will change something, if nothing else does before.
    pub(crate) fn due(&self, settings: &crate::settings::Settings) -> Option<Timestamp> {
        match &self.phase {
            Phase::Retrying { at, .. } => self.holds.is_empty().then_some(*at),
            Phase::Running { .. } => {
                // Asked as of long ago, so that what is already due is a time in the past and not "now".
                let outbox = match self.outbox_next(Timestamp(i64::MIN), settings) {
                    Next::At(at) => Some(at),
                    Next::Nothing | Next::Start | Next::Retry | Next::GiveUp => None,
                };
                [outbox, self.look_at(settings)].into_iter().flatten().min()
            }
            Phase::Ended { at, .. } if !self.workspace.may_exist() => Some(*at + settings.keep_ended),
            _ => self.again_at(),
        }
    }

    /// When a try that failed is made again.
    fn again_at(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Preparing { .. } | Phase::Ended { .. } => self.workspace.again_at,
            Phase::Starting { again_at, .. } | Phase::Stopping { again_at, .. } => *again_at,
            _ => None,
        }
    }

    /// When somebody should look at the agent, because it has been quiet although it should not be.
    fn look_at(&self, settings: &crate::settings::Settings) -> Option<Timestamp> {
        let unsure =
            matches!(self.judgement.activity, Activity::Starting | Activity::Working | Activity::Unknown);
        (unsure && !self.look).then(|| self.looked + settings.look_after)
    }
}
