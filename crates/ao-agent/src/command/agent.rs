//! The agent slot, filled with any program.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, RwLock};

use ao_core::effect::LaunchPlan;
use ao_core::evidence::{Confidence, Reading, Signal, Source};
use ao_core::input::Life;
use ao_core::session::AgentAbilities;
use ao_core::{Attempt, SessionId};
use ao_ports::{
    Agent, AgentError, AnswerOrder, Answered, Clock, Command, DeliverOrder, Delivered, FollowOrder, Io,
    LookOrder, Prepared, ProcessRef, Report, Reporter, Runtime, WriteOrder,
};
use async_trait::async_trait;
use tokio::task::{AbortHandle, JoinSet};

use super::follower::{Ears, Follower, turn_of};
use crate::line;

/// Which program, and how it is spoken to.
#[derive(Debug, Clone)]
pub struct Options {
    /// What people call it.
    pub name: String,
    pub program: String,
    /// With [`Prompt::Argument`], `{prompt}` stands for the task; without it, the task comes last.
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub prompt: Prompt,
}

/// How the program is given its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt {
    /// By the line protocol on its stdin, like every later message.
    Lines,
    /// As an argument. It does that one thing and ends; a message starts it again.
    Argument,
}

/// A process to read along with.
#[derive(Debug, Clone)]
pub struct Follow {
    pub session: SessionId,
    pub attempt: Attempt,
    pub process: ProcessRef,
    /// The message that it was started with, if that is not proven yet.
    pub with_launch: Option<String>,
}

type Key = (SessionId, Attempt);

/// Any program as an agent.
pub struct CommandAgent {
    options: Options,
    runtime: Arc<dyn Runtime>,
    clock: Arc<dyn Clock>,
    /// Absent until there is somebody to report to.
    reporter: RwLock<Option<Arc<dyn Reporter>>>,
    followers: Mutex<HashMap<Key, Followed>>,
    tasks: Mutex<JoinSet<()>>,
}

struct Followed {
    follower: Arc<Follower>,
    /// Absent as long as nobody wants reports.
    task: Option<AbortHandle>,
}

impl CommandAgent {
    pub fn new(options: Options, runtime: Arc<dyn Runtime>, clock: Arc<dyn Clock>) -> CommandAgent {
        CommandAgent {
            options,
            runtime,
            clock,
            reporter: RwLock::default(),
            followers: Mutex::default(),
            tasks: Mutex::default(),
        }
    }

    /// Names whom to report to.
    pub fn watch(&self, reporter: Arc<dyn Reporter>) {
        *self.reporter.write().expect("nobody panics while setting it") = Some(reporter);
    }

    /// Reads along with a process from now on. To be called when it was launched, and after a restart for each that
    /// runs; a second call changes nothing.
    pub async fn follow(&self, follow: Follow) {
        let Some(reporter) = self.reporter.read().expect("nobody panics while setting it").clone() else {
            return;
        };
        // A program has the argument it was started with: that it runs is the proof.
        if self.options.prompt == Prompt::Argument
            && let Some(text) = follow.with_launch.clone()
        {
            let (session, attempt) = (follow.session, follow.attempt);
            let turn = format!("launch {attempt}");
            reporter.report(Report::Taken { session, attempt, turn, text }).await;
        }
        let follower = self.follower(follow.session, follow.attempt, &follow.process);
        let mut followers = self.followers.lock().expect("nobody panics while looking one up");
        if let Some(followed) = followers.get_mut(&(follow.session, follow.attempt))
            && followed.task.is_none()
        {
            let ears = Ears { runtime: self.runtime.clone(), reporter, clock: self.clock.clone() };
            let mut tasks = self.tasks.lock().expect("nobody panics while adding one");
            while tasks.try_join_next().is_some() {}
            followed.task = Some(tasks.spawn(async move {
                follower.run(&*ears.runtime, &*ears.reporter, &*ears.clock).await;
            }));
        }
    }

    /// Reads along no more: the process has ended.
    pub fn leave(&self, session: SessionId) {
        let mut followers = self.followers.lock().expect("nobody panics while looking one up");
        for (_, left) in followers.extract_if(|(of, _), _| *of == session) {
            if let Some(task) = left.task {
                task.abort();
            }
        }
    }

    /// Answers the question that is open. Not a message: it goes to the dialog, which messages keep away from.
    pub async fn answer(&self, process: &ProcessRef, text: &str) -> Result<(), AgentError> {
        // Apart from the numbers of deliveries.
        let number = self.clock.fresh() | 1 << 63;
        let order = WriteOrder { process: process.clone(), number, bytes: line::answer(text).into_bytes() };
        self.runtime.write(&order).await.map(|_| ()).map_err(failed)
    }

