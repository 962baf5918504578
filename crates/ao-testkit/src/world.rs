//! A world with the engine in it, and the operations of a test.

use std::fmt;
use std::sync::Arc;

use ao_core::budget::SpendLimits;
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::input::SpawnRequest;
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::{CheckState, PullFacts, PullInput};
use ao_core::session::{
    AgentAbilities, AgentChoice, MessageKind, NewMessage, Sender, Session, SessionInput, SessionRole,
    StatusWord,
};
use ao_core::task::TaskFacts;
use ao_core::{
    Commit, DaemonSettings, Event, Input, ProjectId, PullId, Refusal, SessionId, State, TaskId, Timestamp,
};
use ao_engine::{AskError, CoreRules, EngineRules, InputReceipt};
use ao_ports::LookHint;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::faults::{Fault, FaultPlan, PortCall};
use crate::outside::{self, AgentBehaviour, ProcessKey};
use crate::parts::DaemonParts;
use crate::sim::SimDriver;
use crate::trace::Trace;
use crate::universe::{FakeBug, SimUniverse};
use crate::watch::{self, Invariant, Violation};

/// A world with the engine in it.
pub struct SimWorld {
    runtime: Runtime,
    pub(crate) sim: SimDriver,
}

/// The parameters of a spawn.
#[derive(Debug, Clone, Default)]
pub struct SpawnSpec {
    pub task: Option<&'static str>,
    pub prompt: Option<&'static str>,
    pub abilities: AgentAbilities,
    pub limits: SpendLimits,
    pub role: Option<SessionRole>,
}

impl SimWorld {
    pub(crate) fn new(
        seed: u64,
        plan: FaultPlan,
        fake_bug: FakeBug,
        watching: Option<Invariant>,
        trace: Trace,
        rules: Arc<dyn EngineRules>,
        parts: Arc<dyn DaemonParts>,
    ) -> SimWorld {
        let runtime = Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O needs nothing from the system");
        let entered = runtime.enter();
        let sim = SimDriver::new(SimUniverse::new(seed, plan, fake_bug, watching, trace), rules, parts);
        drop(entered);
        SimWorld { runtime, sim }
    }

    /// Creates a world without faults, with the settings that ship.
    pub fn calm(parts: Arc<dyn DaemonParts>) -> SimWorld {
        SimWorld::with(parts, DaemonSettings::default())
    }

    pub fn with(parts: Arc<dyn DaemonParts>, settings: DaemonSettings) -> SimWorld {
        let (trace, rules) = (Trace::keeping(4000), Arc::new(CoreRules));
        let mut world = SimWorld::new(1, FaultPlan::Calm, FakeBug::None, None, trace, rules, parts);
        world.start();
        world.ask(Input::Configure(Box::new(settings))).expect("settings are taken");
        for project in world.sim.projects.clone() {
            world.configure(&project, None);
        }
        world
    }

    fn configure(&mut self, project: &ProjectId, max_live: Option<u32>) {
        let path = format!("/src/{project}");
        let config = ProjectConfig {
            path,
            default_branch: "main".into(),
            max_live,
            setup: crate::script::setup(),
            ..ProjectConfig::default()
        };
        let input = ProjectInput::Configure(Box::new(config));
        self.ask(Input::Project { project: project.clone(), input }).expect("a project is taken");
    }

    // ── time and the daemon ──

    pub fn run_for(&mut self, seconds: u64) {
        self.run_for_ms(seconds * 1000);
    }

    pub fn run_for_ms(&mut self, millis: u64) {
        let SimWorld { runtime, sim } = self;
        runtime.block_on(async {
            let until = sim.elapsed() + millis;
            sim.run_until(until).await;
        });
        self.expect_sound();
    }

    pub fn crash(&mut self) {
        self.sim.universe.kill();
        let SimWorld { runtime, sim } = self;
        runtime.block_on(sim.revive());
    }

    /// Ends the daemon and every process at once, and then starts the daemon.
    pub fn reboot(&mut self) {
        self.sim.universe.kill();
        {
            let mut inner = self.sim.universe.lock();
            let living: Vec<_> = inner.outside.living().map(|(key, _)| *key).collect();
            living.into_iter().for_each(|key| crate::outside::kill(&mut inner, key, None));
        }
        let SimWorld { runtime, sim } = self;
        runtime.block_on(sim.revive());
    }

    pub(crate) fn start(&mut self) {
        let SimWorld { runtime, sim } = self;
        runtime.block_on(sim.start());
    }

    pub fn plan(&mut self, plan: FaultPlan) {
        self.sim.universe.lock().faults.plan = plan;
    }

