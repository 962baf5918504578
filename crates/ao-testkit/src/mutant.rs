//! Rules with a planted bug, one for each invariant. A simulation that misses one is not worth its time.

use ao_core::agent_report::{AgentReport, TurnCause};
use ao_core::evidence::{Reading, Signal, SignalSource};
use ao_core::health::BaseVerdict;
use ao_core::incident::{EscalationLevel, IncidentEvent, IncidentKind};
use ao_core::input::ProcessLife;
use ao_core::notice::NoticeEvent;
use ao_core::order::RemoveOrder;
use ao_core::queue::{LaneState, QueueEvent, QueueInput, QueueRejection, TestOutcome};
use ao_core::session::{AfterStop, DeliveryStage, HoldKind, SessionEvent, SessionInput};
use ao_core::workspace::{TreeRef, WorkspaceState};
use ao_core::{ConversationId, Effect, Event, Input, Moment, Refusal, Scope, StampedEvent, State, Timestamp};
use ao_engine::{CoreRules, EngineRules};

/// A bug in the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// Forgets the messages in the outbox when a dialog opens.
    ForgetsMessages,
    /// Takes a written message for one that was read.
    TrustsWrites,
    /// Takes an answer for given before the agent has it.
    TrustsAnswers,
    /// Forgets an ask when another one is reported.
    ForgetsAsks,
    /// Gives a taken task to a second session.
    SharesTasks,
    /// Gives every conversation the same name.
    SharesConversations,
    /// Allows one session more than the cap.
    ExceedsCap,
    /// Never takes the slot of an idle session.
    NeverYields,
    /// Resets the count of attempts whenever a problem flickers.
    ResetsAttempts,
    /// Never counts a restart.
    ResetsRestarts,
    /// Restarts the escalation whenever a problem comes back.
    EscalatesAgain,
    /// Ends a session without a reason.
    OmitsExitReason,
    /// Ignores that a process has ended.
    IgnoresExits,
    /// Takes an agent without a holder for a healthy one.
    IgnoresLostHolders,
    /// Does not escalate news that an agent does not take.
    DropsFailedNews,
    /// Types while a person does.
    TypesOverPerson,
    /// Ignores holds.
    IgnoresHolds,
    /// Forgets which budgets are spent, and the holds that follow.
    IgnoresBudgets,
    /// Ignores the limits of providers.
    IgnoresLimits,
    /// Resumes the most urgent session last.
    ResumesInReverse,
    /// Removes workspaces of ended sessions without a request.
    RemovesUnasked,
    /// Ignores every timer.
    IgnoresTimers,
    /// Raises no notice for failed deliveries.
    HidesFailures,
    /// Panics at the first crash of an agent.
    PanicsOnCrash,
    /// Gives every session the same port.
    SharesPorts,
    /// Takes a new workspace for one that is set up.
    SkipsSetUp,
    /// Sends the first failure to the agent, without a rerun.
    SkipsRerun,
    /// Takes every base for green.
    AssumesGreenBase,
    /// Forgets when a problem is due.
    ForgetsDueTime,
    /// Takes a red test for a green one.
    PassesRedTests,
    /// Keeps results of a tree that has changed since.
    KeepsStaleResults,
    /// Rejects the last pull request of a batch, regardless of the cause.
    RejectsLastOfBatch,
    /// Rejects a pull request although one ahead of it may be the cause.
    RejectsTooEarly,
    /// Tests the most urgent last.
    InvertsPriority,
    /// Forgets to begin the next test.
    SkipsNextTest,
    /// Merges without checks and without a request for that.
    SkipsChecks,
    /// Changes the state without an event.
    ChangesStateSilently,
}

