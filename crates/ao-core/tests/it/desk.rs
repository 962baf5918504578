//! A state on a desk: hand it inputs, let time pass, read what happened. Knows the API so that the tests need not.

use std::collections::BTreeSet;
use std::time::Duration;

use ao_core::agent_report::AgentReport;
use ao_core::budget::{SpendLimits, UsageTotal};
use ao_core::evidence::{AgentActivity, Confidence, Reading, Signal, SignalSource};
use ao_core::incident::{IncidentKey, IncidentKind};
use ao_core::input::SpawnRequest;
use ao_core::job::{JobInput, JobOrder, JobOutcome};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::reaction::ConditionJudge;
use ao_core::session::{
    AgentAbilities, AgentChoice, MessageKind, NewMessage, ProcessRef, Sender, Session, SessionInput,
    SessionRole,
};
use ao_core::task::TaskFacts;
use ao_core::{
    Attempt, DaemonSettings, Effect, Event, Input, Moment, ProjectId, Refusal, Scope, SessionId,
    StampedEvent, State, TaskId, Timestamp, codec, step, wants,
};

pub(crate) const TYPED: AgentAbilities =
    AgentAbilities { resume: true, prompt_at_launch: false, one_turn: false, steer: false, cancel: false };

pub(crate) struct Desk {
    pub(crate) state: State,
    /// Folded from what was stored and read back, to be compared with the state after every input.
    replayed: State,
    pub(crate) now: Timestamp,
    seed: u64,
    pub(crate) log: Vec<StampedEvent>,
}

impl Desk {
    pub(crate) fn new() -> Desk {
        Desk::with(DaemonSettings::default())
    }

    pub(crate) fn with(settings: DaemonSettings) -> Desk {
        let mut desk = Desk {
            state: State::default(),
            replayed: State::default(),
            now: Timestamp(1_700_000_000_000),
            seed: 0x100,
            log: vec![],
        };
        desk.take(Input::Configure(Box::new(settings)));
        let config = ProjectConfig {
            path: "~/app".into(),
            default_branch: "main".into(),
            max_live: None,
            ..ProjectConfig::default()
        };
        desk.take(Input::Project { project: app(), input: ProjectInput::Configure(Box::new(config)) });
        desk
    }

    pub(crate) fn judged_by(mut self, judge: ConditionJudge) -> Desk {
        self.state = self.state.judged_by(judge);
        self
    }

    // ── inputs ──

    pub(crate) fn try_take(&mut self, input: Input) -> Result<Vec<Event>, Refusal> {
        self.seed += 1;
        let moment = Moment { at: self.now, seed: self.seed };
        let before = self.state.clone();
        let happened = step(&mut self.state, &moment, input)
            .inspect_err(|_| assert_eq!(self.state, before, "a refused input changes nothing"))?;
        for stamped in &happened {
            let stored = codec::encode(&stamped.event);
            let event = codec::decode(&stored.kind, stored.version, &stored.scope, &stored.body).unwrap();
            assert_eq!(event, stamped.event, "what is stored is what happened");
            self.replayed.evolve(&StampedEvent { at: stamped.at, event });
        }
        assert_eq!(self.replayed, self.state, "the log replays to the same state");
        self.log.extend(happened.iter().cloned());
        Ok(happened.into_iter().map(|stamped| stamped.event).collect())
    }

    pub(crate) fn take(&mut self, input: Input) -> Vec<Event> {
        self.try_take(input).expect("the input is taken")
    }

    pub(crate) fn tell(&mut self, session: SessionId, input: SessionInput) -> Vec<Event> {
        self.take(Input::Session { session, input })
    }

    /// Lets time pass, with everything that falls due on the way. Whoever looks at an agent at rest finds it so.
    pub(crate) fn wait(&mut self, seconds: u64) {
        self.wait_unseen(seconds);
        let resting = self.state.live().filter(|session| {
            session.watch.wanted
                && matches!(session.judgement.activity, AgentActivity::Idle | AgentActivity::RateLimited)
        });
        for (session, attempt) in resting.map(|session| (session.id, session.attempt)).collect::<Vec<_>>() {
            self.tell(session, SessionInput::Looked { attempt, signals: vec![] });
        }
    }

    /// Lets time pass, and nobody looks.
    pub(crate) fn wait_unseen(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        while let Some(due) = self.state.next_due().filter(|due| *due <= end) {
            self.now = self.now.max(due);
            self.take(Input::Tick);
            assert!(self.state.next_due() != Some(due) || due > self.now, "time stands still at {due}");
        }
        self.now = end;
    }

    pub(crate) fn spawn(&mut self, key: &str) -> SessionId {
        self.try_spawn(key, TYPED).expect("the session is made")
    }

