//! The agent adapter for any program.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use ao_core::effect::LaunchPlan;
use ao_core::evidence::{Reading, Signal, SignalSource};
use ao_core::session::{AgentAbilities, AgentMode};
use ao_core::{Attempt, SessionId};
use ao_ports::{
    Agent, AgentError, AnswerOrder, AnswerOutcome, CancelOrder, Cancelled, Clock, DeliverOrder,
    DeliveryOutcome, FollowOrder, LaunchPreparation, LookOrder, ProcessIo, Reporter, Runtimes,
};
use async_trait::async_trait;

use super::base::{DriverBase, failed};
use super::drivers::lines::LinesDriver;
use super::drivers::one_turn::OneTurnDriver;
use super::drivers::output::OutputReader;
use super::drivers::protocol::{ProtocolDriver, ProtocolLaunch};
use super::drivers::terminal::TerminalDriver;
use super::drivers::terminal::patterns::{PatternError, ScreenPatterns};
use super::drivers::{AgentDriver, ProcessLook};
use super::launch;
use super::options::{Options, Prompt};
use super::places::AgentPlaces;
use crate::hook::Spool;

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
    #[error("`{name}` gets its messages by its `protocol`; leave `prompt` out, or `protocol`")]
    TwoWays { name: String },
}

/// Any program as an agent: prepares its launches, and leaves the rest to the driver for the way in which it is spoken to.
pub struct CommandAgent {
    base: Arc<DriverBase>,
    driver: Box<dyn AgentDriver>,
    spool: Option<Arc<Spool>>,
    environment: BTreeMap<String, String>,
    places: AgentPlaces,
}

impl CommandAgent {
    pub fn new(options: Options, ground: Ground) -> Result<CommandAgent, OptionsError> {
        let spool = ground.hooks;
        if options.hooks && spool.is_none() {
            return Err(OptionsError::NoSpool { name: options.name });
        }
        let patterns = options.patterns()?;
        let base = Arc::new(DriverBase {
            reader: Arc::new(options.reader()?),
            history: spool.as_ref().filter(|_| options.hooks).map(|spool| spool.history()),
            options,
            runtimes: ground.runtimes,
            clock: ground.clock,
            state: ground.state,
            processes: Mutex::default(),
        });
        let options = &base.options;
        let driver: Box<dyn AgentDriver> = match (options.prompt, options.protocol, options.io()) {
            (_, Some(_), _) => Box::new(ProtocolDriver::new(base.clone())),
            (Prompt::Lines, None, _) => Box::new(LinesDriver::new(base.clone())),
            (_, None, ProcessIo::Terminal) => Box::new(TerminalDriver::new(base.clone(), patterns)),
            _ => Box::new(OneTurnDriver::new(base.clone())),
        };
        let (environment, places) = (ground.environment, ground.places);
        Ok(CommandAgent { base, driver, spool, environment, places })
    }
}

impl Options {
    /// Checks if a program could be an agent with these options. Whether it is installed is another question.
    pub fn check(&self) -> Result<(), OptionsError> {
        self.patterns()?;
        self.reader()?;
        let stays = self.modes().filter(|mode| *mode != AgentMode::Turns);
        stays.filter_map(|mode| self.in_mode(mode)).try_for_each(|options| options.check())
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
        if self.prompt != Prompt::Lines && self.protocol.is_some() {
            return Err(OptionsError::TwoWays { name: name() });
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

#[async_trait]
impl Agent for CommandAgent {
    fn abilities(&self) -> AgentAbilities {
        AgentAbilities {
            resume: self.base.options.resume.is_some(),
            prompt_at_launch: self.base.options.prompt_at_launch(),
            one_turn: self.base.options.one_turn(),
            steer: self.base.options.steer,
            cancel: self.driver.can_cancel(),
        }
    }

    async fn prepare(
        &self,
        session: SessionId,
        attempt: Attempt,
        plan: &LaunchPlan,
    ) -> Result<LaunchPreparation, AgentError> {
        self.base.clear_before(session, attempt);
        let abilities = self.base.runtimes.get(&plan.runtime).map_err(failed)?.abilities();
        // Where no file of this machine is seen, `ao` is found by the `PATH` there, and logs are read with it.
        let elsewhere = AgentPlaces { ao: "ao".to_owned(), check_logs: plan.path.clone() };
        let places = if abilities.shares_files { &self.places } else { &elsewhere };
        let mut prepared = launch::prepare(&self.base.options, places, abilities, plan)?;
        if let (LaunchPreparation::Run { .. }, Some(kind)) = (&prepared, self.base.options.protocol) {
            let launch = ProtocolLaunch {
                kind,
                path: plan.path.clone(),
                conversation: plan.conversation.clone(),
                resume: plan.resume,
                // Arguments choose it already, if there are any for that.
                model: plan.agent.model.clone().filter(|_| self.base.options.model.is_empty()),
                settings: self.base.options.opening(&plan.agent),
            };
            let agent_process = self.base.agent_process(session, attempt);
            agent_process.memory().await.and_then(|mut memory| memory.open_with(launch)).map_err(failed)?;
        }
        if let LaunchPreparation::Run { command, .. } = &mut prepared
            && abilities.shares_files
        {
            for (name, value) in &self.environment {
                command.env.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        if let (LaunchPreparation::Run { command, .. }, Some(spool)) = (&mut prepared, &self.spool) {
            if !self.base.options.hooks || !abilities.shares_files {
                command.env.extend([spool.token(session, attempt)]);
                return Ok(prepared);
            }
            command.env.extend(spool.environment(session, attempt));
            if let Some(prompt) = plan.prompt.as_deref().filter(|_| self.base.options.prompt == Prompt::Typed)
            {
                let agent_process = self.base.agent_process(session, attempt);
                let mut memory = agent_process.memory().await.map_err(failed)?;
                memory.launch(prompt, self.base.clock.now()).map_err(failed)?;
            }
        }
        Ok(prepared)
    }

    async fn deliver(&self, order: &DeliverOrder) -> Result<DeliveryOutcome, AgentError> {
        self.driver.deliver(order).await
    }

    async fn follow(&self, order: &FollowOrder, reporter: Arc<dyn Reporter>) {
        let (session, attempt) = (order.session, order.attempt);
        match self.base.runtime(&order.process) {
            Ok(runtime) => self.driver.follow(order, runtime, &*reporter).await,
            Err(err) => return tracing::warn!(%session, %err, "an agent is not read along with"),
        }
        self.base.clear(session, attempt);
    }

    async fn answer(&self, order: &AnswerOrder) -> Result<AnswerOutcome, AgentError> {
        self.driver.answer(order).await
    }

    async fn cancel(&self, order: &CancelOrder) -> Result<Cancelled, AgentError> {
        self.driver.cancel(order).await
    }

    async fn look(&self, order: &LookOrder) -> Result<Vec<Signal>, AgentError> {
        let Some(process) = &order.process else {
            return Ok(vec![]);
        };
        let runtime = self.base.runtime(process)?;
        let reading = Reading::from(runtime.look(process).await);
        let (attempt, at) = (order.attempt, self.base.clock.now());
        let seen = ProcessLook {
            at,
            alive: matches!(reading, Reading::Alive { .. }),
            busy: reading == Reading::Alive { busy: true },
        };
        let mut signals = vec![Signal::certain(attempt, SignalSource::Process, at, reading)];
        signals.extend(self.driver.look(order, process, runtime, seen).await);
        Ok(signals)
    }
}

impl fmt::Debug for CommandAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandAgent").field("name", &self.base.options.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ground").field("state", &self.state).finish_non_exhaustive()
    }
}
