//! The next process of a session: its slot, its conversation, perhaps a first message; and the conditions for it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::holds::spent_budget;
use super::say::{daemon_message, says_go_on, task_message};
use super::{
    Delivery, DeliveryStage, Message, MessageKind, Outbox, Phase, Session, SessionEvent, SessionOutcome,
};
use crate::refusal::Refusal;
use crate::state::State;
use crate::workspace::WorkspaceState;
use crate::{Attempt, ConversationId, Moment, SessionId, Timestamp};

/// Decides how the next process starts: resumed, or afresh with the task; with or without a first message.
pub(super) fn launch(session: &Session, moment: &Moment, attempt: Attempt) -> Vec<SessionEvent> {
    let abilities = session.spec.agent.abilities;
    let resume = session.launch.begun && abilities.resume;
    let mut events = Vec::new();
    let mut outbox = Cow::Borrowed(&session.outbox);
    if !resume && session.launch.begun {
        // The agent remembers nothing. Messages that an earlier process may have taken are sent again.
        events.push(SessionEvent::ConversationGone { attempt });
        outbox.to_mut().unsend();
    }
    for message in before_launch(session, &outbox, resume, moment.at) {
        let message = Message { no: outbox.message_no(), ..message };
        outbox.to_mut().queue(&message, None);
        events.push(SessionEvent::MessageQueued { message, replaces: None });
    }
    let conversation = match &session.launch.conversation {
        Some(conversation) if resume => conversation.clone(),
        _ => fresh_conversation(session.id, moment),
    };
    // A resumed agent gets its messages typed, unless each of its turns is a launch.
    let delivery = (abilities.prompt_at_launch && (!resume || abilities.one_turn))
        .then(|| match &outbox.current {
            Some(unproven) => Some(Delivery {
                tries: unproven.tries.saturating_add(1),
                with_launch: Some(attempt),
                stage: DeliveryStage::Writing,
                ..unproven.clone()
            }),
            // One turn for all of it: each turn is a process, and costs money.
            None if abilities.one_turn && (!resume || session.left_a_turn()) => {
                outbox.compose_whole(DeliveryStage::Writing, Some(attempt))
            }
            None => outbox.compose(DeliveryStage::Writing, Some(attempt)),
        })
        .flatten()
        .map(Box::new);
    events.push(SessionEvent::Launching { attempt, conversation, resume, delivery });
    events
}

/// Returns the messages that the next process needs besides those that wait.
fn before_launch(session: &Session, outbox: &Outbox, resume: bool, now: Timestamp) -> Vec<Message> {
    let mut messages = Vec::new();
    // The task may have been given up with an earlier stop, or be lost with the conversation.
    if !(outbox.waits_for_task() || resume && session.launch.task_taken) {
        messages.push(task_message(session, now));
    }
    if !resume {
        // The messages of the interrupted turn are lost with the conversation.
        let again = session.resume.unfinished.iter().filter(|message| message.kind != MessageKind::Task);
        messages.extend(again.map(|message| Message { key: None, queued: now, ..message.clone() }));
        return messages;
    }
    let is_redelivered = outbox.current.is_some();
    if session.left_a_turn() && !is_redelivered && !outbox.waiting.iter().any(says_go_on) {
        let body = "Your last turn was cut off before its end. See what is done already, and go on.";
        messages.push(daemon_message(session, now, body));
    } else if session.spec.agent.abilities.one_turn && outbox.is_empty() && messages.is_empty() {
        messages.push(daemon_message(session, now, STARTED_AGAIN));
    }
    messages
}

/// The text for an agent that is resumed without other messages.
const STARTED_AGAIN: &str = "You were stopped and are started again. See what is done already, and go on.";

/// Resumes a resting session on a person's request. One that crashed before its work was done is asked to continue:
/// the person wants the work done, and at its prompt it would wait forever.
pub(super) fn restored(session: &Session, now: Timestamp, runtime: Option<String>) -> Vec<SessionEvent> {
    let crashed = matches!(session.phase, Phase::Exited { code, .. } if code != Some(0));
    let is_silent = session.outbox.is_empty() && session.launch.task_taken && !session.left_a_turn();
    let mut events = vec![requeued(session, "restored", runtime)];
    if crashed && is_silent && session.leaves_work() && session.spec.agent.abilities.resume {
        let message = daemon_message(session, now, STARTED_AGAIN);
        events.push(SessionEvent::MessageQueued { message, replaces: None });
    }
    events
}

/// Returns the events that give a queued session its slot.
pub(crate) fn admit(session: &Session, moment: &Moment, ports: BTreeMap<String, u16>) -> Vec<SessionEvent> {
    let attempt = session.attempt.next();
    let mut events = vec![SessionEvent::Admitted { attempt, ports }];
    if session.workspace.is_set_up() {
        events.extend(launch(session, moment, attempt));
    }
    events
}