    pub(crate) fn try_spawn(&mut self, key: &str, abilities: AgentAbilities) -> Result<SessionId, Refusal> {
        let events = self.try_take(Input::Spawn(Box::new(request(key, abilities))))?;
        Ok(events.iter().find_map(Event::session).expect("a spawn makes a session"))
    }

    /// A session whose agent sits at its prompt, its task accepted.
    pub(crate) fn idle(&mut self, key: &str) -> SessionId {
        self.idle_with(key, TYPED)
    }

    /// A session with its workspace ready, about to be launched.
    pub(crate) fn spawn_with(&mut self, key: &str, abilities: AgentAbilities) -> SessionId {
        let session = self.try_spawn(key, abilities).expect("the session is made");
        self.make_ready(session);
        session
    }

    pub(crate) fn idle_with(&mut self, key: &str, abilities: AgentAbilities) -> SessionId {
        let session = self.spawn_with(key, abilities);
        self.launch(session);
        self.sees(session, SignalSource::Hook, Reading::Idle);
        if !abilities.prompt_at_launch {
            self.write(session);
        }
        let text = self.session(session).outbox.current.clone().expect("the task is on its way").text;
        self.prove(session, &text);
        self.now = self.now + Duration::from_secs(1);
        self.sees(session, SignalSource::Hook, Reading::Working { doing: "the task".into() });
        self.now = self.now + Duration::from_secs(1);
        self.sees(session, SignalSource::Hook, Reading::Idle);
        session
    }

    pub(crate) fn make_ready(&mut self, session: SessionId) {
        let attempt = self.session(session).attempt;
        let path = format!("~/app/.worktrees/{session}");
        self.tell(
            session,
            SessionInput::WorkspaceReady { attempt, path, base: "c0".into(), as_found: false },
        );
    }

    pub(crate) fn launch(&mut self, session: SessionId) {
        let attempt = self.session(session).attempt;
        let process = ProcessRef::new("process", format!("{attempt} of {session}"));
        self.tell(session, SessionInput::Launched { attempt, process, conversation: None });
    }

    pub(crate) fn ended(&mut self, session: SessionId) {
        let attempt = self.session(session).attempt;
        self.tell(session, SessionInput::ProcessEnded { attempt });
    }

    pub(crate) fn sees(&mut self, session: SessionId, source: SignalSource, reading: Reading) -> Vec<Event> {
        let signal = self.signal(session, source, reading);
        self.tell(session, SessionInput::Signal(signal))
    }

    /// The same, if it has a process.
    pub(crate) fn try_sees(&mut self, session: SessionId, source: SignalSource, reading: Reading) {
        let input = SessionInput::Signal(self.signal(session, source, reading));
        let _ = self.try_take(Input::Session { session, input });
    }

    pub(crate) fn signal(&self, session: SessionId, source: SignalSource, reading: Reading) -> Signal {
        let confidence = if source == SignalSource::Terminal { Confidence::Low } else { Confidence::High };
        Signal { attempt: self.session(session).attempt, source, at: self.now, confidence, reading }
    }

    pub(crate) fn send(&mut self, session: SessionId, body: &str) {
        self.tell(session, message(body, false));
    }

    /// The adapter has written what was to be written.
    pub(crate) fn write(&mut self, session: SessionId) {
        let (attempt, current) =
            (self.session(session).attempt, self.session(session).outbox.current.clone());
        let current = current.expect("a delivery is under way");
        let input = SessionInput::Written { attempt, delivery: current.no, tries: current.tries };
        self.tell(session, input);
    }

    pub(crate) fn prove(&mut self, session: SessionId, text: &str) {
        let attempt = self.session(session).attempt;
        self.seed += 1;
        let turn = format!("turn {}", self.seed);
        self.report_of(session, attempt, AgentReport::taken(&turn, text));
    }

    /// The agent reports something by its protocol.
    pub(crate) fn reports(&mut self, session: SessionId, report: AgentReport) {
        let attempt = self.session(session).attempt;
        self.report_of(session, attempt, report);
    }

    pub(crate) fn report_of(&mut self, session: SessionId, attempt: Attempt, report: AgentReport) {
        let (source, at) = (SignalSource::Protocol, self.now);
        self.tell(session, SessionInput::Reported { attempt, source, at, report });
    }

    pub(crate) fn spends(&mut self, session: SessionId, spend: UsageTotal) {
        self.reports(session, AgentReport::Usage { spend });
    }

    pub(crate) fn task(&mut self, key: &str, blocked_by: &[&str], closed: bool) {
        self.task_with(key, |facts| {
            facts.blocked_by = blocked_by.iter().map(|key| task(key)).collect();
            facts.closed = closed;
        });
    }

