//! Every failure that a user sees: what kind it is, what is said, what to do next, and the exit code. In one place, so that
//! the same failure sounds the same from every command.

use std::error::Error;
use std::fmt;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use ao_api::Problem;
use ao_api::client::ClientError;
use ao_core::text::sanitise;
use ao_daemon::{DaemonError, ErrorKind};
use ao_engine::{AskError, EngineError};
use ao_ports::StoreError;
use ao_store::ExportError;
use camino::Utf8PathBuf;

use crate::background;
use crate::clone::CloneError;
use crate::git_url::HasSecret;
use crate::repository::RepositoryError;
use crate::ui;

/// Whose fault it is, and so who can mend it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// What was asked for cannot be done.
    User,
    /// A setting is wrong.
    Config,
    /// The machine is in the way: disk, permissions, a missing program.
    Environment,
    /// We are wrong.
    Bug,
    /// A session, a project or something of a project is not there.
    Unknown,
    /// No daemon runs.
    NoDaemon,
    /// A message did not reach the agent.
    NotAccepted,
    /// What was waited for did not come in time.
    TimedOut,
    /// The folder is in no git repository.
    NoRepository,
    /// The repository has no commit yet.
    UnbornRepository,
    /// The repository has no work tree.
    BareRepository,
    /// A program that is needed is not installed.
    MissingProgram,
    /// Somebody else listens there.
    PortInUse,
    /// The daemon that runs is of another version.
    OtherVersion,
    /// There is no such key in the configuration.
    UnknownKey,
    /// The daemon forbids it to this caller.
    Forbidden,
    /// A check has failed.
    ChecksFailed,
    /// Checks are not over yet.
    ChecksPending,
    /// The forge does not merge it.
    NotMerged,
    /// Somebody wanted us to end, with this signal.
    Interrupted(u8),
    /// Whoever read our output has gone. That is their right, and nothing to talk about.
    Quiet,
}

/// Every kind of failure with its exit code, for people who write scripts. clap exits with 2 too, for a command line that it
/// does not understand: what was set is wrong.
pub const EXIT_CODES: &[(Kind, u8, &str)] = &[
    (Kind::Quiet, 0, "it was done"),
    (Kind::User, 1, "what was asked for cannot be done, or one of several things failed"),
    (Kind::Config, 2, "a setting or the command line is wrong"),
    (Kind::Environment, 3, "the machine is in the way: disk, permissions, a broken connection"),
    (Kind::Bug, 4, "a defect of ao"),
    (Kind::Unknown, 5, "there is nothing of that name: session, project, issue, pull request or check"),
    (Kind::NoDaemon, 6, "no daemon runs"),
    (Kind::NotAccepted, 7, "the agent did not take a message"),
    (Kind::TimedOut, 8, "what was waited for did not come in time"),
    (Kind::NoRepository, 10, "the folder is in no git repository"),
    (Kind::UnbornRepository, 11, "the repository has no commit yet"),
    (Kind::BareRepository, 12, "the repository has no work tree"),
    (Kind::MissingProgram, 13, "a program that is needed is not installed"),
    (Kind::PortInUse, 14, "somebody else listens on the port"),
    (Kind::OtherVersion, 15, "the daemon that runs is of another version"),
    (Kind::UnknownKey, 16, "there is no such key in the configuration"),
    (Kind::Forbidden, 17, "the daemon forbids it to this caller"),
    (Kind::ChecksFailed, 18, "a check has failed"),
    (Kind::ChecksPending, 19, "checks are not over yet"),
    (Kind::NotMerged, 20, "the pull request was not merged: something stands in the way"),
];

impl Kind {
    /// The kind that another of our programs has exited with.
    pub(crate) fn of_exit_code(code: u8) -> Kind {
        let known = EXIT_CODES.iter().find(|(_, known, _)| *known == code);
        known.map_or(Kind::Environment, |(kind, _, _)| *kind)
    }

    pub(crate) fn exit_code(self) -> u8 {
        if let Kind::Interrupted(signal) = self {
            // As a shell tells of a program that a signal has ended.
            return 128 + signal;
        }
        let known = EXIT_CODES.iter().find(|(kind, _, _)| *kind == self);
        known.map_or(4, |(_, code, _)| *code)
    }
}

/// A failure as it is shown.
#[derive(Debug)]
pub struct CommandError {
    kind: Kind,
    error: Box<dyn Error + Send + Sync>,
    hints: Vec<String>,
}

impl CommandError {
    pub(crate) fn new(kind: Kind, error: impl Into<Box<dyn Error + Send + Sync>>) -> CommandError {
        CommandError { kind, error: error.into(), hints: Vec::new() }
    }