    fn follower(&self, session: SessionId, attempt: Attempt, process: &ProcessRef) -> Arc<Follower> {
        let mut followers = self.followers.lock().expect("nobody panics while looking one up");
        let followed = followers.entry((session, attempt)).or_insert_with(|| Followed {
            follower: Arc::new(Follower::new(session, attempt, process.clone())),
            task: None,
        });
        followed.follower.clone()
    }
}

#[async_trait]
impl Agent for CommandAgent {
    fn abilities(&self) -> AgentAbilities {
        let by_argument = self.options.prompt == Prompt::Argument;
        AgentAbilities { resume: false, prompt_at_launch: by_argument, one_turn: by_argument, steer: false }
    }

    async fn prepare(
        &self,
        _session: SessionId,
        _attempt: Attempt,
        plan: &LaunchPlan,
    ) -> Result<Prepared, AgentError> {
        if plan.resume {
            return Ok(Prepared::NothingToResume);
        }
        let mut args = self.options.args.clone();
        if self.options.prompt == Prompt::Argument {
            let Some(prompt) = &plan.prompt else {
                return Err(AgentError::Unable {
                    agent: self.options.name.clone(),
                    wish: "start without a task".into(),
                });
            };
            let mut placed = false;
            for arg in &mut args {
                placed |= arg.contains("{prompt}");
                *arg = arg.replace("{prompt}", prompt);
            }
            if !placed {
                args.push(prompt.clone());
            }
        }
        let command = Command {
            program: self.options.program.clone(),
            args,
            env: self.options.env.clone(),
            pass: vec![],
            secrets: vec![],
            io: Io::Pipes,
        };
        Ok(Prepared::Run { command, conversation: None })
    }

    async fn deliver(&self, order: &DeliverOrder) -> Result<Delivered, AgentError> {
        if self.options.prompt == Prompt::Argument {
            return Ok(Delivered::Held {
                why: "it takes messages only when it is started".into(),
                signals: vec![],
            });
        }
        let Some(process) = &order.process else {
            return Err(AgentError::Failed("there is no process to write to".into()));
        };
        let follower = self.follower(order.session, order.attempt, process);
        // Always, not only on later tries: after a crash the first try comes again as the first.
        if let Some(text) = follower.taken(&*self.runtime, order.delivery).await.map_err(failed)? {
            return Ok(Delivered::Taken { turn: turn_of(order.attempt, order.delivery), text });
        }
        if let Some(question) = follower.question() {
            let why = format!("a question is open: {question}");
            let asking = Signal {
                attempt: order.attempt,
                source: Source::Protocol,
                at: self.clock.now(),
                confidence: Confidence::High,
                reading: Reading::Asking { question },
            };
            return Ok(Delivered::Held { why, signals: vec![asking] });
        }
        let mut text = line::message(order.delivery, &order.text, order.interrupt);
        if order.tries > 1 {
            // An earlier try may have been cut off in the middle of its line.
            text.insert(0, '\n');
        }
        let number = u64::from(order.delivery) << 20 | u64::from(order.tries);
        let write = WriteOrder { process: process.clone(), number, bytes: text.into_bytes() };
        self.runtime.write(&write).await.map_err(failed)?;
        Ok(Delivered::Written)
    }

    async fn follow(&self, _: &FollowOrder, _: Arc<dyn Reporter>) {}

    async fn answer(&self, _: &AnswerOrder) -> Result<Answered, AgentError> {
        Ok(Answered::Given)
    }

    async fn look(&self, order: &LookOrder) -> Result<Vec<Signal>, AgentError> {
        let Some(process) = &order.process else {
            return Ok(vec![]);
        };
        // What it last said is not said again by our looking at it: an old word must not pass for a new one.
        let reading = match self.runtime.look(process).await {
            Life::Alive { busy } => Reading::Alive { busy },
            Life::Gone { code } => Reading::Exited { code },
            Life::Unknown => Reading::Unreadable { why: "the runtime cannot tell".into() },
        };
        Ok(vec![Signal {
            attempt: order.attempt,
            source: Source::Process,
            at: self.clock.now(),
            confidence: Confidence::High,
            reading,
        }])
    }
}

fn failed(err: impl fmt::Display) -> AgentError {
    AgentError::Failed(err.to_string())
}

impl fmt::Debug for CommandAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandAgent").field("options", &self.options).finish_non_exhaustive()
    }
}
