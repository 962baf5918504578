//! Errors of the daemon: what went wrong and what to do next. The caller derives a status or an exit code from the kind.

use std::error::Error;
use std::fmt;

use ao_config::ConfigError;
use ao_engine::{AskError, EngineError};
use ao_ports::{ServiceError, StoreError};

use crate::looks::LookError;
use crate::repository::RepositoryError;

/// Kinds of errors, by what went wrong.
#[derive(Debug, Clone)]
pub enum ErrorKind {
    /// A setting is wrong.
    Config,
    /// The path of a configuration file is not absolute.
    BadPath,
    /// The machine is in the way: disk, permissions, a broken connection.
    Environment,
    /// Work on the disk ended before it was done.
    Failed,
    /// The event log failed.
    Store(Box<StoreError>),
    /// The engine did not take an input.
    Ask(Box<AskError>),
    /// A forge or a tracker did not do it.
    Forge(Box<ServiceError>),
    NoForge,
    NoTracker,
    /// A program that is needed is not installed.
    MissingProgram,

    // ── projects ──
    UnknownProject,
    /// There are several projects, and none is named.
    AmbiguousProject,
    /// The project is in a file that names others too.
    ConfiguredProject,
    ProjectInUse,
    /// The issue is not of the project that is named.
    OtherProject,
    /// The folder is in no git repository.
    NoRepository,
    /// The repository has no commit yet.
    UnbornRepository,
    /// The repository has no work tree.
    BareRepository,

    // ── spawn orders ──
    NothingToDo,
    BadIssue,
    UnknownIssue,
    UnknownAgent,
    UnfitAgent,
    UnknownRuntime,
    UnfitRuntime,
    UnknownWorkspace,
    UnfitBranch,
    /// The pull request is not open any more.
    PullOver,

    // ── terminals and output ──
    NotRunning,
    NoTerminal,
    NoControl,
    /// The program that shows terminals is not installed.
    NoTerminalProgram,
    TerminalFailed,
    TerminalSlow,
    UnreadableOutput,

    // ── forecasts ──
    UnknownBranch,
    NoDefaultBranch,
    ForecastSlow,
    NotCompared,

    // ── hooks, channels, imports ──
    UnknownLog,
    HookNotRun,
    UnknownChannel,
    BadImport,
}

impl ErrorKind {
    /// Returns true for errors that may be over when it is tried again later.
    pub fn may_pass(&self) -> bool {
        match self {
            ErrorKind::Environment | ErrorKind::Failed | ErrorKind::Store(_) => true,
            ErrorKind::Ask(err) => matches!(**err, AskError::NotStored(_) | AskError::Stopped),
            ErrorKind::Forge(err) => err.may_pass(),
            _ => false,
        }
    }
}

/// An error with its kind, its text, and what to do next.
#[derive(Debug)]
pub struct DaemonError {
    pub kind: ErrorKind,
    pub error: Box<dyn Error + Send + Sync>,
    pub detail: Option<String>,
    pub hints: Vec<String>,
    /// Names that may have been meant.
    pub candidates: Vec<String>,
}

impl DaemonError {
    pub fn new(kind: ErrorKind, error: impl Into<Box<dyn Error + Send + Sync>>) -> DaemonError {
        DaemonError { kind, error: error.into(), detail: None, hints: vec![], candidates: vec![] }
    }

    pub fn config(error: impl Into<Box<dyn Error + Send + Sync>>) -> DaemonError {
        DaemonError::new(ErrorKind::Config, error)
    }

    pub fn environment(error: impl Into<Box<dyn Error + Send + Sync>>) -> DaemonError {
        DaemonError::new(ErrorKind::Environment, error)
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> DaemonError {
        self.hints.push(hint.into());
        self
    }

    /// Returns the text with its causes, without hints.
    pub fn to_plain(&self) -> String {
        with_causes(&*self.error)
    }
}

/// Returns the text of an error and of its causes, one per line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(err) = cause {
        text += &format!("\n  because: {err}");
        cause = err.source();
    }
    text
}

impl fmt::Display for DaemonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.error, f)
    }
}

impl Error for DaemonError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl From<StoreError> for DaemonError {
    fn from(err: StoreError) -> DaemonError {
        DaemonError::new(ErrorKind::Store(Box::new(err.clone())), err)
    }
}

impl From<EngineError> for DaemonError {
    fn from(err: EngineError) -> DaemonError {
        match err {
            EngineError::Store(err) => err.into(),
            other => DaemonError::environment(other),
        }
    }
}

impl From<AskError> for DaemonError {
    fn from(err: AskError) -> DaemonError {
        DaemonError::new(ErrorKind::Ask(Box::new(err.clone())), err)
    }
}

impl From<ServiceError> for DaemonError {
    fn from(err: ServiceError) -> DaemonError {
        DaemonError::new(ErrorKind::Forge(Box::new(err.clone())), err)
    }
}

impl From<LookError> for DaemonError {
    fn from(err: LookError) -> DaemonError {
        match err {
            LookError::NoForge(why) => DaemonError::new(ErrorKind::NoForge, why),
            LookError::NoTracker(why) => DaemonError::new(ErrorKind::NoTracker, why),
            LookError::Service(err) => err.into(),
            LookError::Engine(err) => err.into(),
        }
    }
}

impl From<ConfigError> for DaemonError {
    fn from(err: ConfigError) -> DaemonError {
        DaemonError::config(err)
    }
}

/// Every state that a folder can be in instead of a repository has its own way out.
impl From<RepositoryError> for DaemonError {
    fn from(err: RepositoryError) -> DaemonError {
        let (kind, hint) = match &err {
            RepositoryError::NoFolder(_) => (
                ErrorKind::NoRepository,
                "name a folder that exists, or the address of a repository".to_owned(),
            ),
            RepositoryError::None(_) => (
                ErrorKind::NoRepository,
                "go to a repository; or make one of this folder: \
                 `git init && git add . && git commit -m 'First commit'`"
                    .to_owned(),
            ),
            RepositoryError::Bare(path) => (
                ErrorKind::BareRepository,
                format!("use a checkout of it: `git clone {path} my-app && cd my-app`"),
            ),
            RepositoryError::Unborn(_) => (
                ErrorKind::UnbornRepository,
                "make the first one: `git commit --allow-empty -m 'First commit'`".to_owned(),
            ),
            RepositoryError::NotYours(path) => (
                ErrorKind::Environment,
                format!("if you trust its owner: `git config --global --add safe.directory {path}`"),
            ),
            RepositoryError::NoGit => (ErrorKind::MissingProgram, "install git 2.36 or newer".to_owned()),
            RepositoryError::Failed { .. } | RepositoryError::NotAsked { .. } => {
                (ErrorKind::Environment, "`ao doctor` checks for problems".to_owned())
            }
        };
        DaemonError::new(kind, err).hint(hint)
    }
}
