//! Folds events into a session. Cannot fail, and acts on nothing.

use super::{
    AfterStop, CancelState, DeliveryStage, HoldKind, LaunchState, MessageKind, Phase, Session, SessionEvent,
    SessionHold, WatchState,
};
use crate::agent_report::TurnEnd;
use crate::evidence::{
    AgentActivity, Confidence, Evidence, Reading, Signal, SignalSource, is_generic, judge,
};
use crate::workspace::{SessionWorkspace, WorkspaceState};
use crate::{ConversationId, Timestamp};

pub(crate) fn evolve(session: &mut Session, event: &SessionEvent, at: Timestamp) {
    use SessionEvent as E;
    match event {
        E::Queued { .. } | E::Archived { .. } => {}

        // ── from the queue to a running process ──
        E::Admitted { attempt, ports } => {
            session.attempt = *attempt;
            session.ports.held = ports.clone();
            session.phase = Phase::Preparing { attempt: *attempt, then_stop: None };
            // A tree whose removal was refused can be used again by its own session.
            if let WorkspaceState::Kept { .. } = session.workspace.state
                && session.workspace.tree.is_some()
            {
                session.workspace.becomes(WorkspaceState::Ready);
            }
        }
        E::WorkspaceReady { path, base, set_up } => {
            session.workspace = SessionWorkspace::ready(path, base, *set_up);
        }
        E::WorkspaceSetUp {} => {
            session.workspace.set_up = true;
            session.workspace.tries = 0;
        }
        E::SetupFailed { why } => {
            session.workspace.tries = 0;
            session.workspace.again_at = None;
            session.ports.give_back();
            session.phase = Phase::SetupFailed { why: why.clone() };
        }
        E::WorkspaceFailed { why, again_at } => {
            session.workspace.tries = session.workspace.tries.saturating_add(1);
            session.workspace.again_at = *again_at;
            // An existing tree stays, even if its set-up fails.
            if session.workspace.state != WorkspaceState::Ready {
                session.workspace.state = WorkspaceState::Doubtful;
            }
            if again_at.is_none() {
                session.workspace.tries = 0;
                session.ports.give_back();
                session.phase = Phase::SetupFailed { why: why.clone() };
            }
        }
        E::Launching { attempt, conversation, resume, delivery } => {
            session.attempt = *attempt;
            session.phase = Phase::Starting { attempt: *attempt, tries: 0, again_at: None, then_stop: None };
            session.process = None;
            session.usage.before = session.usage.spend;
            session.launch.begin(conversation, *resume);
            session.evidence = Evidence::of(*attempt, at);
            session.watch.begin(at);
            session.dialogs.drop_answers();
            // The messages of the last turn are in the outbox now.
            session.resume.unfinished.clear();
            session.last_reply = None;
            session.cancels.current = None;
            match delivery {
                Some(delivery) => session.outbox.start(delivery),
                // The adapter finds out from the conversation whether the earlier attempt took it.
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
            session.ports.held = ports.clone();
            session.ports.refused.insert(*refused);
        }
        E::Launched { process } => {
            session.phase = Phase::Running { attempt: session.attempt, since: at };
            session.process = Some(process.clone());
            session.launch.started();
        }
        E::ConversationSeen { conversation } => session.launch.conversation = Some(conversation.clone()),
        E::ConversationGone { .. } => {
            session.launch.forget();
            session.outbox.unsend();
        }

        // ── what is seen of it ──
        E::SignalSeen { signal } => {
            // News makes a look superfluous. A living process is no news, or a census would replace every look.
            if signal.source != SignalSource::Process && signal.reading != Reading::HumanTyped {
                session.watch.looked = at;
            }
            match signal.reading {
                Reading::Limited { .. } => session.resume.cut_short = true,
                Reading::Working { .. } | Reading::Asking { .. } => session.resume.cut_short = false,
                // Some agents exit with 0 when the provider refuses more.
                Reading::Exited { code: Some(0) } if session.met_a_limit() => {}
                Reading::Exited { code: Some(0) } => {
                    session.resume.cut_short = false;
                    session.resume.unfinished.clear();
                }
                Reading::Exited { .. } | Reading::Unheld => {
                    session.resume.cut_short |= matches!(
                        session.judgement.activity,
                        AgentActivity::Working | AgentActivity::NeedsInput
                    );
                }
                _ => {}
            }
            let another = session.dialogs.is_replaced_by(signal, session.evidence.human_typed);
            for open in session.evidence.record(signal) {
                session.dialogs.withdrawn(&open, at);
            }
            if another {
                session.dialogs.replace();
            }
            rejudge(session, at);
            if signal.reading == Reading::Idle && ends_turn(session, signal) {
                session.resume.unfinished.clear();
            }
            if session.judgement.activity == AgentActivity::NeedsInput
                && let Reading::Asking { question } = &signal.reading
            {
                if another {
                    session.activity_since = at;
                }
                if let Some(dialog) = &mut session.dialogs.last
                    // A reminder says less than the request before.
                    && (!is_generic(question) || !dialog.words.contains_key(&signal.source))
                {
                    dialog.words.insert(signal.source, question.clone());
                }
            }
        }
        E::Rejudged {} => rejudge(session, at),
        E::LookWanted {} => session.watch.wanted = true,
        E::Looked {} | E::LookFailed { .. } => {
            session.watch.end_look(at);
            rejudge(session, at);
        }

        E::Drifted { what } => session.watch.drift = Some(what.clone()),
        E::DriftEnded {} => session.watch.drift = None,
        E::TreeLost { .. } => {
            let rescue = session.workspace.rescue.take();
            session.workspace = SessionWorkspace { rescue, ..SessionWorkspace::default() };
            session.phase = Phase::Preparing { attempt: session.attempt, then_stop: None };
        }
        E::CheckoutChanged { checked_out } => session.watch.checked_out = checked_out.clone(),
        E::Asked { open } => {
            if session.evidence.open_ask(&open.ask.id).is_none() {
                session.dialogs.number_ask(open.number);
            }
            session.evidence.open(open.clone());
            rejudge(session, at);
        }
        E::AskClosed { ask } => {
            if let Some(open) = session.evidence.close(ask, at) {
                session.dialogs.withdrawn(&open, at);
            }
            rejudge(session, at);
        }
        E::DialogDescribed { subject } => session.dialogs.described = Some(subject.clone()),
        E::Answering { answer } => session.dialogs.begin_answer(answer),
        E::Answered { .. } => {
            if let Some(answer) = session.dialogs.end_answer(at)
                && let Some(ask) =
                    session.evidence.numbered(answer.to).map(|open| open.ask.id.clone()).or(answer.ask)
            {
                session.evidence.close(&ask, at);
                rejudge(session, at);
            }
        }
        E::NotAnswered { .. } => session.dialogs.fail_answer(),

        // ── the end of a process ──
        E::StopWanted { outcome } => match &mut session.phase {
            Phase::Preparing { then_stop, .. } | Phase::Starting { then_stop, .. } => {
                *then_stop = Some(outcome.clone());
            }
            _ => {}
        },
        E::Cancelling { cancel } => {
            session.cancels =
                CancelState { count: cancel.number, current: Some(cancel.clone()), missed: None };
        }
        E::TurnCancelled { cut, .. } => {
            session.cancels.current = None;
            session.cancels.missed = (!cut).then_some(at);
        }
        E::Stopping { then } => {
            session.watch.wanted = false;
            session.dialogs.drop_answers();
            session.cancels.current = None;
            session.stopped = at;
            if let Phase::Running { since, .. } = session.phase {
                session.usage.ran = session.usage.ran.saturating_add(at.since(since).as_secs());
            }
            match &mut session.phase {
                // It is already ending; only the phase after it changes.
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
            session.launch.restarts = *restarts;
            session.phase = Phase::Retrying { at: *again, why: why.clone() };
        }
        E::Exited { code, why } => {
            session.process = None;
            session.ports.give_back();
            session.phase = Phase::Exited { at, code: *code, why: why.clone() };
        }
        E::Rested { why } => {
            session.process = None;
            session.ports.give_back();
            session.phase = Phase::Resting { at, why: why.clone() };
        }
        E::Ended { outcome } => {
            session.process = None;
            session.ports.give_back();
            session.cleared = false;
            session.phase = Phase::Ended { outcome: outcome.clone(), at };
        }
        E::Requeued { runtime, .. } => {
            if let Some(runtime) = runtime {
                session.spec.runtime.clone_from(runtime);
            }
            session.launch.restarts = 0;
            session.ports.give_back();
            session.phase = Phase::Queued { since: at };
        }

        // ── messages ──
        E::MessageQueued { message, replaces } => {
            // Repeating the task is no new reason to retry.
            if message.kind != MessageKind::Task {
                session.launch.fruitless = 0;
            }
            session.outbox.queue(message, *replaces);
        }
        E::MessageWithdrawn { no, .. } => session.outbox.withdraw(*no),
        E::MessagesDropped { why } => session.outbox.drop_all(why),
        E::DeliveryStarted { delivery } => session.outbox.start(delivery),
        E::Written { proof_by, .. } => set_stage(session, DeliveryStage::Written { proof_by: *proof_by }),
        E::DeliveryPaused { until, counts, .. } => {
            if let Some(current) = &mut session.outbox.current {
                current.pauses = current.pauses.saturating_add(1);
            }
            set_stage(session, DeliveryStage::Paused { until: *until, counts: *counts });
        }
        E::DeliveryRetried { .. } => {
            if let Some(current) = &mut session.outbox.current {
                if !matches!(current.stage, DeliveryStage::Paused { counts: false, .. }) {
                    current.tries = current.tries.saturating_add(1);
                }
                current.with_launch = None;
            }
            set_stage(session, DeliveryStage::Writing);
        }
        E::Accepted { delivery, turn } => {
            session.took = Some(at);
            session.launch.fruitless = 0;
            session.usage.turns = session.usage.turns.saturating_add(1);
            session.launch.task_taken |= session.outbox.carries_task(*delivery);
            let messages = session.outbox.accept(*delivery, turn);
            session.resume.unfinished = if has_ended_well(&session.phase) { vec![] } else { messages };
        }
        E::TakenAfterAll { messages, turn } => {
            session.took = Some(at);
            session.usage.turns = session.usage.turns.saturating_add(1);
            session.launch.task_taken |= session.outbox.take_after_all(messages, turn);
        }
        E::DeliveryFailed { delivery, why } => session.outbox.fail(*delivery, why),

        // ── holds and budgets ──
        E::Held { kind, why } => {
            // Held again for another reason of the same kind, it keeps its position.
            let since = session.holds.get(kind).map_or(at, |hold| hold.since);
            session.holds.insert(*kind, SessionHold { why: why.clone(), since });
            if *kind == HoldKind::Account {
                session.resume.at = None;
            }
        }
        E::Released { kind } => {
            session.holds.remove(kind);
            if *kind == HoldKind::Account {
                session.resume.at = None;
                session.resume.cut_short = false;
            }
        }
        E::Cleared {} => session.cleared = true,
        E::WaitedEnough {} => session.waited = true,
        E::ResumePlanned { at: then } => session.resume.at = Some(*then),
        E::Lingered {} => session.lingers = Some(session.activity_since),
        E::Spent { spend } => session.usage.spend = *spend,
        E::ToolDenied { call, tool } => session.denied.record(call, tool, at),
        E::Replied { text } => session.last_reply = Some(text.clone()),
        E::TurnEnded { end } => match end {
            TurnEnd::Failed { why } => session.last_reply = Some(format!("failed: {why}")),
            TurnEnd::Done {} | TurnEnd::Cancelled {} | TurnEnd::Limited { .. } => {}
        },
        E::PlanChanged { .. } => {}
        E::BudgetMarked { .. } => session.usage.marked = true,
        E::LimitsSet { limits } => {
            session.usage.limits = *limits;
            session.usage.marked = false;
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

/// Returns true if the process has ended with 0: then its turn is over, also if the proof that it had one is read only now.
fn has_ended_well(phase: &Phase) -> bool {
    matches!(
        phase,
        Phase::Exited { code: Some(0), .. }
            | Phase::Stopping { then: AfterStop::Rest { code: Some(0), .. }, .. }
    )
}

/// Returns whether the agent has ended its turn: it reports so itself, or its screen was seen idle after it took the
/// message. A screen lags behind and shows the old prompt for a moment.
fn ends_turn(session: &Session, idle: &Signal) -> bool {
    idle.confidence == Confidence::High || session.took.is_none_or(|took| took <= idle.at)
}

fn rejudge(session: &mut Session, at: Timestamp) {
    let judgement = judge(&session.evidence, at);
    if judgement.activity != session.judgement.activity {
        session.activity_since = at;
    }
    match judgement.activity {
        // An ask with an id is known by that.
        AgentActivity::NeedsInput if !session.evidence.open_asks().is_empty() => {}
        AgentActivity::NeedsInput => session.dialogs.see(&judgement.detail, session.evidence.human_typed, at),
        AgentActivity::Unknown | AgentActivity::Starting => {}
        _ => session.dialogs.open = None,
    }
    session.judgement = judgement;
    session.judged = at;
}

impl LaunchState {
    /// Begins a launch with a conversation that is resumed or new.
    fn begin(&mut self, conversation: &ConversationId, resume: bool) {
        self.fruitless = self.fruitless.saturating_add(1);
        self.conversation = Some(conversation.clone());
        self.begun = resume;
    }

    fn started(&mut self) {
        self.begun = true;
        self.count = self.count.saturating_add(1);
    }

    /// Forgets the conversation, which is gone.
    fn forget(&mut self) {
        self.task_taken = false;
        self.conversation = None;
        self.begun = false;
    }
}

impl WatchState {
    /// Begins to watch a new process.
    fn begin(&mut self, at: Timestamp) {
        self.wanted = false;
        self.looked = at;
        self.drift = None;
    }

    fn end_look(&mut self, at: Timestamp) {
        self.wanted = false;
        self.looked = at;
        self.placed = at;
    }
}

fn set_stage(session: &mut Session, stage: DeliveryStage) {
    if let Some(current) = &mut session.outbox.current {
        current.stage = stage;
    }
}

fn pause_current(session: &mut Session, until: Timestamp) {
    if let Some(current) = &mut session.outbox.current {
        current.with_launch = None;
        current.stage = DeliveryStage::Paused { until, counts: true };
    }
}

impl AfterStop {
    /// Returns the event that applies once the process is gone.
    pub(super) fn event(&self) -> SessionEvent {
        match self.clone() {
            AfterStop::End { outcome } => SessionEvent::Ended { outcome },
            AfterStop::Retry { restarts, at, why } => SessionEvent::Retrying { restarts, at, why },
            AfterStop::Rest { code, why } => SessionEvent::Exited { code, why },
            AfterStop::GiveWay { why } => SessionEvent::Rested { why },
        }
    }
}
