//! Errors that a user sees: their kind, message, hints and exit code. Defined in one place, so that all commands
//! report an error in the same way.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use ao_api::Problem;
use ao_api::client::ClientError;
use ao_core::text::sanitise;
use ao_daemon::error::with_causes;
use ao_daemon::{DaemonError, ErrorKind};
use ao_engine::AskError;
use ao_ports::StoreError;
use ao_store::ExportError;
use camino::Utf8PathBuf;

use crate::client::daemon_process;
use crate::git::clone::CloneError;
use crate::git::url::HasSecret;
use crate::repository::RepositoryError;
use crate::ui;

/// The kind of an error, which determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// The request cannot be carried out.
    User,
    /// A setting is invalid.
    Config,
    /// The machine is at fault: disk, permissions, a missing program.
    Environment,
    /// A bug in ao.
    Bug,
    /// A session, a project or a part of a project does not exist.
    Unknown,
    /// No daemon runs.
    NoDaemon,
    /// A message did not reach the agent.
    NotAccepted,
    /// A time limit was exceeded.
    TimedOut,
    /// The folder is in no git repository.
    NoRepository,
    /// The repository has no commit yet.
    UnbornRepository,
    /// The repository has no work tree.
    BareRepository,
    /// A required program is not installed.
    MissingProgram,
    /// The port is in use.
    PortInUse,
    /// The running daemon is another version.
    OtherVersion,
    /// There is no such key in the configuration.
    UnknownKey,
    /// The daemon refuses this caller.
    Forbidden,
    /// A check has failed.
    ChecksFailed,
    /// Checks are still pending.
    ChecksPending,
    /// The forge does not merge it.
    NotMerged,
    /// Interrupted by this signal.
    Interrupted(u8),
    /// The reader of our output is gone. Exits silently.
    Quiet,
}

/// Every kind with its exit code, for scripts. clap also exits with 2, for an invalid command line.
pub const EXIT_CODES: &[(FailureKind, u8, &str)] = &[
    (FailureKind::Quiet, 0, "it was done"),
    (FailureKind::User, 1, "the request cannot be carried out, or one of several failed"),
    (FailureKind::Config, 2, "a setting or the command line is invalid"),
    (FailureKind::Environment, 3, "the machine is at fault: disk, permissions, a broken connection"),
    (FailureKind::Bug, 4, "a bug in ao"),
    (FailureKind::Unknown, 5, "there is no such session, project, issue, pull request or check"),
    (FailureKind::NoDaemon, 6, "no daemon runs"),
    (FailureKind::NotAccepted, 7, "the agent did not accept a message"),
    (FailureKind::TimedOut, 8, "a time limit was exceeded"),
    (FailureKind::NoRepository, 10, "the folder is not in a git repository"),
    (FailureKind::UnbornRepository, 11, "the repository has no commit yet"),
    (FailureKind::BareRepository, 12, "the repository has no work tree"),
    (FailureKind::MissingProgram, 13, "a required program is not installed"),
    (FailureKind::PortInUse, 14, "the port is in use"),
    (FailureKind::OtherVersion, 15, "the running daemon is another version"),
    (FailureKind::UnknownKey, 16, "there is no such key in the configuration"),
    (FailureKind::Forbidden, 17, "the daemon refuses this caller"),
    (FailureKind::ChecksFailed, 18, "a check has failed"),
    (FailureKind::ChecksPending, 19, "checks are still pending"),
    (FailureKind::NotMerged, 20, "the pull request may not be merged"),
];

impl FailureKind {
    /// Returns the kind for an exit code of another of our processes.
    pub(crate) fn of_exit_code(code: u8) -> FailureKind {
        let known = EXIT_CODES.iter().find(|(_, known, _)| *known == code);
        known.map_or(FailureKind::Environment, |(kind, _, _)| *kind)
    }

    pub(crate) fn exit_code(self) -> u8 {
        if let FailureKind::Interrupted(signal) = self {
            // As a shell reports a program that was ended by a signal.
            return 128 + signal;
        }
        let known = EXIT_CODES.iter().find(|(kind, _, _)| *kind == self);
        known.map_or(4, |(_, code, _)| *code)
    }
}