    /// Panics unless the planned fault was injected: a story that never makes the call proves nothing about it.
    pub fn expect_injected(&self, call: PortCall, fault: Fault) {
        let count = self.sim.universe.lock().faults.count(call, fault);
        assert!(count > 0, "{call} was never made, so \"{fault}\" was not tried");
    }

    /// Runs something on the world's own time.
    pub(crate) fn block_on<T>(&mut self, what: impl AsyncFnOnce(&mut SimDriver) -> T) -> T {
        let SimWorld { runtime, sim } = self;
        runtime.block_on(what(sim))
    }

    // ── people ──

    pub fn ask(&mut self, input: Input) -> Result<Vec<Event>, Refusal> {
        let SimWorld { runtime, sim } = self;
        match runtime.block_on(sim.ask(input)) {
            Ok(receipt) => Ok(receipt.events.into_iter().map(|stamped| stamped.event).collect()),
            Err(AskError::Refused(refusal)) => Err(refusal),
            Err(other) => panic!("the engine gave no answer: {other}"),
        }
    }

    pub fn spawn(&mut self, spawn: SpawnSpec) -> Result<SessionId, Refusal> {
        let events = self.ask(Input::Spawn(Box::new(request(spawn))))?;
        Ok(events.iter().find_map(Event::session).expect("a spawn is an event of a session"))
    }

    /// Sends the same request many times at once, and returns all answers.
    pub fn spawn_at_once(&mut self, times: usize, spawn: &SpawnSpec) -> Vec<Result<SessionId, Refusal>> {
        let SimWorld { runtime, sim } = self;
        let handle = sim.handle();
        runtime.block_on(async {
            let mut set = JoinSet::new();
            for _ in 0..times {
                let (handle, input) = (handle.clone(), Input::Spawn(Box::new(request(spawn.clone()))));
                set.spawn(async move { handle.ask(input).await });
            }
            let answers = set.join_all().await;
            let session_of = |answer: Result<InputReceipt, AskError>| match answer {
                Ok(receipt) => Ok(receipt
                    .events
                    .iter()
                    .find_map(|stamped| stamped.event.session())
                    .expect("a spawn is an event of a session")),
                Err(AskError::Refused(refusal)) => Err(refusal),
                Err(other) => panic!("the engine gave no answer: {other}"),
            };
            answers.into_iter().map(session_of).collect()
        })
    }

    pub fn send(&mut self, session: SessionId, body: &str) -> Result<Vec<Event>, Refusal> {
        self.ask(message(session, body, false, None))
    }

    pub fn interrupt(&mut self, session: SessionId, body: &str) -> Result<Vec<Event>, Refusal> {
        self.ask(message(session, body, true, None))
    }

    pub fn send_keyed(&mut self, session: SessionId, body: &str, key: &str) -> Result<Vec<Event>, Refusal> {
        self.ask(message(session, body, false, Some(key.into())))
    }

    /// Sends an input without waiting for the answer, because the daemon may be down.
    pub fn post(&mut self, session: SessionId, input: SessionInput) {
        let SimWorld { runtime, sim } = self;
        let entered = runtime.enter();
        sim.post(Input::Session { session, input });
        drop(entered);
    }

    pub fn post_message(&mut self, session: SessionId, body: &str) {
        let Input::Session { input, .. } = message(session, body, false, None) else { return };
        self.post(session, input);
    }

    pub fn send_input(&mut self, session: SessionId, input: SessionInput) -> Result<Vec<Event>, Refusal> {
        self.ask(Input::Session { session, input })
    }

    // ── agents ──

    pub fn behaviour(&mut self, session: SessionId, behaviour: AgentBehaviour) {
        self.sim.universe.lock().outside.set_behaviour(session, behaviour);
    }

    /// Sets the behaviour of agents without one of their own.
    pub fn default_behaviour(&mut self, behaviour: AgentBehaviour) {
        self.sim.universe.lock().outside.default_behaviour = behaviour;
    }

    /// The agent reports something, by its hook.
    pub fn agent_shows(&mut self, session: SessionId, source: SignalSource, reading: Reading) {
        let attempt = self.session(session).attempt;
        let at = self.now();
        let confidence = Confidence::High;
        let signal = Signal { attempt, source, at, confidence, reading };
        // A refusal is an answer too.
        let _ = self.send_input(session, SessionInput::Signal(signal));
    }

    /// A person types into the agent's terminal.
    pub fn human_types(&mut self, session: SessionId) {
        let key = self.process_of(session);
        let entered = self.runtime.enter();
        outside::human_types(&mut self.sim.universe.lock(), key);
        drop(entered);
    }