impl EngineRules for Mutant {
    fn step(&self, state: &mut State, moment: &Moment, input: Input) -> Result<Vec<StampedEvent>, Refusal> {
        match self {
            Mutant::IgnoresTimers if input == Input::Tick => Ok(vec![]),
            Mutant::IgnoresExits
                if is(&input, |input| matches!(input, SessionInput::ProcessEnded { .. })) =>
            {
                Ok(vec![])
            }
            Mutant::IgnoresLostHolders => CoreRules.step(state, moment, all_held(input)),
            Mutant::TrustsWrites => CoreRules.step(state, moment, believed(state, input)),
            Mutant::PassesRedTests => CoreRules.step(state, moment, all_green(input)),
            Mutant::RejectsTooEarly => {
                let lanes = state.projects.values_mut().flat_map(|project| project.queue.lanes.iter_mut());
                if let Input::Queue {
                    input: QueueInput::Tested { result: TestOutcome::Red { .. }, .. },
                    ..
                } = input
                {
                    lanes.for_each(|lane| lane.left.clear());
                }
                CoreRules.step(state, moment, input)
            }
            Mutant::KeepsStaleResults => {
                let outcome = CoreRules.step(state, moment, input);
                for stamped in outcome.iter().flatten() {
                    if let Event::Queue(project, QueueEvent::Rejected { .. }) = &stamped.event
                        && let Some(lane) = state
                            .projects
                            .get_mut(project)
                            .and_then(|project| project.queue.lanes.first_mut())
                        && let LaneState::Testing {} = lane.state
                    {
                        lane.state = LaneState::Tested { tree: "what was tested before".into() };
                    }
                }
                outcome
            }
            Mutant::InvertsPriority => {
                let turn = |state: &mut State| {
                    let queues = state.projects.values_mut().map(|project| &mut project.queue);
                    queues
                        .flat_map(|queue| &mut queue.entries)
                        .for_each(|entry| entry.priority = -entry.priority);
                };
                turn(state);
                let outcome = CoreRules.step(state, moment, input);
                turn(state);
                outcome
            }
            Mutant::SharesTasks => shares_tasks(state, moment, input),
            Mutant::ExceedsCap => {
                state.settings.max_live += 1;
                let outcome = CoreRules.step(state, moment, input);
                state.settings.max_live -= 1;
                outcome
            }
            Mutant::TypesOverPerson => {
                for session in state.sessions.values_mut() {
                    session.evidence.human_typed = None;
                }
                CoreRules.step(state, moment, input)
            }
            Mutant::IgnoresHolds => {
                for session in state.sessions.values_mut() {
                    session.holds.clear();
                }
                CoreRules.step(state, moment, input)
            }
            Mutant::SkipsRerun => {
                let reaction = state.settings.reactions.entry(IncidentKind::CiFailed).or_default();
                let before = reaction.rerun.replace(0);
                let outcome = CoreRules.step(state, moment, input);
                if let Some(reaction) = state.settings.reactions.get_mut(&IncidentKind::CiFailed) {
                    reaction.rerun = before;
                }
                outcome
            }
            Mutant::AssumesGreenBase => {
                let checks = state.projects.values_mut().flat_map(|project| project.base.checks.values_mut());
                for (_, verdict) in checks.filter_map(|check| check.found.as_mut()) {
                    *verdict = BaseVerdict::Green {};
                }
                CoreRules.step(state, moment, input)
            }
            Mutant::IgnoresBudgets => {
                for usage in state.budget_usage.values_mut() {
                    usage.cap = None;
                }
                for session in state.sessions.values_mut() {
                    session.holds.retain(|kind, _| *kind == HoldKind::Budget || !kind.is_budget());
                }
                CoreRules.step(state, moment, input)
            }
            Mutant::IgnoresLimits => {
                for session in state.sessions.values_mut() {
                    session.holds.remove(&HoldKind::Account);
                }
                let accounts = std::mem::take(&mut state.accounts);
                let outcome = CoreRules.step(state, moment, input);
                state.accounts.extend(accounts);
                outcome
            }
            Mutant::ResetsRestarts => {
                for session in state.sessions.values_mut() {
                    session.launch.restarts = 0;
                }
                CoreRules.step(state, moment, input)
            }
            Mutant::SkipsSetUp => {
                let hasty = match input {
                    Input::Session {
                        session,
                        input: SessionInput::WorkspaceReady { attempt, path, base, .. },
                    } => {
                        let input = SessionInput::WorkspaceReady { attempt, path, base, as_found: true };
                        Input::Session { session, input }
                    }
                    other => other,
                };
                CoreRules.step(state, moment, hasty)
            }
            Mutant::SharesConversations
            | Mutant::OmitsExitReason
            | Mutant::HidesFailures
            | Mutant::NeverYields
            | Mutant::DropsFailedNews
            | Mutant::SharesPorts
            | Mutant::TrustsAnswers
            | Mutant::ForgetsAsks
            | Mutant::RejectsLastOfBatch
            | Mutant::ResumesInReverse => self.rewrites(state, moment, input),
            _ => {
                let outcome = CoreRules.step(state, moment, input);
                for stamped in outcome.iter().flatten() {
                    self.spoil(state, &stamped.event);
                }
                outcome
            }
        }
    }

