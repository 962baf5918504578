//! Folds what happened into a session. Cannot fail, and acts on nothing.

use std::time::Duration;

use super::{AfterStop, Hold, HoldKind, LastDialog, MessageKind, Phase, Session, SessionEvent, Stage};
use crate::Timestamp;
use crate::evidence::{Activity, Confidence, Evidence, Reading, Signal, Source, judge, same_question};
use crate::text::same_words;
use crate::workspace::{Workspace, WorkspaceState};

pub(crate) fn evolve(session: &mut Session, event: &SessionEvent, at: Timestamp) {
    use SessionEvent as E;
    match event {
        E::Queued { .. } | E::Archived { .. } => {}

        // ── from the queue to a running process ──
        E::Admitted { attempt, ports } => {
            session.attempt = *attempt;
            session.ports = ports.clone();
            session.phase = Phase::Preparing { attempt: *attempt, then_stop: None };
            // A tree that was to be removed and was kept is as good as new for its own session.
            if let WorkspaceState::Kept { .. } = session.workspace.state
                && session.workspace.tree.is_some()
            {
                session.workspace.becomes(WorkspaceState::Ready);
            }
        }
        E::WorkspaceReady { path, base, set_up } => {
            session.workspace = Workspace::ready(path, base, *set_up);
        }
        E::WorkspaceSetUp {} => {
            session.workspace.set_up = true;
            session.workspace.tries = 0;
        }
        E::SetupFailed { why } => {
            session.workspace.tries = 0;
            session.workspace.again_at = None;
            give_ports_back(session);
            session.phase = Phase::SetupFailed { why: why.clone() };
        }
        E::WorkspaceFailed { why, again_at } => {
            session.workspace.tries = session.workspace.tries.saturating_add(1);
            session.workspace.again_at = *again_at;
            // A tree that is there stays there, however its set-up goes.
            if session.workspace.state != WorkspaceState::Ready {
                session.workspace.state = WorkspaceState::Doubtful;
            }
            if again_at.is_none() {
                session.workspace.tries = 0;
                give_ports_back(session);
                session.phase = Phase::SetupFailed { why: why.clone() };
            }
        }
        E::Launching { attempt, conversation, resume, delivery } => {
            session.attempt = *attempt;
            session.phase = Phase::Starting { attempt: *attempt, tries: 0, again_at: None, then_stop: None };
            session.process = None;
            session.spent_before = session.spend;
            session.fruitless_launches = session.fruitless_launches.saturating_add(1);
            session.conversation = Some(conversation.clone());
            session.conversation_begun = *resume;
            session.evidence = Evidence::of(*attempt, at);
            session.look = false;
            session.looked = at;
            session.answer = None;
            session.drift = None;
            // What was left of the last turn is in the outbox now.
            session.unfinished.clear();
            session.last_words = None;
            match delivery {
                Some(delivery) => session.outbox.start(delivery),
                // Whether the earlier attempt took it is for the adapter to find out, from the conversation.
                None => pause_current(session, at),
            }
            rejudge(session, at);
        }
        E::LaunchFailed { again_at: next, .. } => {
            if let Phase::Starting { tries, again_at, .. } = &mut session.phase {
                *tries = tries.saturating_add(1);
                *again_at = Some(*next);
            }
        }
        E::PortsLeased { ports, refused } => {
            session.ports = ports.clone();
            session.ports_refused.insert(*refused);
        }
        E::Launched { process } => {
            session.phase = Phase::Running { attempt: session.attempt, since: at };
            session.process = Some(process.clone());
            session.conversation_begun = true;
            session.launches = session.launches.saturating_add(1);
        }
        E::ConversationSeen { conversation } => session.conversation = Some(conversation.clone()),
        E::ConversationGone { .. } => {
            session.task_taken = false;
            session.conversation = None;
            session.conversation_begun = false;
            session.outbox.unsend();
        }

        // ── what is seen of it ──
        E::SignalSeen { signal } => {
            // News makes a look superfluous; that the process lives is none, or a census would stand in for every look.
            if signal.source != Source::Process && signal.reading != Reading::HumanTyped {
                session.looked = at;
            }
            match signal.reading {
                Reading::Limited { .. } => session.cut_short = true,
                Reading::Working { .. } | Reading::Asking { .. } => session.cut_short = false,
                // Some agents exit with 0 when the provider refuses more.
                Reading::Exited { code: Some(0) } if session.met_a_limit() => {}
                Reading::Exited { code: Some(0) } => {
                    session.cut_short = false;
                    session.unfinished.clear();
                }
                Reading::Exited { .. } | Reading::Unheld => {
                    session.cut_short |=
                        matches!(session.judgement.activity, Activity::Working | Activity::NeedsInput);
                }
                _ => {}
            }
            let another = asks_something_else(session, signal);
            session.evidence.record(signal);
            if another {
                session.dialog = None;
                session.last_dialog = None;
            }
            rejudge(session, at);
            if signal.reading == Reading::Idle && ends_turn(session, signal) {
                session.unfinished.clear();
            }
            if session.judgement.activity == Activity::NeedsInput
                && let Reading::Asking { question } = &signal.reading
            {
                if another {
                    session.activity_since = at;
                }
                if let Some(dialog) = &mut session.last_dialog {
                    dialog.words.insert(signal.source, question.clone());
                }
            }
        }
        E::Rejudged {} => rejudge(session, at),
        E::LookWanted {} => session.look = true,
        E::Looked {} | E::LookFailed { .. } => {
            session.look = false;
            session.placed = at;
            session.looked = at;
            rejudge(session, at);
        }

        E::Drifted { what } => session.drift = Some(what.clone()),
        E::DriftEnded {} => session.drift = None,
        E::TreeLost { .. } => {
            let rescue = session.workspace.rescue.take();
            session.workspace = Workspace { rescue, ..Workspace::default() };
            session.phase = Phase::Preparing { attempt: session.attempt, then_stop: None };
        }
        E::CheckoutChanged { checked_out } => session.checked_out = checked_out.clone(),
        E::Answering { answer } => {
            session.answers = answer.number;
            session.answer = Some(answer.clone());
        }
        E::Answered { .. } => {
            session.answer = None;
            session.dialog = None;
            session.answered = Some(at);
        }
        E::NotAnswered { .. } => session.answer = None,

        // ── the end of a process ──
        E::StopWanted { outcome } => match &mut session.phase {
            Phase::Preparing { then_stop, .. } | Phase::Starting { then_stop, .. } => {
                *then_stop = Some(outcome.clone());
            }
            _ => {}
        },
        E::Stopping { then } => {
            session.look = false;
            session.answer = None;
            session.stopped = at;
            if let Phase::Running { since, .. } = session.phase {
                session.ran = session.ran.saturating_add(at.since(since).as_secs());
            }
            match &mut session.phase {
                // Its end is under way already; only what comes after it changes.
                Phase::Stopping { then: after, .. } => *after = then.clone(),
                phase => {
                    *phase = Phase::Stopping {
                        attempt: session.attempt,
                        then: then.clone(),
                        tries: 0,
                        again_at: None,
                    };
                }
            }
        }
        E::StopFailed { again_at: next, .. } => {
            if let Phase::Stopping { tries, again_at, .. } = &mut session.phase {
                *tries = tries.saturating_add(1);
                *again_at = Some(*next);
            }
        }
        E::DelayOver {} => {
            session.workspace.again_at = None;
            if let Phase::Starting { again_at, .. } | Phase::Stopping { again_at, .. } = &mut session.phase {
                *again_at = None;
            }
        }
        E::Retrying { restarts, at: again, why } => {
            session.process = None;
            session.restarts = *restarts;
            session.phase = Phase::Retrying { at: *again, why: why.clone() };
        }
        E::Exited { code, why } => {
            session.process = None;
            give_ports_back(session);
            session.phase = Phase::Exited { at, code: *code, why: why.clone() };
        }
        E::Rested { why } => {
            session.process = None;
            give_ports_back(session);
            session.phase = Phase::Resting { at, why: why.clone() };
        }
        E::Ended { outcome } => {
            session.process = None;
            give_ports_back(session);
            session.cleared = false;
            session.phase = Phase::Ended { outcome: outcome.clone(), at };
        }
        E::Requeued { runtime, .. } => {
            if let Some(runtime) = runtime {
                session.spec.runtime.clone_from(runtime);
            }
            session.restarts = 0;
            give_ports_back(session);
            session.phase = Phase::Queued { since: at };
        }

        // ── messages ──
        E::MessageQueued { message, replaces } => {
            // The task that is said again is no new reason to hope.
            if message.kind != MessageKind::Task {
                session.fruitless_launches = 0;
            }
            session.outbox.queue(message, *replaces);
        }
        E::MessageWithdrawn { no, .. } => session.outbox.withdraw(*no),
        E::MessagesDropped { why } => session.outbox.drop_all(why),
        E::DeliveryStarted { delivery } => session.outbox.start(delivery),
        E::Written { proof_by, .. } => set_stage(session, Stage::Written { proof_by: *proof_by }),
        E::DeliveryPaused { until, counts, .. } => {
            if let Some(current) = &mut session.outbox.current {
                current.pauses = current.pauses.saturating_add(1);
            }
            set_stage(session, Stage::Paused { until: *until, counts: *counts });
        }
        E::DeliveryRetried { .. } => {
            if let Some(current) = &mut session.outbox.current {
                if !matches!(current.stage, Stage::Paused { counts: false, .. }) {
                    current.tries = current.tries.saturating_add(1);
                }
                current.with_launch = None;
            }
            set_stage(session, Stage::Writing);
        }
        E::Accepted { delivery, turn } => {
            session.took = Some(at);
            session.fruitless_launches = 0;
            session.turns = session.turns.saturating_add(1);
            session.task_taken |= session.outbox.carries_task(*delivery);
            let messages = session.outbox.accept(*delivery, turn);
            session.unfinished = if has_ended_well(&session.phase) { vec![] } else { messages };
        }
        E::TakenAfterAll { messages, turn } => {
            session.took = Some(at);
            session.turns = session.turns.saturating_add(1);
            session.task_taken |= session.outbox.take_after_all(messages, turn);
        }
        E::DeliveryFailed { delivery, why } => session.outbox.fail(*delivery, why),

        // ── holds and budgets ──
        E::Held { kind, why } => {
            // Held on for another reason of the same kind, it keeps its place in the line.
            let since = session.holds.get(kind).map_or(at, |hold| hold.since);
            session.holds.insert(*kind, Hold { why: why.clone(), since });
            if *kind == HoldKind::Account {
                session.resume_at = None;
            }
        }
        E::Released { kind } => {
            session.holds.remove(kind);
            if *kind == HoldKind::Account {
                session.resume_at = None;
                session.cut_short = false;
            }
        }
        E::Cleared {} => session.cleared = true,
        E::WaitedEnough {} => session.waited = true,
        E::ResumePlanned { at: then } => session.resume_at = Some(*then),
        E::Lingered {} => session.lingers = Some(session.activity_since),
        E::Spent { spend } => session.spend = *spend,
        E::ToolDenied { call, tool } => session.denied.record(call, tool, at),
        E::LastWords { text } => session.last_words = Some(text.clone()),
        E::BudgetMarked { .. } => session.budget_marked = true,
        E::LimitsSet { limits } => {
            session.limits = *limits;
            session.budget_marked = false;
        }

        // ── what it leaves behind ──
        E::PullUnlinked { pull } => {
            session.pulls.remove(pull);
        }
        E::PullLinked { pull } => {
            session.pulls.insert(pull.clone());
        }
        E::RemovalWanted { discard } => {
            session.workspace.becomes(WorkspaceState::Removing);
            session.workspace.discard = *discard;
        }
        E::RemovalFailed { again_at, .. } => {
            session.workspace.tries = session.workspace.tries.saturating_add(1);
            session.workspace.again_at = Some(*again_at);
        }
        E::WorkspaceRemoved { rescue } => {
            session.workspace.becomes(WorkspaceState::Removed);
            session.workspace.removed = Some(at);
            session.workspace.rescue = rescue.clone().or(session.workspace.rescue.take());
        }
        E::WorkspaceKept { reasons } => {
            session.workspace.becomes(WorkspaceState::Kept { reasons: reasons.clone() });
        }
    }
}