    /// A person answers the open dialog.
    pub fn answer_dialog(&mut self, session: SessionId) {
        let key = self.process_of(session);
        let entered = self.runtime.enter();
        outside::answer(&mut self.sim.universe.lock(), key);
        drop(entered);
    }

    /// Sets how many reports of a thousand are lost, doubled or late.
    pub fn lossy_reports(&mut self, per_mille: u16) {
        self.sim.universe.lock().outside.lossy_reports = per_mille;
    }

    /// Kills the process from outside, without a report.
    pub fn kill_agent(&mut self, session: SessionId) {
        let key = self.process_of(session);
        let entered = self.runtime.enter();
        outside::kill(&mut self.sim.universe.lock(), key, None);
        drop(entered);
    }

    /// Kills the holder of the agent's terminal; the agent lives on.
    pub fn kill_holder(&mut self, session: SessionId) {
        let key = self.process_of(session);
        let entered = self.runtime.enter();
        outside::lose_holder(&mut self.sim.universe.lock(), key);
        drop(entered);
    }

    /// Returns how often this text is a user's turn, over all conversations.
    pub fn turns_with(&self, text: &str) -> usize {
        let inner = self.sim.universe.lock();
        inner.outside.conversations.values().flatten().filter(|turn| turn.text.contains(text)).count()
    }

    /// Returns the user's turns of a session's conversation, in order.
    pub fn conversation(&self, session: SessionId) -> Vec<String> {
        let conversation = self.session(session).launch.conversation;
        let inner = self.sim.universe.lock();
        let turns = conversation.and_then(|conversation| inner.outside.conversations.get(&conversation));
        turns.into_iter().flatten().map(|turn| turn.text.clone()).collect()
    }

    // ── the forge ──

    /// The session opens a pull request, and the daemon sees it.
    pub fn open_pull(&mut self, session: SessionId) -> PullId {
        let pull = self.open_pull_unseen(session);
        self.look_at(&pull);
        let claim = PullInput::Claim { session };
        self.ask(Input::Pull { pull: pull.clone(), input: claim }).expect("a session claims its own");
        pull
    }

    /// The session opens a pull request, and there is no hint.
    pub fn open_pull_unseen(&mut self, session: SessionId) -> PullId {
        let spec = self.session(session).spec;
        let pull = PullId { project: spec.project.clone(), number: 1 };
        let facts = outside::fresh_pull(&spec.branch, Commit::new("b0"), self.now());
        self.sim.universe.lock().outside.pulls.insert(pull.clone(), facts);
        pull
    }

    /// Changes the one check of a pull request, and the daemon sees it.
    pub fn check(&mut self, pull: &PullId, state: CheckState) {
        self.set_check(pull, state);
        self.run_for(1);
    }

    /// Changes the one check of a pull request, and sends a hint.
    pub fn set_check(&mut self, pull: &PullId, state: CheckState) {
        if let Some(facts) = self.sim.universe.lock().outside.pulls.get_mut(pull) {
            outside::check(facts, state);
        }
        self.hint(LookHint::Pull(pull.clone()));
    }

    /// The agent pushes another commit, and the daemon sees it.
    pub fn push(&mut self, pull: &PullId, head: &str) {
        if let Some(facts) = self.sim.universe.lock().outside.pulls.get_mut(pull) {
            facts.head = Commit::new(head);
            facts.checks.clear();
        }
        self.look_at(pull);
    }

    /// Sets whether reruns of checks pass.
    pub fn passes_when_run_again(&mut self, passes: bool) {
        self.sim.universe.lock().outside.passes_again = Some(passes);
    }

    /// Moves the base to a tip that passes its checks or does not, and the daemon sees it.
    pub fn base(&mut self, pull: &PullId, tip: &str, red: bool) {
        {
            let mut inner = self.sim.universe.lock();
            let tip = Commit::new(tip);
            if red {
                inner.outside.red.insert((pull.project.clone(), tip.clone()));
            }
            inner.outside.tips.insert(pull.project.clone(), tip.clone());
            if let Some(facts) = inner.outside.pulls.get_mut(pull) {
                facts.base = tip;
            }
        }
        self.look_at(pull);
    }

    /// A reviewer approves it, and the daemon sees it.
    pub fn approve(&mut self, pull: &PullId) {
        if let Some(facts) = self.sim.universe.lock().outside.pulls.get_mut(pull) {
            outside::approve(facts);
        }
        self.look_at(pull);
    }

    /// A reviewer asks for something in a thread, and the daemon sees it.
    pub fn ask_for(&mut self, pull: &PullId, body: &str) {
        if let Some(facts) = self.sim.universe.lock().outside.pulls.get_mut(pull) {
            outside::ask_for(facts, body);
        }
        self.look_at(pull);
    }