    fn wants(&self, state: &State, scope: &Scope) -> Vec<Effect> {
        let mut wanted = CoreRules.wants(state, scope);
        if *self == Mutant::SkipsNextTest {
            wanted.retain(
                |effect| !matches!(effect, Effect::TestMerge { order, .. } if !order.ahead.is_empty()),
            );
        }
        if *self == Mutant::SkipsChecks {
            for effect in &mut wanted {
                if let Effect::TestMerge { order, .. } = effect {
                    order.checks = false;
                }
            }
        }
        if let (Mutant::RemovesUnasked, Scope::Session(id)) = (self, scope)
            && let Some(session) = state.sessions.get(id).filter(|session| !session.is_live())
            && session.workspace.state == WorkspaceState::Ready
        {
            let tree = TreeRef {
                session: *id,
                project: session.spec.project.clone(),
                repository: String::new(),
                recorded: session.workspace.tree.clone(),
                branch: session.spec.branch.clone(),
            };
            let order = RemoveOrder {
                tree,
                teardown: vec![],
                environment: Default::default(),
                timeout: std::time::Duration::from_secs(60),
                lived_in: None,
                discard: false,
            };
            wanted.push(Effect::RemoveWorkspace { tries: 0, kind: session.spec.workspace.clone(), order });
        }
        wanted
    }
}

impl Mutant {
    /// Changes the state to something else than the event does.
    fn spoil(self, state: &mut State, event: &Event) {
        match (self, event) {
            (Mutant::ForgetsMessages, Event::Session(id, SessionEvent::MessageQueued { .. })) => {
                if let Some(session) = state.sessions.get_mut(id) {
                    session.outbox.waiting.pop_back();
                }
            }
            (Mutant::ChangesStateSilently, Event::Session(id, SessionEvent::Spent { .. })) => {
                if let Some(session) = state.sessions.get_mut(id) {
                    session.usage.spend.turns += 1;
                }
            }
            (Mutant::ResetsAttempts, Event::Incident(key, IncidentEvent::Returned { .. })) => {
                if let Some(incident) = state.incidents.get_mut(key) {
                    (incident.acted, incident.acted_on) = (0, None);
                }
            }
            (Mutant::ForgetsDueTime, Event::Incident(key, IncidentEvent::Acted { .. })) => {
                if let Some(incident) = state.incidents.get_mut(key) {
                    incident.due = None;
                }
            }
            (Mutant::EscalatesAgain, Event::Incident(key, IncidentEvent::Vanished { .. })) => {
                if let Some(incident) = state.incidents.get_mut(key) {
                    (incident.level, incident.acted_on) = (EscalationLevel::Agent, None);
                }
            }
            (
                Mutant::PanicsOnCrash,
                Event::Session(_, SessionEvent::Stopping { then: AfterStop::Retry { .. } }),
                // Without the panic hook's message, of which there would be many.
            ) => std::panic::resume_unwind(Box::new("a planted panic")),
            _ => {}
        }
    }

    /// Replaces the events by others.
    fn rewrites(
        self,
        state: &mut State,
        moment: &Moment,
        input: Input,
    ) -> Result<Vec<StampedEvent>, Refusal> {
        let before = state.clone();
        let mut events = CoreRules.step(state, moment, input)?;
        match self {
            Mutant::TrustsAnswers => {
                let given = |stamped: &StampedEvent| match &stamped.event {
                    Event::Session(id, SessionEvent::Answering { answer }) => {
                        let event = Event::Session(*id, SessionEvent::Answered { number: answer.number });
                        Some(StampedEvent { at: stamped.at, event })
                    }
                    _ => None,
                };
                let with_result = |event: StampedEvent| {
                    let given = given(&event);
                    [Some(event), given].into_iter().flatten()
                };
                events = events.into_iter().flat_map(with_result).collect();
            }
            Mutant::ForgetsAsks => {
                let forgotten = |stamped: &StampedEvent| match &stamped.event {
                    Event::Session(id, SessionEvent::Asked { open }) => {
                        let known = before.sessions.get(id)?.evidence.open_asks().first()?.ask.id.clone();
                        let event = Event::Session(*id, SessionEvent::AskClosed { ask: known.clone() });
                        (known != open.ask.id).then_some(StampedEvent { at: stamped.at, event })
                    }
                    _ => None,
                };
                let with_loss = |event: StampedEvent| {
                    let forgotten = forgotten(&event);
                    [forgotten, Some(event)].into_iter().flatten()
                };
                events = events.into_iter().flat_map(with_loss).collect();
            }
            Mutant::HidesFailures => events.retain(|stamped| match &stamped.event {
                Event::Notice(_, NoticeEvent::Raised { notice }) => !notice.key.contains("delivery"),
                _ => true,
            }),
            Mutant::DropsFailedNews => events.retain(|stamped| match &stamped.event {
                Event::Incident(_, IncidentEvent::Escalated { why, .. }) => {
                    !why.contains("could not be told")
                }
                _ => true,
            }),
            Mutant::NeverYields => events.retain(|stamped| match &stamped.event {
                Event::Session(_, SessionEvent::Stopping { then }) => {
                    !matches!(then, AfterStop::GiveWay { .. })
                }
                _ => true,
            }),
            _ => {
                for stamped in &mut events {
                    match (self, &mut stamped.event) {
                        (
                            Mutant::SharesConversations,
                            Event::Session(_, SessionEvent::Launching { conversation, .. }),
                        ) => {
                            *conversation = ConversationId::new("the-one-conversation");
                        }
                        (Mutant::SharesPorts, Event::Session(_, SessionEvent::Admitted { ports, .. })) => {
                            ports.values_mut().for_each(|port| *port = 4000);
                        }
                        (
                            Mutant::ResumesInReverse,
                            Event::Session(id, SessionEvent::ResumePlanned { at }),
                        ) => {
                            let urgent = before.sessions.get(id).map_or(0, |session| session.spec.priority);
                            *at = *at + std::time::Duration::from_secs(60) * urgent.unsigned_abs();
                        }
                        (Mutant::RejectsLastOfBatch, Event::Queue(project, event)) => {
                            if let QueueEvent::Split { pulls, .. } = &*event
                                && let Some(pull) = pulls.last().cloned()
                                && let Some(entry) =
                                    before.projects.get(project).and_then(|known| known.queue.entry(&pull))
                            {
                                let (output, between) = ("error".to_owned(), String::new());
                                let reason = QueueRejection::Red { output, between };
                                *event = QueueEvent::Rejected { pull, head: entry.head.clone(), reason };
                            }
                        }
                        (Mutant::OmitsExitReason, Event::Session(_, SessionEvent::Exited { why, .. })) => {
                            why.clear();
                        }
                        _ => {}
                    }
                }
            }
        }
        *state = replayed(before, &events);
        Ok(events)
    }
}

