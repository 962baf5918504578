//! The agent adapter for any program.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::effect::LaunchPlan;
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::input::ProcessLife;
use ao_core::session::AgentAbilities;
use ao_core::{Attempt, SessionId};
use ao_ports::{
    Agent, AgentError, AnswerOrder, AnswerOutcome, Clock, DeliverOrder, DeliveryOutcome, FollowOrder,
    LaunchPreparation, LookOrder, ProcessIo, ProcessRef, Reporter, Runtime, Runtimes,
};
use async_trait::async_trait;
use tokio::time::Instant;

use super::follower::OutputFollower;
use super::memory::TypedMemory;
use super::options::{Options, Prompt};
use super::output::OutputReader;
use super::patterns::{PatternError, ScreenPatterns};
use super::places::AgentPlaces;
use super::watching::signal;
use super::{launch, memory};
use crate::hook::{HookHistory, Spool};

/// A spinner that has not moved for this long may be a stale picture.
const MOVES: Duration = Duration::from_secs(10);

/// The dependencies of an agent adapter.
pub struct Ground {
    /// The runtimes that its processes may live in.
    pub runtimes: Runtimes,
    pub clock: Arc<dyn Clock>,
    /// A private folder, outside of every repository.
    pub state: PathBuf,
    /// The spool for hooks, which also issues the tokens of agents; required if the options have hooks. With it, every
    /// agent gets its own token, whether it runs hooks or not: without one, a program that an agent runs would pass for
    /// the user.
    pub hooks: Option<Arc<Spool>>,
    /// Variables for every agent that shares the files of this machine, so that the programs it runs find the daemon.
    pub environment: BTreeMap<String, String>,
    pub places: AgentPlaces,
}

/// The reason why a program cannot be an agent.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    #[error(transparent)]
    Pattern(#[from] PatternError),
    #[error("`{name}` has no `program`, so there is nothing to start")]
    NoProgram { name: String },
    #[error("`{name}` is to run hooks, but there is no spool to receive them")]
    NoSpool { name: String },
    #[error("`{name}` is to be typed at, which needs a terminal; leave `io` out, or say `terminal`")]
    NoTerminal { name: String },
    #[error(
        "`{name}` is spoken to on its stdin, which `io: output` does not give it; leave `io` out, or say `pipes`"
    )]
    NoInput { name: String },
    #[error("nothing would prove that `{name}` takes a message; give it hooks, or a pattern for its `draft`")]
    NoProof { name: String },
}

/// Any program as an agent.
pub struct CommandAgent {
    pub(super) options: Options,
    pub(super) patterns: ScreenPatterns,
    runtimes: Runtimes,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) history: Option<Arc<HookHistory>>,
    state: PathBuf,
    spool: Option<Arc<Spool>>,
    environment: BTreeMap<String, String>,
    places: AgentPlaces,
    reader: Arc<OutputReader>,
    processes: Mutex<HashMap<(SessionId, Attempt), Arc<AgentProcess>>>,
}

/// The state of one process.
pub(super) struct AgentProcess {
    session: SessionId,
    attempt: Attempt,
    state: PathBuf,
    /// Locked by each task that types, for the whole time. Absent until it was read.
    memory: tokio::sync::Mutex<Option<TypedMemory>>,
    /// The reader of its line protocol.
    pub(super) follower: OutputFollower,
    moved: Mutex<Option<Instant>>,
}

impl CommandAgent {
    pub fn new(options: Options, ground: Ground) -> Result<CommandAgent, OptionsError> {
        let spool = ground.hooks;
        if options.hooks && spool.is_none() {
            return Err(OptionsError::NoSpool { name: options.name });
        }
        let patterns = options.patterns()?;
        Ok(CommandAgent {
            patterns,
            reader: Arc::new(options.reader()?),
            history: spool.as_ref().filter(|_| options.hooks).map(|spool| spool.history()),
            options,
            runtimes: ground.runtimes,
            clock: ground.clock,
            state: ground.state,
            environment: ground.environment,
            places: ground.places,
            spool,
            processes: Mutex::default(),
        })
    }

    /// Returns the runtime that a process lives in.
    pub(super) fn runtime(&self, process: &ProcessRef) -> Result<&dyn Runtime, AgentError> {
        self.runtimes.of(process).map_err(failed)
    }

