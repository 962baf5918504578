//! Rules with a bug planted in them, one for each thing that must hold. A simulation that misses one is not worth its
//! time.

use ao_core::evidence::{Reading, Signal};
use ao_core::health::BaseVerdict;
use ao_core::incident::{EscalationLevel, IncidentEvent, IncidentKind};
use ao_core::input::Life;
use ao_core::notice::NoticeEvent;
use ao_core::queue::{LaneState, QueueEvent, QueueInput, Rejection, TestOutcome};
use ao_core::session::{AfterStop, HoldKind, SessionEvent, SessionInput, Stage};
use ao_core::workspace::WorkspaceState;
use ao_core::{ConversationId, Effect, Event, Input, Moment, Refusal, Scope, Stamped, State};
use ao_engine::{Core, Rules};

/// A bug in the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// Forgets what waits for an agent when a dialog opens.
    ForgetsMessages,
    /// Takes what was written for what was read.
    BelievesWrites,
    /// Gives a taken task to a second session.
    SharesTasks,
    /// Gives every conversation the same name.
    SharesConversations,
    /// Counts one slot too few.
    OneTooMany,
    /// Lets nobody give way.
    NeverYields,
    /// Begins the count of tries anew whenever a problem flickers.
    ForgetsTries,
    /// Never counts a restart.
    ForgetsRestarts,
    /// Begins the ladder anew whenever a problem comes back.
    TellsAgain,
    /// Ends without a word.
    SaysNothing,
    /// Does not hear that a process has ended.
    DeafToEnds,
    /// Takes an agent whose holder is gone for one that is well.
    BlindToLostHolders,
    /// Tells nobody else of what an agent does not take.
    DropsTheUnheard,
    /// Types while a person does.
    TypesOverPeople,
    /// Does not heed holds.
    IgnoresHolds,
    /// Forgets which budgets are spent, and whom that holds.
    IgnoresBudgets,
    /// Does not heed what providers say.
    IgnoresLimits,
    /// Lets the most urgent go on last.
    GoesOnBackwards,
    /// Removes workspaces of ended sessions unasked.
    TidiesUp,
    /// Sleeps through every timer.
    Sleeps,
    /// Keeps failed deliveries to itself.
    Hushes,
    /// Falls over at the first crash of an agent.
    FallsOver,
    /// Gives every session the same port.
    SharesPorts,
    /// Takes a workspace that was just made for one that is ready.
    SkipsSetUp,
    /// Wakes the agent at the first failure.
    CriesWolf,
    /// Takes every base for green.
    BlindToBase,
    /// Forgets when a problem is due.
    ForgetsToAskAgain,
    /// Takes a red test for a green one.
    SeesGreen,
    /// Keeps results though what they were about is another tree now.
    KeepsResults,
    /// Sends the last of a batch back, whoever is to blame.
    BlamesTheLast,
    /// Sends back what failed, though something ahead of it may be why.
    JudgesEarly,
    /// Tests the most urgent last.
    UrgentLast,
    /// Forgets to begin the next test.
    LosesItsPlace,
    /// Merges without checks what no one has asked it to.
    SkipsChecks,
    /// Changes what it remembers without writing that down.
    RemembersWrongly,
}

