//! A fake agent at its terminal: swallows keys, loses hooks, opens dialogs, and never forgets a turn.

use std::sync::Arc;

use ao_core::effect::LaunchPlan;
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::session::AgentAbilities;
use ao_core::{Attempt, SessionId};
use ao_ports::{
    Agent, AgentError, AnswerOrder, AnswerOutcome, CancelOrder, Cancelled, DeliverOrder, DeliveryOutcome,
    FollowOrder, LaunchPreparation, LookOrder, ProcessIo, ProgramCommand, Reporter,
};
use async_trait::async_trait;

use super::FakePort;
use crate::faults::PortCall;
use crate::outside::{self, AgentState, SimDialog};
use crate::universe::{FakeBug, UniverseState};
use crate::watch::Invariant;

#[async_trait]
impl Agent for FakePort {
    fn abilities(&self) -> AgentAbilities {
        AgentAbilities { resume: true, steer: true, cancel: true, ..AgentAbilities::default() }
    }

    async fn prepare(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &LaunchPlan,
    ) -> Result<LaunchPreparation, AgentError> {
        let passed = self.universe.before(self.life, PortCall::Prepare).await.map_err(AgentError::Failed)?;
        let prepared = prepare(&mut self.universe.lock(), session, attempt, plan);
        self.universe.after(passed).await.map_err(AgentError::Failed)?;
        Ok(prepared)
    }

    async fn deliver(&self, order: &DeliverOrder) -> Result<DeliveryOutcome, AgentError> {
        let passed = self.universe.before(self.life, PortCall::Deliver).await.map_err(AgentError::Failed)?;
        let mut delivered = deliver(&mut self.universe.lock(), order)?;
        if passed.times() > 1 {
            delivered = deliver(&mut self.universe.lock(), order)?;
        }
        self.universe.after(passed).await.map_err(AgentError::Failed)?;
        Ok(delivered)
    }

    /// Reports nothing itself: the reports of simulated agents reach the daemon through the world, which may lose them.
    async fn follow(&self, _: &FollowOrder, _: Arc<dyn Reporter>) {}

    async fn answer(&self, order: &AnswerOrder) -> Result<AnswerOutcome, AgentError> {
        let passed = self.universe.before(self.life, PortCall::Answer).await.map_err(AgentError::Failed)?;
        let mut answered = answer(&mut self.universe.lock(), order);
        if passed.times() > 1 {
            answered = answer(&mut self.universe.lock(), order);
        }
        self.universe.after(passed).await.map_err(AgentError::Failed)?;
        Ok(answered)
    }

    async fn cancel(&self, order: &CancelOrder) -> Result<Cancelled, AgentError> {
        let passed = self.universe.before(self.life, PortCall::Cancel).await.map_err(AgentError::Failed)?;
        let mut cancelled = cancel(&mut self.universe.lock(), order)?;
        if passed.times() > 1 {
            cancelled = cancel(&mut self.universe.lock(), order)?;
        }
        self.universe.after(passed).await.map_err(AgentError::Failed)?;
        Ok(cancelled)
    }

    async fn look(&self, order: &LookOrder) -> Result<Vec<Signal>, AgentError> {
        let passed = self.universe.before(self.life, PortCall::Look).await.map_err(AgentError::Failed)?;
        let signals = look(&self.universe.lock(), order);
        self.universe.after(passed).await.map_err(AgentError::Failed)?;
        Ok(signals)
    }
}

fn prepare(
    inner: &mut UniverseState,
    session: SessionId,
    attempt: Attempt,
    plan: &LaunchPlan,
) -> LaunchPreparation {
    if plan.resume && !inner.outside.conversations.contains_key(&plan.conversation) {
        return LaunchPreparation::NothingToResume;
    }
    // The launch carries a delivery. If an earlier launch delivered it, it is reported again and not taken again.
    let delivery = inner.log.shadow.sessions.get(&session).and_then(|session| {
        session.outbox.current.as_ref().filter(|current| current.with_launch == Some(attempt)).map(|d| d.no)
    });
    inner
        .outside
        .plans
        .insert((session, attempt), (plan.conversation.clone(), plan.prompt.clone(), delivery));
    LaunchPreparation::Run {
        command: ProgramCommand {
            program: "fake".into(),
            args: vec![],
            env: Default::default(),
            pass: vec![],
            secrets: vec![],
            files: vec![],
            io: ProcessIo::Terminal,
        },
        conversation: None,
    }
}

