//! A world with the engine in it, and the words in which a test tells what happens there.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ao_core::budget::Limits;
use ao_core::evidence::{Confidence, Reading, Signal, Source};
use ao_core::input::SpawnRequest;
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::session::{
    AgentAbilities, AgentChoice, MessageKind, NewMessage, Role, Sender, Session, SessionInput, StatusWord,
};
use ao_core::{Event, Input, ProjectId, Refusal, SessionId, Settings, State, TaskId, Timestamp};
use ao_engine::{AskError, Core, Engine, EngineError, Handle, Options, Receipt, Rules};
use tokio::runtime::{Builder, Runtime};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fakes::{Fake, MemoryStore, SimClock, slots};
use crate::faults::Plan;
use crate::outside::{self, Happening, Key, Temper};
use crate::script;
use crate::trace::{Line, Trace};
use crate::universe::{Careless, Inner, Universe};
use crate::watch::{self, Invariant, Violation, Watched};

/// A world with the engine in it.
pub struct World {
    runtime: Runtime,
    pub(crate) sim: Sim,
}

/// The part of a world that lives on simulated time.
pub(crate) struct Sim {
    pub(crate) universe: Arc<Universe>,
    rules: Arc<dyn Rules>,
    options: Options,
    projects: Vec<ProjectId>,
    life: Option<Life>,
    /// Inputs on their way to the engine. Nobody waits for the answers.
    asks: JoinSet<()>,
    began: Instant,
}

/// One of the daemon's lives.
struct Life {
    handle: Handle,
    task: JoinHandle<Result<(), EngineError>>,
    stop: CancellationToken,
}

/// A session to be.
#[derive(Debug, Clone, Default)]
pub struct Spawn {
    pub task: Option<&'static str>,
    pub prompt: Option<&'static str>,
    pub abilities: AgentAbilities,
    pub limits: Limits,
    pub role: Option<Role>,
}

impl World {
    pub(crate) fn new(
        seed: u64,
        plan: Plan,
        careless: Careless,
        watching: Option<Invariant>,
        trace: Trace,
        rules: Arc<dyn Rules>,
    ) -> World {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O needs nothing from the system");
        let entered = runtime.enter();
        let began = Instant::now();
        let universe = Universe::new(seed, plan, careless, watching, trace);
        drop(entered);
        let projects = vec![ProjectId::new("app"), ProjectId::new("lib")];
        let options = Options {
            turn: 64,
            inbox: 64,
            snapshot_every: 150,
            reconcile_every: Duration::from_secs(30),
            effect_timeout: Duration::from_secs(20),
            store_retry: Duration::from_secs(1),
        };
        let asks = JoinSet::new();
        World { runtime, sim: Sim { universe, rules, options, projects, life: None, asks, began } }
    }

    /// A world in which nothing goes wrong by itself, with the settings that ship.
    pub fn calm() -> World {
        World::with(Settings::default())
    }

    pub fn with(settings: Settings) -> World {
        let trace = Trace::keeping(4000);
        let mut world = World::new(1, Plan::Calm, Careless::Nobody, None, trace, Arc::new(Core));
        world.start();
        world.ask(Input::Configure(Box::new(settings))).expect("settings are taken");
        for project in world.sim.projects.clone() {
            world.configure(&project, None);
        }
        world
    }

    fn configure(&mut self, project: &ProjectId, max_live: Option<u32>) {
        let path = format!("/src/{project}");
        let config =
            ProjectConfig { path, default_branch: "main".into(), max_live, daily: Limits::default() };
        let input = ProjectInput::Configure(config);
        self.ask(Input::Project { project: project.clone(), input }).expect("a project is taken");
    }

    // ── time and the daemon ──

    pub fn run_for(&mut self, seconds: u64) {
        let World { runtime, sim } = self;
        runtime.block_on(async {
            let until = sim.elapsed() + seconds * 1000;
            sim.run_until(until).await;
        });
        self.expect_sound();
    }

    pub fn crash(&mut self) {
        self.sim.universe.kill();
        let World { runtime, sim } = self;
        runtime.block_on(sim.revive());
    }

    pub(crate) fn start(&mut self) {
        let World { runtime, sim } = self;
        runtime.block_on(sim.start());
    }

    pub fn plan(&mut self, plan: Plan) {
        self.sim.universe.lock().faults.plan = plan;
    }

    /// Runs something on the world's own time.
    pub(crate) fn block_on<T>(&mut self, what: impl AsyncFnOnce(&mut Sim) -> T) -> T {
        let World { runtime, sim } = self;
        runtime.block_on(what(sim))
    }

    // ── people ──

    pub fn ask(&mut self, input: Input) -> Result<Vec<Event>, Refusal> {
        let World { runtime, sim } = self;
        match runtime.block_on(sim.ask(input)) {
            Ok(receipt) => Ok(receipt.events.into_iter().map(|stamped| stamped.event).collect()),
            Err(AskError::Refused(refusal)) => Err(refusal),
            Err(other) => panic!("the engine gave no answer: {other}"),
        }
    }