impl Rules for Mutant {
    fn step(&self, state: &mut State, moment: &Moment, input: Input) -> Result<Vec<Stamped>, Refusal> {
        match self {
            Mutant::Sleeps if input == Input::Tick => Ok(vec![]),
            Mutant::DeafToEnds if is(&input, |input| matches!(input, SessionInput::ProcessEnded { .. })) => {
                Ok(vec![])
            }
            Mutant::BlindToLostHolders => Core.step(state, moment, all_held(input)),
            Mutant::BelievesWrites => Core.step(state, moment, believed(state, input)),
            Mutant::SeesGreen => Core.step(state, moment, all_green(input)),
            Mutant::JudgesEarly => {
                let lanes = state.projects.values_mut().flat_map(|project| project.queue.lanes.iter_mut());
                if let Input::Queue {
                    input: QueueInput::Tested { result: TestOutcome::Red { .. }, .. },
                    ..
                } = input
                {
                    lanes.for_each(|lane| lane.left.clear());
                }
                Core.step(state, moment, input)
            }
            Mutant::KeepsResults => {
                let outcome = Core.step(state, moment, input);
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
            Mutant::UrgentLast => {
                let turn = |state: &mut State| {
                    let queues = state.projects.values_mut().map(|project| &mut project.queue);
                    queues
                        .flat_map(|queue| &mut queue.entries)
                        .for_each(|entry| entry.priority = -entry.priority);
                };
                turn(state);
                let outcome = Core.step(state, moment, input);
                turn(state);
                outcome
            }
            Mutant::SharesTasks => shares_tasks(state, moment, input),
            Mutant::OneTooMany => {
                state.settings.max_live += 1;
                let outcome = Core.step(state, moment, input);
                state.settings.max_live -= 1;
                outcome
            }
            Mutant::TypesOverPeople => {
                for session in state.sessions.values_mut() {
                    session.evidence.human_typed = None;
                }
                Core.step(state, moment, input)
            }
            Mutant::IgnoresHolds => {
                for session in state.sessions.values_mut() {
                    session.holds.clear();
                }
                Core.step(state, moment, input)
            }
            Mutant::CriesWolf => {
                let reaction = state.settings.reactions.entry(IncidentKind::CiFailed).or_default();
                let before = reaction.rerun.replace(0);
                let outcome = Core.step(state, moment, input);
                if let Some(reaction) = state.settings.reactions.get_mut(&IncidentKind::CiFailed) {
                    reaction.rerun = before;
                }
                outcome
            }
            Mutant::BlindToBase => {
                let checks = state.projects.values_mut().flat_map(|project| project.base.checks.values_mut());
                for (_, verdict) in checks.filter_map(|check| check.found.as_mut()) {
                    *verdict = BaseVerdict::Green {};
                }
                Core.step(state, moment, input)
            }
            Mutant::IgnoresBudgets => {
                for usage in state.budget_usage.values_mut() {
                    usage.cap = None;
                }
                for session in state.sessions.values_mut() {
                    session.holds.retain(|kind, _| *kind == HoldKind::Budget || !kind.is_budget());
                }
                Core.step(state, moment, input)
            }
            Mutant::IgnoresLimits => {
                for session in state.sessions.values_mut() {
                    session.holds.remove(&HoldKind::Account);
                }
                let accounts = std::mem::take(&mut state.accounts);
                let outcome = Core.step(state, moment, input);
                state.accounts.extend(accounts);
                outcome
            }
            Mutant::ForgetsRestarts => {
                for session in state.sessions.values_mut() {
                    session.launch.restarts = 0;
                }
                Core.step(state, moment, input)
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
                Core.step(state, moment, hasty)
            }
            Mutant::SharesConversations
            | Mutant::SaysNothing
            | Mutant::Hushes
            | Mutant::NeverYields
            | Mutant::DropsTheUnheard
            | Mutant::SharesPorts
            | Mutant::BlamesTheLast
            | Mutant::GoesOnBackwards => self.rewrites(state, moment, input),
            _ => {
                let outcome = Core.step(state, moment, input);
                for stamped in outcome.iter().flatten() {
                    self.spoil(state, &stamped.event);
                }
                outcome
            }
        }
    }

    fn wants(&self, state: &State, scope: &Scope) -> Vec<Effect> {
        let mut wanted = Core.wants(state, scope);
        if *self == Mutant::LosesItsPlace {
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
        if let (Mutant::TidiesUp, Scope::Session(id)) = (self, scope)
            && let Some(session) = state.sessions.get(id).filter(|session| !session.is_live())
            && session.workspace.state == WorkspaceState::Ready
        {
            wanted.push(Effect::RemoveWorkspace {
                session: *id,
                tries: 0,
                project: session.spec.project.clone(),
                repository: String::new(),
                kind: session.spec.workspace.clone(),
                tree: session.workspace.tree.clone(),
                branch: session.spec.branch.clone(),
                teardown: vec![],
                environment: Default::default(),
                timeout: std::time::Duration::from_secs(60),
                discard: false,
            });
        }
        wanted
    }
}

impl Mutant {
    /// Remembers something else than what happened.
    fn spoil(self, state: &mut State, event: &Event) {
        match (self, event) {
            (Mutant::ForgetsMessages, Event::Session(id, SessionEvent::MessageQueued { .. })) => {
                if let Some(session) = state.sessions.get_mut(id) {
                    session.outbox.waiting.pop_back();
                }
            }
            (Mutant::RemembersWrongly, Event::Session(id, SessionEvent::Spent { .. })) => {
                if let Some(session) = state.sessions.get_mut(id) {
                    session.usage.spend.turns += 1;
                }
            }
            (Mutant::ForgetsTries, Event::Incident(key, IncidentEvent::Returned { .. })) => {
                if let Some(incident) = state.incidents.get_mut(key) {
                    (incident.acted, incident.acted_on) = (0, None);
                }
            }
            (Mutant::ForgetsToAskAgain, Event::Incident(key, IncidentEvent::Acted { .. })) => {
                if let Some(incident) = state.incidents.get_mut(key) {
                    incident.due = None;
                }
            }
            (Mutant::TellsAgain, Event::Incident(key, IncidentEvent::Vanished { .. })) => {
                if let Some(incident) = state.incidents.get_mut(key) {
                    (incident.level, incident.acted_on) = (EscalationLevel::Agent, None);
                }
            }
            (
                Mutant::FallsOver,
                Event::Session(_, SessionEvent::Stopping { then: AfterStop::Retry { .. } }),
                // Without the panic hook's message, of which there would be many.
            ) => std::panic::resume_unwind(Box::new("a planted panic")),
            _ => {}
        }
    }

    /// Lets something else have happened than what did.
    fn rewrites(self, state: &mut State, moment: &Moment, input: Input) -> Result<Vec<Stamped>, Refusal> {
        let before = state.clone();
        let mut events = Core.step(state, moment, input)?;
        match self {
            Mutant::Hushes => events.retain(|stamped| match &stamped.event {
                Event::Notice(_, NoticeEvent::Raised { notice }) => !notice.key.contains("delivery"),
                _ => true,
            }),
            Mutant::DropsTheUnheard => events.retain(|stamped| match &stamped.event {
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
                        (Mutant::GoesOnBackwards, Event::Session(id, SessionEvent::ResumePlanned { at })) => {
                            let urgent = before.sessions.get(id).map_or(0, |session| session.spec.priority);
                            *at = *at + std::time::Duration::from_secs(60) * urgent.unsigned_abs();
                        }
                        (Mutant::BlamesTheLast, Event::Queue(project, event)) => {
                            if let QueueEvent::Split { pulls, .. } = &*event
                                && let Some(pull) = pulls.last().cloned()
                                && let Some(entry) =
                                    before.projects.get(project).and_then(|known| known.queue.entry(&pull))
                            {
                                let (output, between) = ("error".to_owned(), String::new());
                                let reason = Rejection::Red { output, between };
                                *event = QueueEvent::Rejected { pull, head: entry.head.clone(), reason };
                            }
                        }
                        (Mutant::SaysNothing, Event::Session(_, SessionEvent::Exited { why, .. })) => {
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

/// A write, turned into the proof that it would need.
fn believed(state: &State, input: Input) -> Input {
    let Input::Session { session, input: SessionInput::Written { attempt, .. } } = &input else {
        return input;
    };
    let current = state.sessions.get(session).and_then(|session| session.outbox.current.as_ref());
    match current.filter(|current| current.stage == Stage::Writing) {
        Some(current) => Input::Session {
            session: *session,
            input: SessionInput::Proof {
                attempt: *attempt,
                delivery: Some(current.no),
                turn: format!("believed {}", current.no),
                text: current.text.clone(),
            },
        },
        None => input,
    }
}

/// A lost holder, turned into one that lives.
fn all_held(mut input: Input) -> Input {
    let mend = |signal: &mut Signal| {
        if signal.reading == Reading::Unheld {
            signal.reading = Reading::Alive { busy: false };
        }
    };
    match &mut input {
        Input::Census(census) => {
            for seen in census.seen.iter_mut().filter(|seen| seen.life == Life::Unheld) {
                seen.life = Life::Alive { busy: false };
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

/// A red test, turned into a green one.
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

/// Spawns as if there were no task, and names it afterwards.
fn shares_tasks(state: &mut State, moment: &Moment, input: Input) -> Result<Vec<Stamped>, Refusal> {
    let Input::Spawn(mut request) = input else { return Core.step(state, moment, input) };
    let before = state.clone();
    let task = request.task.take();
    let mut events = Core.step(state, moment, Input::Spawn(request))?;
    for stamped in &mut events {
        if let Event::Session(_, SessionEvent::Queued { spec }) = &mut stamped.event {
            spec.task.clone_from(&task);
        }
    }
    *state = replayed(before, &events);
    Ok(events)
}

fn replayed(mut state: State, events: &[Stamped]) -> State {
    for stamped in events {
        state.evolve(stamped);
    }
    state
}