    pub(crate) fn task_with(&mut self, key: &str, change: impl FnOnce(&mut TaskFacts)) {
        self.now = self.now + Duration::from_secs(1);
        let mut facts = TaskFacts {
            observed: self.now,
            title: key.into(),
            labels: BTreeSet::new(),
            priority: 0,
            blocked_by: BTreeSet::new(),
            closed: false,
            trusted: true,
            branch: None,
            author: None,
        };
        change(&mut facts);
        self.take(Input::Task { task: task(key), facts: Box::new(facts) });
    }

    /// Runs every job that is wanted, and returns what was ordered.
    pub(crate) fn run_jobs(
        &mut self,
        mut run: impl FnMut(&JobOrder) -> Result<JobOutcome, String>,
    ) -> Vec<JobOrder> {
        let mut ordered = Vec::new();
        while let Some(job) = self.state.jobs.values().next().cloned() {
            let tries = job.tries;
            let input = match run(&job.order) {
                Ok(outcome) => JobInput::Done { tries, outcome },
                Err(why) => JobInput::Failed { tries, why, again: false },
            };
            ordered.push(job.order);
            self.take(Input::Job { job: job.id, input });
        }
        ordered
    }

    // ── questions ──

    pub(crate) fn session(&self, session: SessionId) -> &Session {
        &self.state.sessions[&session]
    }

    /// The status as a person reads it: word and reason.
    pub(crate) fn status(&self, session: SessionId) -> String {
        let status = self.session(session).status(self.now);
        format!("{}: {}", serde_json::to_value(status.word).unwrap().as_str().unwrap(), status.reason)
    }

    /// The effects that a session wants, by name. That its agent is read along with goes without saying.
    pub(crate) fn wants(&self, session: SessionId) -> Vec<String> {
        self.wanted(session).iter().map(|effect| effect.key().to_string()).collect()
    }

    pub(crate) fn wanted(&self, session: SessionId) -> Vec<Effect> {
        let mut wanted = wants(&self.state, &Scope::Session(session));
        wanted.retain(|effect| !matches!(effect, Effect::Follow { .. }));
        wanted
    }

    /// What people have been told, in order.
    /// What people are told, but for the changes that wait for their review.
    pub(crate) fn told(&self) -> Vec<String> {
        let told = self.state.notices.values().filter(|notice| !is_review(notice.incident.as_ref()));
        told.map(|notice| notice.text.clone()).collect()
    }

    /// The open problems; that a change waits for a review is none of them.
    pub(crate) fn open_problems(&self) -> usize {
        self.state.incidents.keys().filter(|key| !is_review(Some(key))).count()
    }

    pub(crate) fn count(&self, kind: &str) -> usize {
        self.log.iter().filter(|stamped| codec::encode(&stamped.event).kind == kind).count()
    }
}

fn is_review(key: Option<&IncidentKey>) -> bool {
    key.is_some_and(|key| key.kind == IncidentKind::ReviewNeeded)
}

pub(crate) fn app() -> ProjectId {
    ProjectId::new("app")
}

pub(crate) fn task(key: &str) -> TaskId {
    TaskId { project: app(), key: key.into() }
}

pub(crate) fn request(key: &str, abilities: AgentAbilities) -> SpawnRequest {
    SpawnRequest {
        project: app(),
        task: Some(task(key)),
        role: SessionRole::Worker,
        title: format!("task {key}"),
        prompt: format!("Do task {key}."),
        name: None,
        branch: None,
        origin: Default::default(),
        agent: AgentChoice { name: "scripted".into(), abilities, ..AgentChoice::default() },
        runtime: "process".into(),
        workspace: "worktree".into(),
        priority: 0,
        limits: SpendLimits::default(),
        trusted: false,
    }
}

pub(crate) fn message(body: &str, interrupt: bool) -> SessionInput {
    SessionInput::Send(NewMessage {
        from: Sender::Person("ann".into()),
        kind: MessageKind::Text,
        body: body.into(),
        interrupt,
        key: None,
    })
}

pub(crate) fn stop() -> SessionInput {
    SessionInput::Stop { by: "ann".into(), why: String::new() }
}

pub(crate) fn working() -> Reading {
    Reading::Working { doing: "cargo test".into() }
}

pub(crate) fn asking() -> Reading {
    Reading::Asking { question: "Allow `rm`?".into() }
}

pub(crate) fn exited(code: i32) -> Reading {
    Reading::Exited { code: Some(code) }
}

pub(crate) fn attempt(n: u32) -> Attempt {
    Attempt(n)
}