    /// Returns a pull request as it is at the forge.
    pub fn at_forge(&self, pull: &PullId) -> PullFacts {
        self.sim.universe.lock().outside.pulls[pull].clone()
    }

    /// The forge sends a hint at a pull request, and the daemon looks.
    pub fn look_at(&mut self, pull: &PullId) {
        self.hint(LookHint::Pull(pull.clone()));
        self.run_for(1);
    }

    /// Sends a hint.
    pub fn hint(&mut self, hint: LookHint) {
        let entered = self.runtime.enter();
        outside::hint(&mut self.sim.universe.lock(), hint);
        drop(entered);
    }

    /// Changes an issue of the tracker, or adds it, and sends a hint.
    pub fn task(&mut self, task: &TaskId, change: impl FnOnce(&mut TaskFacts)) {
        let entered = self.runtime.enter();
        let mut inner = self.sim.universe.lock();
        inner.outside.tasks.entry(task.clone()).or_insert_with(|| outside::fresh_task(task));
        outside::change_task(&mut inner, task, |issue| change(&mut issue.facts));
        drop(inner);
        drop(entered);
    }

    /// Returns true if an issue is closed at its tracker.
    pub fn is_closed(&self, task: &TaskId) -> bool {
        self.sim.universe.lock().outside.tasks[task].facts.closed
    }

    /// Makes the forge and the tracker of a project hang, or answer again.
    pub fn hang_forge(&mut self, project: &ProjectId, hangs: bool) {
        let hanging = &mut self.sim.universe.lock().outside.hanging;
        if hangs {
            hanging.insert(project.clone())
        } else {
            hanging.remove(project)
        };
    }

    /// Returns the number of looks at pull requests, those that failed included.
    pub fn looks(&self) -> u64 {
        self.sim.universe.lock().outside.looks
    }

    /// Returns the number of workspaces.
    pub fn trees(&self) -> usize {
        self.sim.universe.lock().outside.trees.len()
    }

    pub fn living(&self) -> usize {
        self.sim.universe.lock().outside.living().count()
    }

    /// Returns the notices that reached a person, by their keys, with their count.
    pub fn notified(&self) -> Vec<(String, u32)> {
        self.sim.universe.lock().outside.notified.clone().into_iter().collect()
    }

    /// Returns how often a command of a user was run.
    pub fn commands(&self) -> u32 {
        self.sim.universe.lock().outside.commands
    }

    fn process_of(&self, session: SessionId) -> ProcessKey {
        (session, self.session(session).attempt)
    }

    // ── looking ──

    /// Reads the state as derived from the log.
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

    /// Returns the number of events of this kind in the log.
    pub fn count(&self, kind: &str) -> usize {
        self.sim.universe.lock().log.records.iter().filter(|record| record.kind == kind).count()
    }

    pub fn violation(&self) -> Option<Violation> {
        self.sim.universe.lock().violation.clone()
    }

    /// Returns the last entries of the trace.
    pub fn trace(&self, lines: usize) -> String {
        self.sim.universe.lock().trace.last(lines)
    }

    /// Fails the test if an invariant was violated, and shows the trace.
    pub fn expect_sound(&self) {
        if let Some(violation) = self.violation() {
            panic!("{violation}\n{}", self.trace(60));
        }
    }

    /// Runs the final checks of a run.
    pub fn expect_at_rest(&mut self) {
        {
            let mut inner = self.sim.universe.lock();
            watch::replays(&mut inner);
            watch::at_rest(&mut inner);
        }
        self.expect_sound();
    }
}

/// Returns the request for a spawn.
pub(crate) fn request(spawn: SpawnSpec) -> SpawnRequest {
    let project = ProjectId::new("app");
    SpawnRequest {
        task: spawn.task.map(|key| TaskId { project: project.clone(), key: key.into() }),
        project,
        role: spawn.role.unwrap_or(SessionRole::Worker),
        title: "some work".into(),
        prompt: spawn.prompt.unwrap_or("do the work").into(),
        name: None,
        branch: None,
        origin: Default::default(),
        agent: AgentChoice { name: "fake".into(), abilities: spawn.abilities, ..AgentChoice::default() },
        runtime: "process".into(),
        workspace: "worktree".into(),
        priority: 0,
        limits: spawn.limits,
        trusted: false,
    }
}

pub(crate) fn message(session: SessionId, body: &str, interrupt: bool, key: Option<String>) -> Input {
    let from = Sender::Person("ann".into());
    let new = NewMessage { from, kind: MessageKind::Text, body: body.into(), interrupt, key };
    Input::Session { session, input: SessionInput::Send(new) }
}

impl fmt::Debug for SimWorld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimWorld").finish_non_exhaustive()
    }
}
