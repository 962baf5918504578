//! Errors of the daemon: what went wrong and what to do next. The caller derives a status or an exit code from the kind.

use std::error::Error;
use std::fmt;

use ao_config::ConfigError;
use ao_engine::{AskError, EngineError};
use ao_ports::StoreError;

use crate::repository::RepositoryError;

/// Kinds of errors, by what went wrong.
#[derive(Debug, Clone)]
pub enum ErrorKind {
    /// A setting is wrong.
    Config,
    /// The machine is in the way: disk, permissions, a broken connection.
    Environment,
    /// The folder is in no git repository.
    NoRepository,
    /// The repository has no commit yet.
    UnbornRepository,
    /// The repository has no work tree.
    BareRepository,
    /// A program that is needed is not installed.
    MissingProgram,
    /// The event log failed.
    Store(StoreError),
    /// The engine did not take an input.
    Ask(AskError),
}

/// An error with its kind, its text and its hints.
#[derive(Debug)]
pub struct DaemonError {
    pub kind: ErrorKind,
    pub error: Box<dyn Error + Send + Sync>,
    pub hints: Vec<String>,
}

impl DaemonError {
    pub fn new(kind: ErrorKind, error: impl Into<Box<dyn Error + Send + Sync>>) -> DaemonError {
        DaemonError { kind, error: error.into(), hints: vec![] }
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
        let mut text = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(err) = cause {
            text += &format!("\n  because: {err}");
            cause = err.source();
        }
        text
    }
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
        DaemonError::new(ErrorKind::Store(err.clone()), err)
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
        DaemonError::new(ErrorKind::Ask(err.clone()), err)
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
                (ErrorKind::Environment, "`ao doctor` looks for what is wrong".to_owned())
            }
        };
        DaemonError::new(kind, err).hint(hint)
    }
}