    pub fn spawn(&mut self, spawn: Spawn) -> Result<SessionId, Refusal> {
        let events = self.ask(Input::Spawn(Box::new(request(spawn))))?;
        Ok(events.iter().find_map(Event::session).expect("a spawn is an event of a session"))
    }

    /// Hands in the same request many times at once, and returns what each came to.
    pub fn spawn_at_once(&mut self, times: usize, spawn: &Spawn) -> Vec<Result<SessionId, Refusal>> {
        let World { runtime, sim } = self;
        let handle = sim.handle();
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for _ in 0..times {
                let (handle, input) = (handle.clone(), Input::Spawn(Box::new(request(spawn.clone()))));
                set.spawn(async move { handle.ask(input).await });
            }
            let answers = set.join_all().await;
            let told = |answer: Result<Receipt, AskError>| match answer {
                Ok(receipt) => Ok(receipt
                    .events
                    .iter()
                    .find_map(|stamped| stamped.event.session())
                    .expect("a spawn is an event of a session")),
                Err(AskError::Refused(refusal)) => Err(refusal),
                Err(other) => panic!("the engine gave no answer: {other}"),
            };
            answers.into_iter().map(told).collect()
        })
    }

    pub fn send(&mut self, session: SessionId, body: &str) -> Result<Vec<Event>, Refusal> {
        self.ask(message(session, body, false, None))
    }

    pub fn interrupt(&mut self, session: SessionId, body: &str) -> Result<Vec<Event>, Refusal> {
        self.ask(message(session, body, true, None))
    }

    pub fn tell(&mut self, session: SessionId, input: SessionInput) -> Result<Vec<Event>, Refusal> {
        self.ask(Input::Session { session, input })
    }

    // ── agents ──

    pub fn temper(&mut self, session: SessionId, temper: Temper) {
        self.sim.universe.lock().outside.set_temper(session, temper);
    }

    /// How agents behave that were given no temper of their own.
    pub fn usual_temper(&mut self, temper: Temper) {
        self.sim.universe.lock().outside.usual = temper;
    }

    /// The agent shows something, as its hook tells it.
    pub fn agent_shows(&mut self, session: SessionId, source: Source, reading: Reading) {
        let attempt = self.session(session).attempt;
        let at = self.now();
        let confidence = Confidence::High;
        let signal = Signal { attempt, source, at, confidence, reading };
        // A refusal is an answer too.
        let _ = self.tell(session, SessionInput::Signal(signal));
    }

    /// A person types into the agent's terminal.
    pub fn human_types(&mut self, session: SessionId) {
        let key = self.process_of(session);
        outside::human_types(&mut self.sim.universe.lock(), key);
    }

    /// The process is killed from outside, and nobody says so.
    pub fn kill_agent(&mut self, session: SessionId) {
        let key = self.process_of(session);
        outside::kill(&mut self.sim.universe.lock(), key, None);
    }

    /// How often this text is a user's turn, over all conversations.
    pub fn turns_with(&self, text: &str) -> usize {
        let inner = self.sim.universe.lock();
        inner.outside.conversations.values().flatten().filter(|turn| turn.text.contains(text)).count()
    }

    pub fn living(&self) -> usize {
        self.sim.universe.lock().outside.living().count()
    }

    /// The notices that reached a person, by their keys, and how often each did.
    pub fn told(&self) -> Vec<(String, u32)> {
        self.sim.universe.lock().outside.told.clone().into_iter().collect()
    }

    fn process_of(&self, session: SessionId) -> Key {
        (session, self.session(session).attempt)
    }

    // ── looking ──

    /// The state as the log tells it.
    pub fn state<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        look(&self.sim.universe.lock().log.shadow)
    }

    pub fn session(&self, session: SessionId) -> Session {
        self.state(|state| (**state.sessions.get(&session).expect("the session exists")).clone())
    }

    pub fn status(&self, session: SessionId) -> (StatusWord, String) {
        let status = self.session(session).status(self.now());
        (status.word, status.reason)
    }

    pub fn now(&self) -> Timestamp {
        let entered = self.runtime.enter();
        let now = self.sim.universe.lock().wall();
        drop(entered);
        now
    }

    /// How many events of this kind are in the log.
    pub fn count(&self, kind: &str) -> usize {
        self.sim.universe.lock().log.records.iter().filter(|record| record.kind == kind).count()
    }

    pub fn violation(&self) -> Option<Violation> {
        self.sim.universe.lock().violation.clone()
    }

    /// What happened last.
    pub fn trace(&self, lines: usize) -> String {
        self.sim.universe.lock().trace.last(lines)
    }

    /// Fails the test if anything did not hold, and shows what led to it.
    pub fn expect_sound(&self) {
        if let Some(violation) = self.violation() {
            panic!("{violation}\n{}", self.trace(60));
        }
    }

    /// The whole check that a run ends with.
    pub fn expect_at_rest(&mut self) {
        {
            let mut inner = self.sim.universe.lock();
            watch::replays(&mut inner);
            watch::at_rest(&mut inner);
        }
        self.expect_sound();
    }
}