fn deliver(inner: &mut UniverseState, order: &DeliverOrder) -> Result<DeliveryOutcome, AgentError> {
    let begun = inner.log.ledger.was_begun(order.session, order.delivery);
    inner.must(begun, Invariant::CommitFirst, || {
        format!("delivery {} to {} is typed before it was in the log", order.delivery, order.session)
    });
    let key = (order.session, order.attempt);
    let fake_bug = inner.fake_bug == FakeBug::Agent;
    let Some(process) = inner.outside.processes.get_mut(&key) else {
        inner.broken(
            Invariant::CommitFirst,
            format!("delivery to {} attempt {}, which never was", key.0, key.1),
        );
        return Err(AgentError::Failed("there is no such process".into()));
    };
    match process.state {
        AgentState::Dead { .. } => return Err(AgentError::Failed("the process is gone".into())),
        _ if !process.held => return Err(AgentError::Failed("the process has lost its holder".into())),
        AgentState::Asking => {
            let order = LookOrder {
                session: order.session,
                attempt: order.attempt,
                process: order.process.clone(),
                conversation: order.conversation.clone(),
            };
            return Ok(DeliveryOutcome::Held {
                why: "a dialog is open".into(),
                signals: look(inner, &order),
            });
        }
        _ => {}
    }
    if process.person_at_keyboard {
        let typed = Signal {
            attempt: order.attempt,
            source: SignalSource::Terminal,
            at: inner.wall(),
            confidence: Confidence::High,
            reading: Reading::HumanTyped,
        };
        return Ok(DeliveryOutcome::Held {
            why: "a person's draft is in the way".into(),
            signals: vec![typed],
        });
    }
    let conversation = process.conversation.clone();
    let taken = |inner: &UniverseState| {
        let turns = inner.outside.conversations.get(&conversation)?;
        let place = turns.iter().position(|turn| turn.delivery == Some(order.delivery))?;
        let turn = outside::turn_name(&conversation, place);
        Some(DeliveryOutcome::Taken { turn, text: order.text.clone() })
    };
    if let Some(taken) = taken(inner).filter(|_| !fake_bug) {
        return Ok(taken);
    }
    // The draft of an earlier attempt is still there, or is typed now; then Enter.
    let process = inner.outside.processes.get_mut(&key).expect("looked up above");
    process.draft = Some(order.delivery);
    if process.swallows > 0 {
        process.swallows -= 1;
        return Ok(DeliveryOutcome::Written);
    }
    process.draft = None;
    outside::take_turn(inner, key, Some(order.delivery), &order.text);
    let sure = inner.rng.u8(..4) == 0;
    Ok(taken(inner).filter(|_| sure).unwrap_or(DeliveryOutcome::Written))
}

fn answer(inner: &mut UniverseState, order: &AnswerOrder) -> AnswerOutcome {
    let key = (order.session, order.attempt);
    let logged = inner.log.ledger.answer(order.session, order.number);
    let asked = logged.is_some_and(|text| *text == order.text);
    inner.must(asked, Invariant::CommitFirst, || {
        format!("answer {} to {} is typed before it was in the log", order.number, order.session)
    });
    let is_meant = |dialog: &&SimDialog| match &order.ask {
        Some(ask) => dialog.id.as_ref() == Some(ask),
        None => dialog.id.is_none() && dialog.question == order.question,
    };
    let Some(process) = inner.outside.processes.get_mut(&key) else {
        return AnswerOutcome::Gone { why: "there is no such process".into() };
    };
    if process.given.contains_key(&order.number) {
        return AnswerOutcome::Given;
    }
    let reachable = process.state == AgentState::Asking && process.held;
    let Some(dialog) = process.dialogs.iter().find(is_meant).filter(|_| reachable) else {
        return AnswerOutcome::Gone { why: "no such dialog is open".into() };
    };
    let serial = dialog.serial;
    let twice = process.given.values().any(|given| *given == serial);
    process.given.insert(order.number, serial);
    process.answers.push(order.text.clone());
    inner.must(!twice, Invariant::AnsweredOnce, || {
        format!("dialog {serial} of {} is answered a second time, by {}", order.session, order.number)
    });
    outside::answer_one(inner, key, serial);
    AnswerOutcome::Given
}

fn cancel(inner: &mut UniverseState, order: &CancelOrder) -> Result<Cancelled, AgentError> {
    let key = (order.session, order.attempt);
    let known = inner.log.shadow.sessions.get(&order.session);
    let wanted = known.is_some_and(|known| known.cancels.count >= order.number);
    inner.must(wanted, Invariant::CommitFirst, || {
        format!("turn of {} is cancelled before that was in the log", order.session)
    });
    let process = inner.outside.processes.get(&key).filter(|process| process.held && process.lives());
    let Some(process) = process else { return Err(AgentError::Failed("the process is gone".into())) };
    if let Some(cancelled) = process.cancels.get(&order.number) {
        return Ok(*cancelled);
    }
    let cancelled = outside::cancel_turn(inner, key);
    if let Some(process) = inner.outside.processes.get_mut(&key) {
        process.cancels.insert(order.number, cancelled);
    }
    Ok(cancelled)
}

fn look(inner: &UniverseState, order: &LookOrder) -> Vec<Signal> {
    let Some(process) = inner.outside.processes.get(&(order.session, order.attempt)) else {
        return vec![];
    };
    let signal = |source, confidence, reading| Signal {
        attempt: order.attempt,
        source,
        at: inner.wall(),
        confidence,
        reading,
    };
    let screen = |reading| signal(SignalSource::Terminal, Confidence::Low, reading);
    let alive = |busy| signal(SignalSource::Process, Confidence::High, Reading::Alive { busy });
    match &process.state {
        AgentState::Dead { code } => {
            vec![signal(SignalSource::Process, Confidence::High, Reading::Exited { code: *code })]
        }
        _ if !process.held => vec![signal(SignalSource::Process, Confidence::High, Reading::Unheld)],
        AgentState::Booting => vec![alive(true)],
        // A long silent tool call: the screen shows no known pattern.
        AgentState::Working { silent: true } => vec![alive(true)],
        AgentState::Working { silent: false } => {
            vec![alive(true), screen(Reading::Working { doing: "cargo test".into() })]
        }
        AgentState::Idle => vec![alive(false), screen(Reading::Idle)],
        AgentState::Asking => {
            let question = process.dialogs.last().map(|dialog| dialog.question.clone()).unwrap_or_default();
            vec![alive(false), screen(Reading::Asking { question })]
        }
        AgentState::Blocked => vec![alive(false), screen(Reading::Blocked { on: "a missing key".into() })],
        AgentState::Limited { until } => vec![alive(false), screen(Reading::Limited { until: Some(*until) })],
    }
}