fn is(input: &Input, what: impl Fn(&SessionInput) -> bool) -> bool {
    matches!(input, Input::Session { input, .. } if what(input))
}

/// Turns a write into the proof that it would need.
fn believed(state: &State, input: Input) -> Input {
    let Input::Session { session, input: SessionInput::Written { attempt, .. } } = &input else {
        return input;
    };
    let current = state.sessions.get(session).and_then(|session| session.outbox.current.as_ref());
    match current.filter(|current| current.stage == DeliveryStage::Writing) {
        Some(current) => Input::Session {
            session: *session,
            input: SessionInput::Reported {
                attempt: *attempt,
                source: SignalSource::Protocol,
                at: Timestamp(0),
                report: AgentReport::TurnBegan {
                    turn: format!("believed {}", current.no),
                    cause: TurnCause::User { text: current.text.clone(), delivery: Some(current.no) },
                },
            },
        },
        None => input,
    }
}

/// Turns a lost holder into a live one.
fn all_held(mut input: Input) -> Input {
    let mend = |signal: &mut Signal| {
        if signal.reading == Reading::Unheld {
            signal.reading = Reading::Alive { busy: false };
        }
    };
    match &mut input {
        Input::Census(census) => {
            for seen in census.seen.iter_mut().filter(|seen| seen.life == ProcessLife::Unheld) {
                seen.life = ProcessLife::Alive { busy: false };
            }
        }
        Input::Session { input: SessionInput::Signal(signal), .. } => mend(signal),
        Input::Session { input: SessionInput::Looked { signals, .. }, .. } => {
            signals.iter_mut().for_each(mend);
        }
        _ => {}
    }
    input
}

/// Turns a red test into a green one.
fn all_green(input: Input) -> Input {
    match input {
        Input::Queue {
            project,
            input: QueueInput::Tested { pull, head, base, ahead, checks, result: TestOutcome::Red { .. } },
        } => {
            let result = TestOutcome::Green { tree: format!("{base}+{head}") };
            Input::Queue { project, input: QueueInput::Tested { pull, head, base, ahead, checks, result } }
        }
        other => other,
    }
}

/// Spawns without the task, and adds it afterwards.
fn shares_tasks(state: &mut State, moment: &Moment, input: Input) -> Result<Vec<StampedEvent>, Refusal> {
    let Input::Spawn(mut request) = input else { return CoreRules.step(state, moment, input) };
    let before = state.clone();
    let task = request.task.take();
    let mut events = CoreRules.step(state, moment, Input::Spawn(request))?;
    for stamped in &mut events {
        if let Event::Session(_, SessionEvent::Queued { spec }) = &mut stamped.event {
            spec.task.clone_from(&task);
        }
    }
    *state = replayed(before, &events);
    Ok(events)
}

fn replayed(mut state: State, events: &[StampedEvent]) -> State {
    for stamped in events {
        state.evolve(stamped);
    }
    state
}