    pub(super) fn agent_process(&self, session: SessionId, attempt: Attempt) -> Arc<AgentProcess> {
        let mut processes = self.processes.lock().expect("no thread panics while looking one up");
        let new = || {
            Arc::new(AgentProcess {
                session,
                attempt,
                state: self.state.clone(),
                memory: tokio::sync::Mutex::default(),
                follower: OutputFollower::new(session, attempt, self.reader.clone()),
                moved: Mutex::default(),
            })
        };
        processes.entry((session, attempt)).or_insert_with(new).clone()
    }

    /// Drops the state of earlier processes of this session.
    fn clear_before(&self, session: SessionId, attempt: Attempt) {
        let mut processes = self.processes.lock().expect("no thread panics while looking one up");
        processes.retain(|(of, number), _| *of != session || *number >= attempt);
        memory::forget_before(&self.state, session, attempt);
    }

    /// Drops the state of a process that has ended.
    fn clear(&self, session: SessionId, attempt: Attempt) {
        self.processes.lock().expect("no thread panics while looking one up").remove(&(session, attempt));
        memory::forget(&self.state, session, attempt);
    }
}

impl Options {
    /// Checks if a program could be an agent with these options. Whether it is installed is another question.
    pub fn check(&self) -> Result<(), OptionsError> {
        self.patterns()?;
        self.reader().map(drop)
    }

    fn reader(&self) -> Result<OutputReader, OptionsError> {
        // Hooks are more reliable, where they exist.
        let (one_turn, launched) = (self.one_turn() && !self.hooks, self.prompt_at_launch() && !self.hooks);
        Ok(OutputReader::new(&self.output, one_turn, launched)?)
    }

    fn patterns(&self) -> Result<ScreenPatterns, OptionsError> {
        let name = || self.name.clone();
        if self.prompt == Prompt::Typed && self.io() != ProcessIo::Terminal {
            return Err(OptionsError::NoTerminal { name: name() });
        }
        if self.prompt == Prompt::Lines && self.io() == ProcessIo::Output {
            return Err(OptionsError::NoInput { name: name() });
        }
        if self.prompt == Prompt::Typed && !self.hooks && self.screen.draft.is_none() {
            return Err(OptionsError::NoProof { name: name() });
        }
        let patterns = ScreenPatterns::new(&self.screen, &self.first_launch)?;
        if self.program.is_empty() {
            return Err(OptionsError::NoProgram { name: name() });
        }
        Ok(patterns)
    }
}

impl AgentProcess {
    /// Locks the memory of what was typed at the process.
    pub(super) async fn memory(&self) -> io::Result<tokio::sync::MappedMutexGuard<'_, TypedMemory>> {
        let mut memory = self.memory.lock().await;
        if memory.is_none() {
            *memory = Some(TypedMemory::open(&self.state, self.session, self.attempt)?);
        }
        Ok(tokio::sync::MutexGuard::map(memory, |memory| memory.get_or_insert_default()))
    }

    pub(super) fn moved(&self) {
        *self.moved.lock().expect("no thread panics while setting it") = Some(Instant::now());
    }

    fn moves(&self) -> bool {
        let moved = *self.moved.lock().expect("no thread panics while setting it");
        moved.is_some_and(|moved| moved.elapsed() < MOVES)
    }
}

#[async_trait]
impl Agent for CommandAgent {
    fn abilities(&self) -> AgentAbilities {
        AgentAbilities {
            resume: self.options.resume.is_some(),
            prompt_at_launch: self.options.prompt_at_launch(),
            one_turn: self.options.one_turn(),
            steer: self.options.steer,
        }
    }