    pub(crate) fn environment(error: impl Into<Box<dyn Error + Send + Sync>>) -> CommandError {
        CommandError::new(Kind::Environment, error)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> CommandError {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    /// The same words for another kind of failure.
    pub(crate) fn of_kind(mut self, kind: Kind) -> CommandError {
        self.kind = kind;
        self
    }

    /// The same kind of failure with other words, for one that was told already.
    pub(crate) fn repeated(self, words: impl Into<String>) -> CommandError {
        CommandError::new(self.kind, words.into())
    }

    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }

    /// What is said, with its causes, without hints and colours.
    pub(crate) fn to_plain(&self) -> String {
        let mut text = self.error.to_string();
        let mut cause = self.error.source();
        while let Some(err) = cause {
            text += &format!("\n  because: {err}");
            cause = err.source();
        }
        text
    }

    /// Says it on stderr, and with which code to exit.
    pub(crate) fn show(&self) -> ExitCode {
        if self.kind != Kind::Quiet {
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
        if self.kind == Kind::Bug {
            write!(
                f,
                "\n{title}hint:{title:#} this is a defect of ao; please report it with the lines above"
            )?;
        }
        Ok(())
    }
}

/// Says what can be done about a damaged log, with the backup that was made last if that is still there.
fn damaged(log: Utf8PathBuf, err: StoreError) -> CommandError {
    let error = CommandError::environment(err);
    match ao_store::last_backup(&log) {
        Some(backup) => {
            let aside = log.with_extension("damaged");
            error.hint(format!(
                "the last backup without faults is `{backup}`; to go back to it: ao stop; mkdir {aside} && mv {log}* \
                 {aside} && cp {backup} {log} && ao start"
            ))
        }
        None => error.hint("`ao events backup --help` says how to restore a backup"),
    }
    .hint("`ao events check` names what is damaged, and `ao events export` saves what can be read")
}

impl From<StoreError> for CommandError {
    fn from(err: StoreError) -> CommandError {
        let hint = match &err {
            StoreError::Pruned { .. } => {
                Some("leave out `--from` to begin with the first event that is kept")
            }
            StoreError::Locked { .. } => Some("`ao events` commands can be used beside a running ao"),
            StoreError::Foreign { .. } => {
                Some("name another directory with `--data-dir` or AO_DATA_DIR; this one is left as it is")
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

/// What the daemon refuses keeps its words; who did not reach it is told how to start it.
impl From<ClientError> for CommandError {
    fn from(err: ClientError) -> CommandError {
        match err {
            ClientError::Refused(problem) => CommandError::from(*problem),
            ClientError::Unreachable { .. } => {
                let hint = if err.is_absence() {
                    "start it with `ao start`"
                } else {
                    "`ao doctor` looks for what is wrong"
                };
                CommandError::new(Kind::NoDaemon, err).hint(hint)
            }
            ClientError::Strange(_) => CommandError::new(Kind::OtherVersion, err)
                .hint("`ao start` replaces a daemon of another version; agents go on meanwhile"),
            ClientError::Hung { pid, waited, .. } => hung(pid, waited, &err),
            ClientError::Broken(_) => CommandError::environment(err),
            ClientError::BadCall { .. } => CommandError::new(Kind::User, err),
        }
    }
}

/// Says what a daemon that does not answer is doing, as far as the system tells, and how to get on.
fn hung(pid: Option<u32>, waited: Duration, err: &ClientError) -> CommandError {
    let Some(pid) = pid else {
        return CommandError::new(Kind::TimedOut, err.to_string())
            .hint("`ao doctor` looks for what is wrong");
    };
    let waited = waited.as_secs();
    let (doing, first) = match background::state_of(pid) {
        Some('T' | 't') => ("is suspended", Some(format!("`kill -CONT {pid}` lets it go on"))),
        Some('D') => ("waits for the disk", None),
        _ => ("is running", None),
    };
    let what = format!("the daemon (pid {pid}) has not answered for {waited} s; its process {doing}");
    let error = CommandError::new(Kind::TimedOut, what);
    let error = first.into_iter().fold(error, CommandError::hint);
    error.hint(format!(
        "`kill -9 {pid}` ends it: agents go on, nothing is lost, and `ao start` starts it again"
    ))
}

impl From<Problem> for CommandError {
    fn from(problem: Problem) -> CommandError {
        let kind = match (problem.word(), problem.status) {
            (word, 404) if word.starts_with("unknown-") || word == "not-found" => Kind::Unknown,
            ("unknown-session" | "unknown-project", _) => Kind::Unknown,
            ("missing-program", _) => Kind::MissingProgram,
            ("not-a-repository", _) => Kind::NoRepository,
            ("unborn-repository", _) => Kind::UnbornRepository,
            ("bare-repository", _) => Kind::BareRepository,
            ("bad-config", _) => Kind::Config,
            (_, 401 | 403) => Kind::Forbidden,
            (_, 500..) => Kind::Environment,
            _ => Kind::User,
        };
        let hints: Vec<String> = problem.hints.iter().map(|hint| sanitise(hint)).collect();
        // Titles of strangers and the output of checks may stand in it.
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

/// Names as people list them: `a`, `b` or `c`.
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

impl From<EngineError> for CommandError {
    fn from(err: EngineError) -> CommandError {
        match err {
            EngineError::Store(err) => err.into(),
            other => CommandError::environment(other),
        }
    }
}

impl From<AskError> for CommandError {
    fn from(err: AskError) -> CommandError {
        match err {
            AskError::Refused(refusal) => CommandError::new(Kind::User, refusal),
            AskError::NotStored(err) => err.into(),
            AskError::Stopped => CommandError::environment(err),
        }
    }
}

/// It says itself where it stands and what to do about it.
impl From<ao_config::ConfigError> for CommandError {
    fn from(err: ao_config::ConfigError) -> CommandError {
        CommandError::new(Kind::Config, err)
    }
}

/// Errors of the daemon keep their kind and their hints.
impl From<DaemonError> for CommandError {
    fn from(err: DaemonError) -> CommandError {
        let kind = match err.kind {
            ErrorKind::Store(err) => return (*err).into(),
            ErrorKind::Ask(err) => return (*err).into(),
            ErrorKind::Config => Kind::Config,
            ErrorKind::Environment | ErrorKind::Failed => Kind::Environment,
            ErrorKind::NoRepository => Kind::NoRepository,
            ErrorKind::UnbornRepository => Kind::UnbornRepository,
            ErrorKind::BareRepository => Kind::BareRepository,
            ErrorKind::MissingProgram => Kind::MissingProgram,
            _ => Kind::User,
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
                (Kind::User, "go to another folder, or move that one away; nothing in it was touched")
            }
            CloneError::Refused { .. } => {
                (Kind::User, "look at the address; `git ls-remote <address>` shows whether git may read it")
            }
            CloneError::Unusable { err, .. } if matches!(**err, RepositoryError::Unborn(_)) => {
                (Kind::UnbornRepository, "push a first commit to it; nothing was left here")
            }
            CloneError::Unusable { .. } => (Kind::Environment, "`ao doctor` looks for what is wrong"),
            CloneError::NoGit => (Kind::MissingProgram, "install git 2.36 or newer"),
            CloneError::Folder { .. } => (Kind::Environment, "go to a folder that you can write to"),
            &CloneError::Interrupted(signal) => return CommandError::new(Kind::Interrupted(signal), err),
        };
        CommandError::new(kind, err).hint(hint)
    }
}

impl From<HasSecret> for CommandError {
    fn from(err: HasSecret) -> CommandError {
        CommandError::new(Kind::User, err)
            .hint("leave it out: git asks for it, or takes it from its credential helper (`gh auth setup-git`) or ssh")
            .hint("whoever lists the processes of this machine could have read it; better make a new one")
    }
}

/// What happens while writing to stdout; everything else says what it tried.
impl From<io::Error> for CommandError {
    fn from(err: io::Error) -> CommandError {
        match err.kind() {
            io::ErrorKind::BrokenPipe => CommandError::new(Kind::Quiet, err),
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
            // A kind that is new makes this fail to compile, and so is remembered in the table above.
            match kind {
                Kind::User
                | Kind::Config
                | Kind::Environment
                | Kind::Bug
                | Kind::Unknown
                | Kind::NoDaemon => {}
                Kind::NotAccepted | Kind::TimedOut | Kind::NoRepository | Kind::UnbornRepository => {}
                Kind::BareRepository | Kind::MissingProgram | Kind::PortInUse | Kind::OtherVersion => {}
                Kind::UnknownKey | Kind::Forbidden | Kind::Interrupted(_) | Kind::Quiet => {}
                Kind::ChecksFailed | Kind::ChecksPending | Kind::NotMerged => {}
            }
        }
        assert_eq!(EXIT_CODES.len(), 20);
        assert_eq!(Kind::Interrupted(2).exit_code(), 130);
    }
}
