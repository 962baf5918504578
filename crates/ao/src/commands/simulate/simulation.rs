//! Runs the core with its own clock and no real world: every effect succeeds at once.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use ao_config::shape::Config;
use ao_core::agent_report::{AgentReport, TurnCause};
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::input::SpawnRequest;
use ao_core::job::{JobInput, JobOrder, JobOutcome};
use ao_core::notice::NoticeInput;
use ao_core::order::{AnswerOrder, CancelOrder, DeliverOrder, LookOrder};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::session::{DeliveryStage, ProcessRef, Session, SessionEvent, SessionInput};
use ao_core::{
    Effect, Event, Input, JobId, Moment, ProjectId, Refusal, SessionId, StampedEvent, State, Timestamp,
    scopes, step, wants,
};

use super::action::{ActionKind, SimulatedAction, deed};
use super::agents::ProjectAgents;
use crate::error::{CommandError, FailureKind};

/// More effects than this in one moment are a loop.
const AT_ONCE: usize = 100_000;

pub(super) struct Simulation {
    pub(super) state: State,
    pub(super) now: Timestamp,
    seed: u64,
    deeds: Vec<SimulatedAction>,
    /// The agents of each project.
    pub(super) crew: ProjectAgents,
    /// Maximum number of effects in one moment.
    at_once: usize,
    /// The time at which that limit was exceeded. The simulation stops there.
    endless: Option<Timestamp>,
    /// Events that were not read yet.
    happened: VecDeque<StampedEvent>,
    /// Sessions whose agents are in the middle of a turn.
    pub(super) busy: BTreeSet<SessionId>,
    /// The last reading of each agent.
    shown: BTreeMap<SessionId, Reading>,
}

impl Simulation {
    pub(super) fn new(config: &Config, begins: Timestamp) -> Simulation {
        let mut simulation = Simulation {
            state: State::default().judged_by(ao_config::condition::judge()),
            now: begins,
            seed: 0,
            deeds: vec![],
            crew: ProjectAgents::of(config),
            at_once: AT_ONCE,
            endless: None,
            happened: VecDeque::new(),
            busy: BTreeSet::new(),
            shown: BTreeMap::new(),
        };
        simulation.take(Input::Configure(Box::new(config.settings())));
        let env = ao_config::Env::of_process();
        for name in config.projects.keys() {
            let Some(project) = config.project_config(name, &env) else { continue };
            simulation.configure(ProjectId::new(name), project);
        }
        simulation
    }

    pub(super) fn configure(&mut self, project: ProjectId, config: ProjectConfig) {
        self.take(Input::Project { project, input: ProjectInput::Configure(Box::new(config)) });
    }

    /// Applies an input and carries out all resulting effects. A refused input has no effect.
    pub(super) fn take(&mut self, input: Input) {
        if self.is_endless() {
            return;
        }
        let _ = self.one(input);
        for _ in 0..self.at_once {
            match self.wish() {
                None => return self.record_waiting(),
                Some(EffectOutcome::Comes(input)) => {
                    let _ = self.one(*input);
                }
                Some(EffectOutcome::Begins { job, tries, request }) => self.begin(job, tries, request),
            }
        }
        self.endless = Some(self.now);
    }

    /// Returns true if the simulation has stopped because effects never end.
    pub(super) fn is_endless(&self) -> bool {
        self.endless.is_some()
    }

    /// Returns everything that was done.
    pub(super) fn ended(self) -> Result<Vec<SimulatedAction>, CommandError> {
        let Some(at) = self.endless else { return Ok(self.deeds) };
        let most = self.at_once;
        let last = self
            .deeds
            .last()
            .map_or_else(String::new, |deed| format!("; the last action was about {}", deed.about));
        let what = format!(
            "the configuration causes an endless loop: more than {most} steps in the moment {}{last}",
            at.0
        );
        Err(CommandError::new(FailureKind::Bug, what)
            .hint("this is a bug in ao; please report it with the configuration and the record"))
    }

    /// Starts a session for a task, if possible.
    fn begin(&mut self, job: JobId, tries: u32, request: Box<SpawnRequest>) {
        let said = match self.one(Input::Spawn(request)) {
            Ok(()) => "an agent was started".to_owned(),
            Err(Refusal::TaskTaken { .. }) => "a session works on it already".to_owned(),
            Err(refusal) => {
                let input = JobInput::Failed { tries, why: refusal.to_string(), again: false };
                let _ = self.one(Input::Job { job, input });
                return;
            }
        };
        let input = JobInput::Done { tries, outcome: JobOutcome::Done { said } };
        let _ = self.one(Input::Job { job, input });
    }