impl Sim {
    fn elapsed(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    fn handle(&self) -> Handle {
        self.life.as_ref().expect("the daemon is up").handle.clone()
    }

    // ── the daemon's lives ──

    /// Starts the daemon, again and again until it is up: reading the log can fail too.
    pub(crate) async fn start(&mut self) {
        loop {
            let fake = {
                let mut inner = self.universe.lock();
                inner.life += 1;
                inner.dead = false;
                let life = inner.life;
                inner.note(|| Line::Note(format!("the daemon starts, life {life}")));
                Fake { universe: self.universe.clone(), life }
            };
            let stop = CancellationToken::new();
            let watched = Watched { universe: self.universe.clone(), rules: self.rules.clone() };
            let opened = tokio::select! {
                biased;
                () = self.universe.crashed.notified() => continue,
                opened = Engine::open(
                    self.options.clone(),
                    Arc::new(watched),
                    slots(&fake, &self.projects),
                    Arc::new(MemoryStore(fake.clone())),
                    Arc::new(SimClock(fake.clone())),
                    stop.clone(),
                ) => opened,
            };
            match opened {
                Ok((engine, handle)) => {
                    self.life = Some(Life { handle, task: tokio::spawn(engine.run()), stop });
                    return;
                }
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }

    /// The daemon is dead; what it had in memory is gone, and the next one starts from the log.
    pub(crate) async fn revive(&mut self) {
        if let Some(life) = self.life.take() {
            life.task.abort();
            let _ = life.task.await;
        }
        {
            let mut inner = self.universe.lock();
            inner.note(|| Line::Note("the daemon crashed".into()));
            if inner.careless == Careless::Store {
                inner.log.records.pop();
            }
            watch::replays(&mut inner);
        }
        self.start().await;
    }

    /// An orderly restart.
    pub(crate) async fn restart(&mut self) {
        if let Some(life) = self.life.take() {
            life.stop.cancel();
            tokio::select! {
                biased;
                () = self.universe.crashed.notified() => {}
                _ = life.task => {}
            }
        }
        watch::replays(&mut self.universe.lock());
        self.start().await;
    }

    // ── what happens ──

    /// Lets the world go on until then, or until something does not hold.
    pub(crate) async fn run_until(&mut self, until: u64) {
        loop {
            let next = {
                let inner = self.universe.lock();
                if inner.violation.is_some() {
                    return;
                }
                inner.outside.next().unwrap_or(until).min(until)
            };
            let wake = self.began + Duration::from_millis(next);
            let life = self.life.as_mut().expect("the daemon is up");
            tokio::select! {
                biased;
                () = self.universe.crashed.notified() => self.revive().await,
                ended = &mut life.task => {
                    self.life = None;
                    let what = match ended {
                        Ok(Ok(())) => "it stopped by itself".to_owned(),
                        Ok(Err(err)) => format!("it gave up: {err}"),
                        Err(err) => format!("it panicked: {err}"),
                    };
                    self.universe.lock().broken(Invariant::EngineLives, what);
                    self.start().await;
                }
                () = tokio::time::sleep_until(wake) => {
                    while self.asks.try_join_next().is_some() {}
                    let now = self.elapsed();
                    loop {
                        let due = self.universe.lock().outside.pop_due(now);
                        let Some(happening) = due else { break };
                        self.happens(happening).await;
                    }
                    if now >= until {
                        return;
                    }
                }
            }
        }
    }

    async fn happens(&mut self, happening: Happening) {
        match happening {
            Happening::Report(report) => self.post(script::input_of(report)),
            Happening::Act => script::act(self).await,
            other => outside::perform(&mut self.universe.lock(), other),
        }
    }

    /// Sends an input to the engine, if it is up to hear it.
    pub(crate) fn post(&mut self, input: Input) {
        let Some(life) = &self.life else { return };
        let handle = life.handle.clone();
        self.asks.spawn(async move {
            let _ = handle.ask(input).await;
        });
    }

    pub(crate) async fn ask(&mut self, input: Input) -> Result<Receipt, AskError> {
        let handle = self.handle();
        handle.ask(input).await
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Inner) -> T) -> T {
        look(&mut self.universe.lock())
    }
}

/// The request that a test's few words come to.
pub(crate) fn request(spawn: Spawn) -> SpawnRequest {
    let project = ProjectId::new("app");
    SpawnRequest {
        task: spawn.task.map(|key| TaskId { project: project.clone(), key: key.into() }),
        project,
        role: spawn.role.unwrap_or(Role::Worker),
        title: "some work".into(),
        prompt: spawn.prompt.unwrap_or("do the work").into(),
        name: None,
        branch: None,
        agent: AgentChoice { name: "fake".into(), account: None, model: None, abilities: spawn.abilities },
        runtime: "process".into(),
        workspace: "worktree".into(),
        priority: 0,
        limits: spawn.limits,
    }
}

pub(crate) fn message(session: SessionId, body: &str, interrupt: bool, key: Option<String>) -> Input {
    let from = Sender::Person("ann".into());
    let new = NewMessage { from, kind: MessageKind::Text, body: body.into(), interrupt, key };
    Input::Session { session, input: SessionInput::Send(new) }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").finish_non_exhaustive()
    }
}