/// An error as it is shown.
#[derive(Debug)]
pub struct CommandError {
    kind: FailureKind,
    error: Box<dyn Error + Send + Sync>,
    hints: Vec<String>,
}

impl CommandError {
    pub(crate) fn new(kind: FailureKind, error: impl Into<Box<dyn Error + Send + Sync>>) -> CommandError {
        CommandError { kind, error: error.into(), hints: Vec::new() }
    }

    pub(crate) fn user(error: impl Into<Box<dyn Error + Send + Sync>>) -> CommandError {
        CommandError::new(FailureKind::User, error)
    }

    pub(crate) fn config(error: impl Into<Box<dyn Error + Send + Sync>>) -> CommandError {
        CommandError::new(FailureKind::Config, error)
    }

    pub(crate) fn environment(error: impl Into<Box<dyn Error + Send + Sync>>) -> CommandError {
        CommandError::new(FailureKind::Environment, error)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CommandError {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Changes the kind and keeps the message.
    pub(crate) fn of_kind(mut self, kind: FailureKind) -> CommandError {
        self.kind = kind;
        self
    }

    /// Keeps the kind and replaces the message, for an error that was printed already.
    pub(crate) fn repeated(self, words: impl Into<String>) -> CommandError {
        CommandError::new(self.kind, words.into())
    }

    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// Renders the message with its causes, without hints and colours.
    pub(crate) fn to_plain(&self) -> String {
        with_causes(&*self.error)
    }

    /// Prints the error to stderr, and returns the exit code.
    pub(crate) fn show(&self) -> ExitCode {
        if self.kind != FailureKind::Quiet {
            ui::error(self);
        }
        ExitCode::from(self.kind.exit_code())
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let title = ui::ERROR;
        write!(f, "{title}error:{title:#} {}", self.to_plain())?;
        let title = ui::HINT;
        for hint in &self.hints {
            write!(f, "\n{title}hint:{title:#} {hint}")?;
        }
        if self.kind == FailureKind::Bug {
            write!(f, "\n{title}hint:{title:#} this is a bug in ao; please report it with the lines above")?;
        }
        Ok(())
    }
}

/// Describes what to do about a damaged log, with the last backup if it still exists.
fn damaged(log: Utf8PathBuf, err: StoreError) -> CommandError {
    let error = CommandError::environment(err);
    match ao_store::last_backup(&log) {
        Some(backup) => {
            let aside = log.with_extension("damaged");
            error.hint(format!(
                "the last intact backup is `{backup}`; to restore it: ao stop; mkdir {aside} && mv {log}* \
                 {aside} && cp {backup} {log} && ao start"
            ))
        }
        None => error.hint("`ao events backup --help` describes how to restore a backup"),
    }
    .hint("`ao events check` names what is damaged, and `ao events export` saves what can be read")
}

impl From<StoreError> for CommandError {
    fn from(err: StoreError) -> CommandError {
        let hint = match &err {
            StoreError::Pruned { .. } => {
                Some("leave out `--from` to start with the first event that is kept")
            }
            StoreError::Locked { .. } => Some("`ao events` commands work while ao runs"),
            StoreError::Foreign { .. } => {
                Some("choose another directory with `--data-dir` or AO_DATA_DIR; this one was not changed")
            }
            StoreError::Damaged { path, .. } => return damaged(path.into(), err),
            StoreError::Moved { .. }
            | StoreError::Full { .. }
            | StoreError::Newer { .. }
            | StoreError::Failed { .. } => None,
        };
        let error = CommandError::environment(err);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// Keeps the daemon's message for a refusal; otherwise suggests how to reach the daemon.
impl From<ClientError> for CommandError {
    fn from(err: ClientError) -> CommandError {
        match err {
            ClientError::Refused(problem) => CommandError::from(*problem),
            ClientError::Unreachable { .. } => {
                let hint = if err.is_absence() {
                    "start it with `ao start`"
                } else {
                    "`ao doctor` checks for problems"
                };
                CommandError::new(FailureKind::NoDaemon, err).hint(hint)
            }
            ClientError::Unexpected(_) => CommandError::new(FailureKind::OtherVersion, err)
                .hint("`ao start` replaces a daemon of another version; agents keep running meanwhile"),
            ClientError::Hung { pid, waited, .. } => hung(pid, waited, &err),
            ClientError::Broken(_) => CommandError::environment(err),
            ClientError::BadRequest { .. } => CommandError::user(err),
        }
    }
}

/// Describes the state of a daemon that does not answer, as far as the system reports it, and how to continue.
fn hung(pid: Option<u32>, waited: Duration, err: &ClientError) -> CommandError {
    let Some(pid) = pid else {
        return CommandError::new(FailureKind::TimedOut, err.to_string())
            .hint("`ao doctor` checks for problems");
    };
    let waited = waited.as_secs();
    let (doing, first) = match daemon_process::state_of(pid) {
        Some('T' | 't') => ("is suspended", Some(format!("`kill -CONT {pid}` resumes it"))),
        Some('D') => ("waits for the disk", None),
        _ => ("is running", None),
    };
    let what = format!("the daemon (pid {pid}) has not answered for {waited} s; its process {doing}");
    let error = CommandError::new(FailureKind::TimedOut, what);
    let error = first.into_iter().fold(error, CommandError::hint);
    error.hint(format!(
        "`kill -9 {pid}` ends it: agents keep running, nothing is lost, and `ao start` starts it again"
    ))
}

impl From<Problem> for CommandError {
    fn from(problem: Problem) -> CommandError {
        let kind = match (problem.word(), problem.status) {
            (word, 404) if word.starts_with("unknown-") || word == "not-found" => FailureKind::Unknown,
            ("unknown-session" | "unknown-project", _) => FailureKind::Unknown,
            ("missing-program", _) => FailureKind::MissingProgram,
            ("not-a-repository", _) => FailureKind::NoRepository,
            ("unborn-repository", _) => FailureKind::UnbornRepository,
            ("bare-repository", _) => FailureKind::BareRepository,
            ("bad-config", _) => FailureKind::Config,
            (_, 401 | 403) => FailureKind::Forbidden,
            (_, 500..) => FailureKind::Environment,
            _ => FailureKind::User,
        };
        let hints: Vec<String> = problem.hints.iter().map(|hint| sanitise(hint)).collect();
        // It may contain titles by strangers and output of checks.
        let mut text = sanitise(&problem.title);
        if !problem.candidates.is_empty() {
            text += &sanitise(&format!("; did you mean {}?", list(&problem.candidates)));
        }
        if let Some(detail) = problem.detail {
            text += &format!("\n  because: {}", sanitise(&detail));
        }
        let error = CommandError::new(kind, text);
        hints.into_iter().fold(error, CommandError::hint)
    }
}

/// Lists names: `a`, `b` or `c`.
fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} or {last}", before.join(", ")),
        None => String::new(),
    }
}

impl From<ExportError> for CommandError {
    fn from(err: ExportError) -> CommandError {
        match err {
            ExportError::Store(err) => err.into(),
            ExportError::Write(err) => err.into(),
        }
    }
}

impl From<AskError> for CommandError {
    fn from(err: AskError) -> CommandError {
        match err {
            AskError::Refused(refusal) => CommandError::user(refusal),
            AskError::NotStored(err) => err.into(),
            AskError::Stopped => CommandError::environment(err),
        }
    }
}

/// The error includes its place and the fix.
impl From<ao_config::ConfigError> for CommandError {
    fn from(err: ao_config::ConfigError) -> CommandError {
        CommandError::config(err)
    }
}

/// Errors of the daemon keep their kind and their hints.
impl From<DaemonError> for CommandError {
    fn from(err: DaemonError) -> CommandError {
        let kind = match err.kind {
            ErrorKind::Store(err) => return (*err).into(),
            ErrorKind::Ask(err) => return (*err).into(),
            ErrorKind::Config => FailureKind::Config,
            ErrorKind::Environment | ErrorKind::Failed => FailureKind::Environment,
            ErrorKind::NoRepository => FailureKind::NoRepository,
            ErrorKind::UnbornRepository => FailureKind::UnbornRepository,
            ErrorKind::BareRepository => FailureKind::BareRepository,
            ErrorKind::MissingProgram => FailureKind::MissingProgram,
            _ => FailureKind::User,
        };
        CommandError { kind, error: err.error, hints: err.hints }
    }
}

impl From<RepositoryError> for CommandError {
    fn from(err: RepositoryError) -> CommandError {
        DaemonError::from(err).into()
    }
}

impl From<CloneError> for CommandError {
    fn from(err: CloneError) -> CommandError {
        let (kind, hint) = match &err {
            CloneError::Occupied { .. } => {
                (FailureKind::User, "use another folder, or move that one away; nothing in it was changed")
            }
            CloneError::Refused { .. } => {
                (FailureKind::User, "check the URL; `git ls-remote <url>` shows whether git can read it")
            }
            CloneError::Unusable { err, .. } if matches!(**err, RepositoryError::Unborn(_)) => {
                (FailureKind::UnbornRepository, "push a first commit to it; nothing was left here")
            }
            CloneError::Unusable { .. } => (FailureKind::Environment, "`ao doctor` checks for problems"),
            CloneError::NoGit => (FailureKind::MissingProgram, "install git 2.36 or newer"),
            CloneError::Folder { .. } => (FailureKind::Environment, "use a folder that you can write to"),
            &CloneError::Interrupted(signal) => {
                return CommandError::new(FailureKind::Interrupted(signal), err);
            }
        };
        CommandError::new(kind, err).hint(hint)
    }
}

impl From<HasSecret> for CommandError {
    fn from(err: HasSecret) -> CommandError {
        CommandError::user(err)
            .hint("leave it out: git asks for it, or takes it from its credential helper (`gh auth setup-git`) or ssh")
            .hint("other users could have read it in the list of processes; replace it by a new one")
    }
}

/// Errors of writing to stdout; all others describe what was attempted.
impl From<io::Error> for CommandError {
    fn from(err: io::Error) -> CommandError {
        match err.kind() {
            io::ErrorKind::BrokenPipe => CommandError::new(FailureKind::Quiet, err),
            _ => CommandError::environment(format!("could not write to stdout: {err}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_kind_of_failure_has_an_exit_code_of_its_own() {
        let codes: BTreeSet<u8> = EXIT_CODES.iter().map(|(_, code, _)| *code).collect();
        assert_eq!(codes.len(), EXIT_CODES.len());
        assert!(codes.iter().all(|code| *code < 128), "from 128 on they tell of signals");
        for (kind, code, _) in EXIT_CODES {
            assert_eq!(kind.exit_code(), *code, "{kind:?} is in the table once");
            // A new kind fails to compile here, as a reminder to add it to the table above.
            match kind {
                FailureKind::User
                | FailureKind::Config
                | FailureKind::Environment
                | FailureKind::Bug
                | FailureKind::Unknown
                | FailureKind::NoDaemon => {}
                FailureKind::NotAccepted
                | FailureKind::TimedOut
                | FailureKind::NoRepository
                | FailureKind::UnbornRepository => {}
                FailureKind::BareRepository
                | FailureKind::MissingProgram
                | FailureKind::PortInUse
                | FailureKind::OtherVersion => {}
                FailureKind::UnknownKey
                | FailureKind::Forbidden
                | FailureKind::Interrupted(_)
                | FailureKind::Quiet => {}
                FailureKind::ChecksFailed | FailureKind::ChecksPending | FailureKind::NotMerged => {}
            }
        }
        assert_eq!(EXIT_CODES.len(), 20);
        assert_eq!(FailureKind::Interrupted(2).exit_code(), 130);
    }
}