    /// Advances the clock, handling everything that falls due on the way.
    pub(super) fn until(&mut self, end: Timestamp) {
        while let Some(due) = self.state.next_due().filter(|due| *due <= end && !self.is_endless()) {
            let stood = self.now >= due;
            self.now = self.now.max(due);
            self.take(Input::Tick);
            if stood && self.state.next_due() == Some(due) {
                // The timer changes nothing; without a step it would fire for ever.
                self.now = self.now + Duration::from_secs(1);
            }
        }
        self.now = self.now.max(end);
    }

    /// Returns the oldest event that was not read yet.
    pub(super) fn next_event(&mut self) -> Option<StampedEvent> {
        self.happened.pop_front()
    }

    pub(super) fn apply(&mut self, session: SessionId, input: SessionInput) {
        self.take(Input::Session { session, input });
    }

    /// Reports a reading of a session's agent.
    pub(super) fn shows(&mut self, session: SessionId, reading: Reading) {
        self.shown.insert(session, reading.clone());
        if let Some(signal) = self.signal(session, reading) {
            self.apply(session, SessionInput::Signal(signal));
        }
    }

    fn signal(&self, session: SessionId, reading: Reading) -> Option<Signal> {
        let attempt = self.state.sessions.get(&session)?.attempt;
        Some(Signal {
            attempt,
            source: SignalSource::Hook,
            at: self.now,
            confidence: Confidence::High,
            reading,
        })
    }

    fn one(&mut self, input: Input) -> Result<(), Refusal> {
        self.seed += 1;
        let moment = Moment { at: self.now, seed: self.seed };
        for stamped in step(&mut self.state, &moment, input)? {
            self.deeds.extend(deed(&self.state, stamped.at, &stamped.event));
            self.happened.push_back(stamped);
        }
        Ok(())
    }

    /// Returns the outcome of the next effect that the core wants.
    fn wish(&self) -> Option<EffectOutcome> {
        if let Some(proof) = self.state.live().find_map(proof) {
            return Some(EffectOutcome::Comes(Box::new(proof)));
        }
        scopes(&self.state).iter().flat_map(|scope| wants(&self.state, scope)).find_map(|effect| match effect
        {
            Effect::RunJob { job } => match &job.order {
                JobOrder::Assign { task, agent, .. } => {
                    let request = Box::new(self.crew.request(&self.state, task, agent.as_deref()));
                    Some(EffectOutcome::Begins { job: job.id, tries: job.tries, request })
                }
                _ => self.done(Effect::RunJob { job }).map(EffectOutcome::comes),
            },
            effect => self.done(effect).map(EffectOutcome::comes),
        })
    }