/// Refuses if the work is not wanted any more: the task is closed, or its change was merged.
pub(crate) fn may_go_on(state: &State, session: &Session) -> Result<(), Refusal> {
    if let Some(task) = &session.spec.task
        && state.tasks.get(task).is_some_and(|task| task.closed)
    {
        return Err(Refusal::TaskClosed { task: task.clone() });
    }
    let pulls = || session.pulls.iter().filter_map(|id| state.pulls.get(id));
    match pulls().find(|pull| pull.is_merged()) {
        // If there are several, the others may still need it.
        Some(merged) if !pulls().any(|pull| pull.is_open()) => {
            Err(Refusal::AlreadyMerged { pull: merged.id.clone() })
        }
        _ => Ok(()),
    }
}

/// Wakes a session whose process has ended, if a message waits for it.
pub(super) fn wake(state: &State, session: &Session, now: Timestamp) -> Vec<SessionEvent> {
    let code = match session.phase {
        Phase::Exited { code, .. } => code,
        // It was ended while idle, so it counts as a success.
        Phase::Resting { .. } => Some(0),
        _ => return vec![],
    };
    let settings = &state.settings;
    if session.outbox.is_empty() || !session.holds.is_empty() || may_go_on(state, session).is_err() {
        return vec![];
    }
    match &session.outbox.current {
        // Its exit was seen before all its output was read.
        Some(Delivery { stage: DeliveryStage::Written { proof_by }, .. }) if now < *proof_by => return vec![],
        Some(delivery) if delivery.tries >= settings.delivery_tries => {
            return vec![SessionEvent::DeliveryFailed {
                delivery: delivery.no,
                why: "not accepted: the agent ended its turns without taking it".into(),
            }];
        }
        _ => {}
    }
    // After a crash that restarts did not fix, only a newer message justifies another try.
    let reason =
        code == Some(0) || session.outbox.waiting.iter().any(|message| message.queued >= session.stopped);
    if reason && session.launch.fruitless <= settings.restarts {
        vec![SessionEvent::Requeued { why: "a message waits for it".into(), runtime: None }]
    } else {
        vec![]
    }
}

/// Refuses a restore that is not possible. Advice of one asks this first.
pub(crate) fn may_restore(state: &State, session: &Session, now: Timestamp) -> Result<(), Refusal> {
    match session.phase {
        Phase::Exited { .. } if session.rests_after_turn() => {
            let why = "its turn is over; `ao send` gives it more to do";
            Err(Refusal::not_now(session, now, "restored", why))
        }
        Phase::SetupFailed { .. } | Phase::Exited { .. } | Phase::Resting { .. } => may_go_on(state, session),
        Phase::Ended { .. } => may_begin_again(state, session),
        _ => Err(Refusal::not_now(session, now, "restored", "it is not at rest")),
    }
}

/// Returns the refusal of a request that a session which has ended cannot fulfil.
pub(super) fn has_ended(state: &State, session: &Session, now: Timestamp) -> Refusal {
    Refusal::Ended {
        session: session.id,
        name: session.spec.name.clone(),
        outcome: session.status(now).reason,
        restorable: may_restore(state, session, now).is_ok(),
    }
}

/// Refuses if a session that has ended may not come back: its work is not wanted, or another one has taken its place.
fn may_begin_again(state: &State, session: &Session) -> Result<(), Refusal> {
    if let Phase::Ended { outcome: SessionOutcome::Merged { pull }, .. } = &session.phase {
        return Err(Refusal::AlreadyMerged { pull: pull.clone() });
    }
    // The end of a session ends its holds, but not its spending.
    if let Some(reached) = session.usage.limits.reached(&session.usage.spend) {
        return Err(spent_budget(session, &reached));
    }
    may_go_on(state, session)?;
    if let Some(task) = &session.spec.task
        && let Some(owner) = state.live_session_of(task)
    {
        let name = state.name_of(owner);
        return Err(Refusal::TaskTaken { task: task.clone(), session: owner, name });
    }
    // Its branch was free while it was gone.
    if let Some(owner) = state.owner_of_branch(&session.spec.project, &session.spec.branch)
        && owner != session.id
    {
        let name = state.name_of(owner);
        return Err(Refusal::BranchTaken { branch: session.spec.branch.clone(), session: owner, name });
    }
    if session.workspace.state == WorkspaceState::Removing {
        return Err(Refusal::Invalid {
            what: "its workspace is being removed; try again in a moment".into(),
        });
    }
    Ok(())
}

/// Puts a resting session back into the queue, possibly for another runtime. Nothing of it runs in the previous one:
/// it rests only when its last process has ended.
pub(super) fn requeued(session: &Session, why: &str, runtime: Option<String>) -> SessionEvent {
    let runtime = runtime.filter(|runtime| *runtime != session.spec.runtime);
    SessionEvent::Requeued { why: why.to_owned(), runtime }
}

/// Returns a new conversation id of the form that most agents accept: a version 4 UUID, made from the moment's seed.
///
/// The session is part of the seed, because one moment may admit several of them.
fn fresh_conversation(session: SessionId, moment: &Moment) -> ConversationId {
    let seed = crate::mix(moment.seed, session.0);
    let high = crate::mix(seed, 1);
    let low = crate::mix(seed, 2);
    ConversationId::new(&format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | ((low >> 48) & 0x3fff),
        low & 0xffff_ffff_ffff
    ))
}
