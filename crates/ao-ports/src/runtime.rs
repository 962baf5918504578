//! The places where agents' processes live: a PTY, a tmux pane, a container, a pod.

use std::sync::Arc;
use std::time::Duration;

use ao_core::input::ProcessLife;
use ao_core::session::ProcessRef;
use ao_core::setup::Environment;
use ao_core::{Attempt, SessionId, Timestamp};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::agent::{ProcessIo, ProgramCommand};
use crate::reporter::Reporter;
use crate::view::{TerminalView, ViewOptions};

/// The declared abilities of a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RuntimeAbilities {
    /// Gives the process a terminal.
    pub terminal: bool,
    /// Gives the process plain pipes, for agents that speak a protocol.
    pub pipes: bool,
    /// Runs a process without input and records its output, for agents that run for one turn.
    pub output: bool,
    /// Remembers its writes, so that a repeated one is not made twice.
    pub remembers_writes: bool,
    /// Its processes see the files of this machine under the same paths. Without it, no path, `PATH` or home folder of
    /// this machine means anything to them.
    pub shares_files: bool,
    /// Places the [`files`](ProgramCommand::files) of a command where the process can read them.
    pub places_files: bool,
}

/// An order to start a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartSpec {
    pub session: SessionId,
    pub attempt: Attempt,
    /// The name that people see in a list of processes or panes.
    pub name: String,
    pub path: String,
    pub command: ProgramCommand,
    /// Ports that were given to it. It is started only if no other program listens on them.
    pub ports: Vec<u16>,
}

/// Bytes for a process, with a number so that they arrive once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteOrder {
    pub process: ProcessRef,
    /// Unique within the process. The same number again is the same write.
    pub number: u64,
    pub bytes: Vec<u8>,
}

/// The outcome of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteOutcome {
    Written,
    /// This number was written before; nothing was written now.
    AlreadyWritten,
}

/// A piece of a process's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputPart {
    /// The offset of the first byte. Later than requested if the beginning is no longer kept; the end of the output, if the
    /// requested offset is behind it.
    pub from: u64,
    pub bytes: Vec<u8>,
    /// The process has ended and this reaches to the end of its output, so there is nothing more to read.
    pub ended: bool,
}

/// The content of a terminal, as an emulator shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Screen {
    pub lines: Vec<String>,
    /// Row and column, from zero.
    pub cursor: (u16, u16),
    /// Columns and rows.
    pub size: (u16, u16),
    /// The offset in the output that this screen reflects.
    pub offset: u64,
    /// The program wants pasted text to be marked as such.
    pub bracketed_paste: bool,
    /// The program uses the alternate screen.
    pub alternate: bool,
    /// The time at which a person last typed into it, if one did. Writes by [`Runtime::write`] do not count.
    pub typed: Option<Timestamp>,
}

/// A command that runs where agents live, in the user's shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecOrder {
    pub session: SessionId,
    pub attempt: Attempt,
    /// The folder of the workspace.
    pub path: String,
    pub command: String,
    pub environment: Environment,
    pub timeout: Duration,
}

/// The outcome of a command that was run to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecOutcome {
    pub end: ExecEnd,
    /// The end of what it has put out, both streams as one, with known secrets masked.
    pub output: String,
}

/// The end of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecEnd {
    /// There is no code if a signal ended it.
    Exited { code: Option<i32> },
    /// It was ended because its time was over.
    TimedOut,
}

/// One process in a census.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CensusEntry {
    pub process: ProcessRef,
    pub session: SessionId,
    pub attempt: Attempt,
    pub life: ProcessLife,
    /// The folder that it works in now, in the files that it sees; absent if that is unknown.
    pub folder: Option<String>,
}

/// An order to end an attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndOrder {
    pub session: SessionId,
    pub attempt: Attempt,
    /// Absent if the start was never confirmed. Then the runtime looks by session and attempt.
    pub process: Option<ProcessRef>,
}

impl RuntimeAbilities {
    /// Returns true if a process can be held in this way.
    pub fn holds(&self, io: ProcessIo) -> bool {
        match io {
            ProcessIo::Terminal => self.terminal,
            ProcessIo::Pipes => self.pipes,
            ProcessIo::Output => self.output,
        }
    }
}

/// A place where agents' processes live.
#[async_trait]
pub trait Runtime: Send + Sync {
    /// Returns the name of the runtime, which is in every reference that it makes.
    fn name(&self) -> &str;

    fn abilities(&self) -> RuntimeAbilities;

    /// Finds the processes of earlier daemons, and reports exits and a person's typing from then on. Called once, before
    /// anything is started. A runtime that reports nothing is looked at.
    async fn watch(&self, reporter: Arc<dyn Reporter>) -> Result<(), RuntimeError> {
        let _ = reporter;
        Ok(())
    }