/// Tells whether the process has ended with 0: then its turn is over, also if the proof that it had one is read only now.
fn has_ended_well(phase: &Phase) -> bool {
    matches!(
        phase,
        Phase::Exited { code: Some(0), .. }
            | Phase::Stopping { then: AfterStop::Rest { code: Some(0), .. }, .. }
    )
}

/// Its ports are free for others, and what was wrong with some of them may be so no longer.
fn give_ports_back(session: &mut Session) {
    let ports = std::mem::take(&mut session.ports);
    if !ports.is_empty() {
        session.ports_before = ports;
    }
    session.ports_refused.clear();
}

/// Returns true if the agent has ended its turn: it says so itself, or its screen was seen idle after it took the message. A
/// screen lags behind and shows the old prompt for a moment.
fn ends_turn(session: &Session, idle: &Signal) -> bool {
    idle.confidence == Confidence::High || session.took.is_none_or(|took| took <= idle.at)
}

/// Returns whether a dialog has given way to another, with nothing seen in between.
///
/// A source that has other words than before speaks of another dialog, and so does one that has other words than the others.
/// Hooks alone speak of one dialog in several ways, first as a request and then as a reminder, so while the screen is read,
/// the screen alone tells.
fn asks_something_else(session: &Session, signal: &Signal) -> bool {
    let Reading::Asking { question } = &signal.reading else { return false };
    let Some(dialog) = &session.last_dialog else { return false };
    match dialog.words.get(&signal.source) {
        _ if signal.source == Source::Hook && dialog.words.contains_key(&Source::Terminal) => false,
        Some(before) => !same_words(before, question),
        None => {
            !dialog.words.is_empty() && !dialog.words.values().any(|known| same_question(known, question))
        }
    }
}