    /// Returns the outcome of an effect. The world decides merges, and following output shows nothing.
    fn done(&self, effect: Effect) -> Option<Input> {
        let to = |session, input| Some(Input::Session { session, input });
        match effect {
            Effect::CreateWorkspace { session, attempt, plan, .. } => {
                let (path, base) = (format!("{}/.worktrees/{}", plan.repository, plan.name), "0".into());
                to(session, SessionInput::WorkspaceReady { attempt, path, base, as_found: false })
            }
            Effect::SetUp { session, attempt, .. } => to(session, SessionInput::SetUp { attempt }),
            Effect::Launch { session, attempt, plan, .. } => {
                let process = ProcessRef::new(&plan.runtime, format!("{session}/{attempt}"));
                to(session, SessionInput::Launched { attempt, process, conversation: None })
            }
            Effect::Deliver { order: DeliverOrder { session, attempt, delivery, tries, .. }, .. } => {
                to(session, SessionInput::Written { attempt, delivery, tries })
            }
            Effect::Look { order: LookOrder { session, attempt, .. }, .. } => {
                let reading = match (self.busy.contains(&session), self.shown.get(&session)) {
                    (true, _) => Reading::Working { doing: "its task".into() },
                    // A question stays open until it is answered.
                    (false, Some(asking @ Reading::Asking { .. })) => asking.clone(),
                    (false, _) => Reading::Idle,
                };
                let signals = self.signal(session, reading).into_iter().collect();
                to(session, SessionInput::Looked { attempt, signals })
            }
            Effect::Answer { order: AnswerOrder { session, attempt, number, .. }, .. } => {
                to(session, SessionInput::Answered { attempt, number })
            }
            Effect::CancelTurn { order: CancelOrder { session, attempt, number, .. }, .. } => {
                to(session, SessionInput::TurnCancelled { attempt, number, cut: true })
            }
            Effect::End { session, attempt, .. } => to(session, SessionInput::ProcessEnded { attempt }),
            Effect::EndStray { session, attempt, .. } => Some(Input::StrayEnded { session, attempt }),
            Effect::RemoveWorkspace { order, tries, .. } => {
                to(order.tree.session, SessionInput::WorkspaceRemoved { tries, rescue: None })
            }
            Effect::Notify { notice, channel } => {
                let (tries, id) = (notice.tries, notice.id);
                let input = match channel {
                    // The configuration decides the channels, in `report.rs`.
                    None => NoticeInput::Addressed { tries, channels: vec![] },
                    Some(channel) => NoticeInput::Told { channel, tries },
                };
                Some(Input::Notice { notice: id, input })
            }
            Effect::RunJob { job } => {
                let tries = job.tries;
                let input = match job.order {
                    JobOrder::CheckBase { .. } => JobInput::Done { tries, outcome: JobOutcome::BaseGreen {} },
                    JobOrder::Rebase { .. } => {
                        let why = "conflicts cannot be simulated".into();
                        JobInput::Failed { tries, why, again: false }
                    }
                    _ => JobInput::Done { tries, outcome: JobOutcome::Done { said: String::new() } },
                };
                Some(Input::Job { job: job.id, input })
            }
            _ => None,
        }
    }

    /// Records sessions that were requested and have no slot once everything has settled.
    fn record_waiting(&mut self) {
        let queued = self.happened.iter().filter_map(|stamped| match &stamped.event {
            Event::Session(id, SessionEvent::Queued { .. }) if stamped.at == self.now => Some(*id),
            _ => None,
        });
        for id in queued.collect::<Vec<_>>() {
            let Some(session) = self.state.sessions.get(&id) else { continue };
            let admitted = self.happened.iter().any(
                |stamped| matches!(&stamped.event, Event::Session(it, SessionEvent::Admitted { .. }) if *it == id),
            );
            let about = session.spec.name.clone();
            let told = self
                .deeds
                .iter()
                .any(|deed| deed.about == about && matches!(deed.what, ActionKind::Wait { .. }));
            if !admitted && !told {
                let why = session.status(self.now).reason;
                self.deeds.push(SimulatedAction { at: self.now, about, what: ActionKind::Wait { why } });
            }
        }
    }
}

/// The outcome of an effect.
enum EffectOutcome {
    Comes(Box<Input>),
    /// Starts a session for a task, then reports it.
    Begins {
        job: JobId,
        tries: u32,
        request: Box<SpawnRequest>,
    },
}

impl EffectOutcome {
    fn comes(input: Input) -> EffectOutcome {
        EffectOutcome::Comes(Box::new(input))
    }
}

/// Accepts every message on behalf of its agent.
fn proof(session: &Session) -> Option<Input> {
    let current =
        session.outbox.current.as_ref().filter(|it| matches!(it.stage, DeliveryStage::Written { .. }))?;
    let (attempt, delivery) = (session.attempt, Some(current.no));
    let turn = format!("{attempt}/{}", current.no);
    let cause = TurnCause::User { text: current.text.clone(), delivery };
    let report = AgentReport::TurnBegan { turn, cause };
    let (source, at) = (SignalSource::Protocol, session.judged);
    let input = SessionInput::Reported { attempt, source, at, report };
    Some(Input::Session { session: session.id, input })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::simulate::{MORNING, config};

    #[test]
    fn what_has_no_end_is_an_error_and_not_a_short_play() {
        let config = config("projects: { app: { path: /tmp/app } }");
        let mut simulation = Simulation::new(&config, MORNING);
        // A session takes more steps than this to start.
        simulation.at_once = 1;
        let task = ao_core::TaskId { project: ProjectId::new("app"), key: "1".into() };
        let request = simulation.crew.request(&simulation.state, &task, None);
        simulation.take(Input::Spawn(Box::new(request)));
        assert!(simulation.is_endless());
        let err = simulation.ended().expect_err("it did not end");
        assert!(err.to_string().contains("endless loop"), "{err}");
    }
}