    /// Starts the process, which outlives the daemon. Idempotent per session and attempt: a second call returns the same process, alive or not.
    ///
    /// The environment carries `AO_SESSION` and `AO_ATTEMPT`, by which hooks are attributed. An error means that it
    /// is unknown whether something runs; the caller calls again, or ends the attempt.
    async fn start(&self, spec: &StartSpec) -> Result<ProcessRef, RuntimeError>;

    /// Returns the reference to the process of an attempt, alive or ended; `None` if none was started here, or if it was
    /// forgotten long after its end. The same that [`start`](Runtime::start) has returned.
    async fn reference(
        &self,
        session: SessionId,
        attempt: Attempt,
    ) -> Result<Option<ProcessRef>, RuntimeError>;

    /// Writes to the process's terminal or stdin. With `remembers_writes`, idempotent per number. An error for a
    /// process without input, [`ProcessIo::Output`](crate::ProcessIo).
    async fn write(&self, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError>;

    /// Reads at most `limit` bytes of output from an offset on, also after the process has ended.
    ///
    /// Returns at once if there is output behind `from`. Otherwise waits until there is some, the process has ended, or
    /// `wait` has passed, and returns what there is then, perhaps nothing. [`Duration::ZERO`] only looks. Output that other
    /// processes have inherited and write to after the end is kept, but not waited for.
    ///
    /// Cancel-safe: reading takes nothing away, so a call that is dropped has changed nothing.
    async fn output(
        &self,
        process: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<OutputPart, RuntimeError>;

    /// Reads the output for people: as [`output`](Runtime::output) does, and where stderr is kept apart from that, with it,
    /// in the order in which both came. Its offsets are its own.
    async fn log(
        &self,
        process: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<OutputPart, RuntimeError> {
        self.output(process, from, limit, wait).await
    }

    /// Returns the content of the terminal now. [`RuntimeError::Unable`] for a process that has none.
    async fn screen(&self, process: &ProcessRef) -> Result<Screen, RuntimeError>;

    /// Attaches a viewer to the terminal of a process, beside other viewers. For an ended one, the recorded output is
    /// shown. [`RuntimeError::Unable`] if the runtime shows none.
    async fn attach(
        &self,
        process: &ProcessRef,
        options: ViewOptions,
    ) -> Result<Box<dyn TerminalView>, RuntimeError> {
        let _ = (process, options);
        Err(RuntimeError::Unable { runtime: self.name().to_owned(), wish: "show its terminals".to_owned() })
    }

    /// Runs a command to its end where the session's agent lives, or will live: in its container, or on this host.
    ///
    /// Everything that the command has started ends with it, also if the call is dropped. An error means that it did not
    /// run; a command that fails is an [`ExecOutcome`].
    async fn exec(&self, order: &ExecOrder) -> Result<ExecOutcome, RuntimeError> {
        let _ = order;
        Err(RuntimeError::Unable { runtime: self.name().to_owned(), wish: "run commands".to_owned() })
    }

    /// Returns whether the process lives. A look that fails is [`ProcessLife::Unknown`], never a death.
    async fn look(&self, process: &ProcessRef) -> ProcessLife;

    /// Returns the folder that the process works in now, if that is known.
    async fn folder(&self, process: &ProcessRef) -> Option<String>;

    /// Lists all processes of ours that this runtime knows, living or dead, with the folders that they work in. The
    /// reconciler and the deletion gate ask this, in one call for all.
    async fn census(&self) -> Result<Vec<CensusEntry>, RuntimeError>;

    /// Ends the whole process tree, daemonised children included: asks first, then kills.
    ///
    /// Succeeds if there is nothing left to end. After it has returned, nothing of this attempt runs, and a late
    /// `start` of the same attempt starts nothing.
    async fn end(&self, order: &EndOrder) -> Result<(), RuntimeError>;
}

/// The reason why a runtime failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuntimeError {
    #[error("the runtime `{runtime}` cannot {wish}")]
    Unable { runtime: String, wish: String },
    #[error("there is no runtime `{name}`; there is {}", list(.known))]
    NoRuntime { name: String, known: Vec<String> },
    #[error("only a viewer with control can type; take control of the terminal first")]
    NoControl,
    #[error("the program has ended and reads nothing any more")]
    Ended,
    #[error("the program `{program}` was not found; install it, or name another")]
    NoProgram { program: String },
    /// Nothing was started.
    #[error("the folder `{path}` is not there")]
    NoFolder { path: String },
    /// Nothing was started.
    #[error("the port {port} is in use by another program")]
    PortTaken { port: u16 },
    /// Nothing was started.
    #[error("the secret `{name}` cannot be read from {from}: {why}")]
    NoSecret { name: String, from: String, why: String },
    #[error("{0}")]
    Failed(String),
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