/// For so long a dialog may be hidden by a report that has overtaken it, or was late.
const HIDDEN: Duration = Duration::from_secs(3);

/// Since when a dialog is open that has just come up, if it is one that was hidden for a moment only: since it was first seen. A
/// person who has typed meanwhile, or answered otherwise, may have closed it, and what is asked then is asked again.
fn hidden_since(session: &Session, question: &str, at: Timestamp) -> Option<Timestamp> {
    let last = session.last_dialog.as_ref()?;
    let closed = |then: Option<Timestamp>| then.is_some_and(|then| then >= last.seen);
    let is_hidden = at.since(last.seen) < HIDDEN
        && !closed(session.evidence.human_typed)
        && !closed(session.answered)
        && same_question(&last.question, question);
    is_hidden.then_some(last.since)
}

/// For so long after an answer the same dialog is not taken for a new one.
const JUST_ANSWERED: Duration = Duration::from_secs(3);

/// Returns whether it shows for a moment longer what was just answered.
fn is_answered(session: &Session, question: &str, at: Timestamp) -> bool {
    let just = session.answered.is_some_and(|then| at.since(then) < JUST_ANSWERED);
    just && session.last_dialog.as_ref().is_some_and(|last| same_question(&last.question, question))
}

fn rejudge(session: &mut Session, at: Timestamp) {
    let judgement = judge(&session.evidence, at);
    if judgement.activity != session.judgement.activity {
        session.activity_since = at;
    }
    match judgement.activity {
        Activity::NeedsInput if session.dialog.is_none() && is_answered(session, &judgement.detail, at) => {}
        Activity::NeedsInput => {
            let question = judgement.detail.clone();
            let hidden = session.dialog.or_else(|| hidden_since(session, &question, at));
            let words = session.last_dialog.take().filter(|_| hidden.is_some()).map(|last| last.words);
            if hidden.is_none() {
                session.questions = session.questions.saturating_add(1);
            }
            let since = hidden.unwrap_or(at);
            session.dialog = Some(since);
            session.last_dialog =
                Some(LastDialog { since, question, seen: at, words: words.unwrap_or_default() });
        }
        Activity::Unknown | Activity::Starting => {}
        _ => session.dialog = None,
    }
    session.judgement = judgement;
    session.judged = at;
}

fn set_stage(session: &mut Session, stage: Stage) {
    if let Some(current) = &mut session.outbox.current {
        current.stage = stage;
    }
}

fn pause_current(session: &mut Session, until: Timestamp) {
    if let Some(current) = &mut session.outbox.current {
        current.with_launch = None;
        current.stage = Stage::Paused { until, counts: true };
    }
}

impl AfterStop {
    /// The event that comes true once the process is gone.
    pub(super) fn event(&self) -> SessionEvent {
        match self.clone() {
            AfterStop::End { outcome } => SessionEvent::Ended { outcome },
            AfterStop::Retry { restarts, at, why } => SessionEvent::Retrying { restarts, at, why },
            AfterStop::Rest { code, why } => SessionEvent::Exited { code, why },
            AfterStop::GiveWay { why } => SessionEvent::Rested { why },
        }
    }
}