    async fn prepare(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &LaunchPlan,
    ) -> Result<LaunchPreparation, AgentError> {
        self.clear_before(session, attempt);
        let abilities = self.runtimes.get(&plan.runtime).map_err(failed)?.abilities();
        // Where no file of this machine is seen, `ao` is found by the `PATH` there, and messages refer to no log.
        let elsewhere = AgentPlaces { ao: "ao".to_owned(), check_logs: plan.path.clone() };
        let places = if abilities.shares_files { &self.places } else { &elsewhere };
        let mut prepared = launch::prepare(&self.options, places, abilities, plan)?;
        if let LaunchPreparation::Run { command, .. } = &mut prepared
            && abilities.shares_files
        {
            for (name, value) in &self.environment {
                command.env.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        if let (LaunchPreparation::Run { command, .. }, Some(spool)) = (&mut prepared, &self.spool) {
            if !self.options.hooks || !abilities.shares_files {
                command.env.extend([spool.token(session, attempt)]);
                return Ok(prepared);
            }
            command.env.extend(spool.environment(session, attempt));
            if let Some(prompt) = plan.prompt.as_deref().filter(|_| self.options.prompt == Prompt::Typed) {
                let agent_process = self.agent_process(session, attempt);
                let mut memory = agent_process.memory().await.map_err(failed)?;
                memory.launch(prompt, self.clock.now()).map_err(failed)?;
            }
        }
        Ok(prepared)
    }

    async fn deliver(&self, order: &DeliverOrder) -> Result<DeliveryOutcome, AgentError> {
        match self.options.prompt {
            Prompt::Lines => self.write_line(order).await,
            Prompt::Typed => self.type_in(order).await,
            Prompt::Argument | Prompt::Stdin | Prompt::File => Ok(DeliveryOutcome::Held {
                why: "it takes messages only when it is started".into(),
                signals: vec![],
            }),
        }
    }

    async fn follow(&self, order: &FollowOrder, reporter: Arc<dyn Reporter>) {
        let (session, attempt) = (order.session, order.attempt);
        let runtime = match self.runtime(&order.process) {
            Ok(runtime) => runtime,
            Err(err) => return tracing::warn!(%session, %err, "an agent is not read along with"),
        };
        if self.options.io() == ProcessIo::Terminal && !self.patterns.are_none() {
            self.watch_screen(order, runtime, &*reporter).await;
        } else {
            let agent_process = self.agent_process(session, attempt);
            agent_process.follower.run(order, runtime, &*reporter, &*self.clock).await;
        }
        self.clear(session, attempt);
    }

    async fn answer(&self, order: &AnswerOrder) -> Result<AnswerOutcome, AgentError> {
        match (self.options.prompt, self.options.io()) {
            (Prompt::Lines, _) => self.write_answer(order).await,
            (_, ProcessIo::Terminal) => self.press_answer(order).await,
            _ => Err(AgentError::Unable { agent: self.options.name.clone(), wish: "be answered".into() }),
        }
    }

    async fn look(&self, order: &LookOrder) -> Result<Vec<Signal>, AgentError> {
        let Some(process) = &order.process else {
            return Ok(vec![]);
        };
        // Its last claim is not repeated by our looking at it: an old claim must not pass for a new one.
        let runtime = self.runtime(process)?;
        let reading = match runtime.look(process).await {
            ProcessLife::Alive { busy } => Reading::Alive { busy },
            ProcessLife::Gone { code } => Reading::Exited { code },
            ProcessLife::Unheld => Reading::Unheld,
            ProcessLife::Unknown => Reading::Unreadable { why: "the runtime cannot tell".into() },
        };
        let alive = matches!(reading, Reading::Alive { .. });
        let busy = reading == Reading::Alive { busy: true };
        let (attempt, at) = (order.attempt, self.clock.now());
        let mut signals = vec![Signal {
            attempt,
            source: SignalSource::Process,
            at,
            confidence: Confidence::High,
            reading,
        }];
        if alive && self.options.io() == ProcessIo::Terminal && !self.patterns.are_none() {
            let seen = match runtime.screen(process).await {
                Ok(screen) => self.patterns.read(&screen, at),
                Err(err) => Reading::Unreadable { why: err.to_string() },
            };
            // For the same reason a spinner that stands still is no sign of work.
            if !matches!(seen, Reading::Working { .. }) || self.agent_process(order.session, attempt).moves()
            {
                signals.push(signal(attempt, at, seen));
            }
        }
        if busy && self.runs_silently(order.session, attempt) {
            let reading = Reading::Working { doing: String::new() };
            let (source, confidence) = (SignalSource::Protocol, Confidence::Medium);
            signals.push(Signal { attempt, source, at, confidence, reading });
        }
        Ok(signals)
    }
}

impl CommandAgent {
    /// Returns true if the program runs for one turn and has reported nothing yet: then it works while it is busy.
    fn runs_silently(&self, session: SessionId, attempt: Attempt) -> bool {
        self.options.one_turn()
            && !self.options.hooks
            && self.patterns.are_none()
            && !self.agent_process(session, attempt).follower.has_claimed()
    }
}

pub(super) fn failed(err: impl fmt::Display) -> AgentError {
    AgentError::Failed(err.to_string())
}

impl fmt::Debug for CommandAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandAgent").field("name", &self.options.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ground").field("state", &self.state).finish_non_exhaustive()
    }
}
