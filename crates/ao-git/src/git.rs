//! The `git` program: how it is called, and what its failures mean.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;

use crate::process::{Call, Fault};
use crate::{half_made, refs};

/// What would point git at another repository than the folder it is called in, or change what it finds there, if we were
/// started by a hook. What `git rev-parse --local-env-vars` names, of old versions too, and the namespace.
///
/// Without `GIT_CONFIG_COUNT`: it is how a container or a service gives git settings for all it runs (`safe.directory`), and
/// ours are put behind those.
pub const MISLEADING: [&str; 16] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// How long git may take to say something of names and commits.
const READ: Duration = Duration::from_secs(60);
/// The same for what is in files, which are many, and may have to be fetched.
const READ_FILES: Duration = Duration::from_secs(5 * 60);
/// How long it may take to change something, unless the caller knows better.
const WRITE: Duration = Duration::from_secs(10 * 60);
/// The commands that look into files. In a clone that has only a part of them they fetch what they miss; for all others
/// that something is missing is the answer.
const OF_FILES: [&str; 8] =
    ["cat-file", "cherry", "diff", "diff-tree", "merge-tree", "show", "stash", "status"];

/// The commands that list the worktrees before they change something.
const LOOK_FIRST: [&str; 2] = ["worktree", "branch"];

/// Git in one folder.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    settings: Settings,
    variables: Vec<(&'static str, OsString)>,
    /// Whether it may change something. In a tree where agents work only who has shown just before that it is ours may.
    writes: bool,
    /// How long a call may take; it is ended, too, if nobody waits for it any more. Without this it has the usual time, and
    /// a change that was begun is brought to its end.
    within: Option<Duration>,
}

/// Settings that hold for every call, as `git -c` would give them.
pub type Settings = Arc<Vec<(String, String)>>;

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("the program `git` was not found; install git 2.36 or newer")]
    NoGit,
    #[error("`git {command}` could not be run in `{}`", .dir.display())]
    NotRun {
        command: String,
        dir: PathBuf,
        #[source]
        err: io::Error,
    },
    #[error("`git {command}` failed in `{}`: {stderr}", .dir.display())]
    Failed { command: String, dir: PathBuf, stderr: String },
    #[error("`git {command}` was not done after {} s in `{}`, and was ended", .after.as_secs(), .dir.display())]
    TooSlow { command: String, dir: PathBuf, after: Duration },
    #[error("`git {command}` would change `{}`, which nobody has shown to be ours", .dir.display())]
    NotShownOurs { command: String, dir: PathBuf },
}

impl GitError {
    /// What git itself said, if it said something.
    pub fn stderr(&self) -> &str {
        match self {
            GitError::Failed { stderr, .. } => stderr,
            _ => "",
        }
    }
}

impl Git {
    /// In the user's repository.
    pub fn at(dir: &Path, settings: &Settings) -> Git {
        Git { dir: dir.to_owned(), settings: settings.clone(), variables: vec![], writes: true, within: None }
    }

    /// With no settings but the user's own. In a tree of ours only once the caller has shown that it is.
    pub fn plain(dir: &Path) -> Git {
        Git::at(dir, &Settings::default())
    }

    /// In a folder that should be a tree of its own, to read only. Without this ceiling, git would answer for the
    /// repository around the folder if the folder is not what it was.
    pub fn in_tree(dir: &Path, settings: &Settings) -> Git {
        let ceiling = dir.parent().unwrap_or(dir).as_os_str().to_owned();
        let variables = vec![("GIT_CEILING_DIRECTORIES", ceiling)];
        Git { dir: dir.to_owned(), settings: settings.clone(), variables, writes: false, within: None }
    }

    /// The same, allowed to write. For who has looked just before that the tree is ours: an agent can replace its `.git`.
    pub fn shown_to_be_ours(&self) -> Git {
        Git { writes: true, ..self.clone() }
    }

    /// The same, with a variable set.
    pub fn with(&self, name: &'static str, value: impl Into<OsString>) -> Git {
        let mut git = self.clone();
        git.variables.push((name, value.into()));
        git
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Asks for something, and takes no lock that somebody else's git could stumble over.
    pub async fn read<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        let output = self.run(true, args, None).await?;
        self.succeeded(args, &output)?;
        Ok(text(&output.stdout))
    }

    /// Asks for something, with more to say than fits into arguments.
    pub async fn read_with<S: AsRef<OsStr>>(&self, args: &[S], input: &str) -> Result<String, GitError> {
        let output = self.run(true, args, Some(input)).await?;
        self.succeeded(args, &output)?;
        Ok(text(&output.stdout))
    }

    /// Asks for something that may be large, or no text: its first bytes as they are, at most `limit`. Git is ended once
    /// there are more.
    pub async fn read_bytes<S: AsRef<OsStr>>(&self, args: &[S], limit: usize) -> Result<Vec<u8>, GitError> {
        let output = self.call(true, args, None, limit).await?;
        if output.stdout.len() < limit {
            self.succeeded(args, &output)?;
        }
        Ok(output.stdout)
    }

    /// Asks for something that is no text, with more to say than fits into arguments.
    pub async fn read_bytes_with<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &str,
    ) -> Result<Vec<u8>, GitError> {
        let output = self.run(true, args, Some(input)).await?;
        self.succeeded(args, &output)?;
        Ok(output.stdout)
    }

    /// Changes something, and returns what git said. The caller holds the repository's queue, or a tree of its own.
    pub async fn write<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        self.write_with(args, None).await
    }

    pub async fn write_with<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: Option<&str>,
    ) -> Result<String, GitError> {
        if !self.writes {
            return Err(GitError::NotShownOurs { command: told(args), dir: self.dir.clone() });
        }
        let output = self.run(false, args, input).await?;
        self.succeeded(args, &output)?;
        Ok(text(&output.stdout))
    }

    /// Changes something that another machine has a part in, which may never answer. Ended if nobody waits for it any more.
    pub async fn write_within<S: AsRef<OsStr>>(&self, limit: Duration, args: &[S]) -> Result<(), GitError> {
        Git { within: Some(limit), ..self.clone() }.write(args).await?;
        Ok(())
    }

    /// Asks a question that git answers with its exit code: 0 is yes, 1 is no, anything else is no answer.
    pub async fn asks<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<bool, GitError> {
        Ok(self.answer(args).await?.is_some())
    }

    /// Asks for something that need not be there: exit code 1 means that it is not.
    pub async fn answer<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Option<String>, GitError> {
        let output = self.run(true, args, None).await?;
        match output.status.code() {
            Some(1) => Ok(None),
            _ => self.succeeded(args, &output).map(|()| Some(text(&output.stdout))),
        }
    }

    /// The commit behind a name, if there is one.
    pub async fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        // Branches are read from their files, and are always commits.
        if (name.starts_with("refs/heads/") || name.starts_with("refs/remotes/"))
            && !self.variables.iter().any(|(variable, _)| *variable == "GIT_DIR")
            && let Some(common_dir) = refs::common_dir(&self.dir)
            && let Some(found) = refs::find(&common_dir, name)
        {
            return Ok(found);
        }
        let commit = format!("{name}^{{commit}}");
        self.answer(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).await
    }

    async fn run<S: AsRef<OsStr>>(
        &self,
        reads: bool,
        args: &[S],
        input: Option<&str>,
    ) -> Result<Output, GitError> {
        self.call(reads, args, input, usize::MAX).await
    }

    async fn call<S: AsRef<OsStr>>(
        &self,
        reads: bool,
        args: &[S],
        input: Option<&str>,
        most: usize,
    ) -> Result<Output, GitError> {
        // Behind two settings for git itself, at most.
        let of_files = args.iter().take(5).any(|arg| OF_FILES.iter().any(|&name| arg.as_ref() == name));
        let usual = match (reads, of_files) {
            (true, false) => READ,
            (true, true) => READ_FILES,
            (false, _) => WRITE,
        };
        let limit = self.within.unwrap_or(usual);
        let ends_when_dropped = reads || self.within.is_some();
        loop {
            let mut command = self.command(reads, args);
            if reads && !of_files {
                command.env("GIT_NO_LAZY_FETCH", "1");
            }
            let call = Call { command, input, most, limit, ends_when_dropped };
            let output = call.run().await.map_err(|fault| match fault {
                Fault::NotRun(err) => self.not_run(args, err),
                Fault::TooSlow => {
                    GitError::TooSlow { command: told(args), dir: self.dir.clone(), after: limit }
                }
            })?;
            // These look at the worktrees before they change anything; others may have been half done.
            let looks_first =
                || args.first().is_some_and(|arg| LOOK_FIRST.iter().any(|&it| arg.as_ref() == it));
            if !(reads || looks_first()) || !half_made::asks_again(&output, &self.dir).await {
                return Ok(output);
            }
        }
    }

    fn command<S: AsRef<OsStr>>(&self, reads: bool, args: &[S]) -> Command {
        let mut command = Command::new("git");
        for name in MISLEADING {
            command.env_remove(name);
        }
        if reads {
            command.arg("--no-optional-locks");
        }
        command
            .args(args)
            .current_dir(&self.dir)
            // We read what git says, so it has to say it in one language, and has nobody to ask.
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_LFS_SKIP_SMUDGE", "1")
            .envs(self.settings_variables())
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn not_run<S: AsRef<OsStr>>(&self, args: &[S], err: io::Error) -> GitError {
        match err.kind() {
            io::ErrorKind::NotFound if self.dir.exists() => GitError::NoGit,
            _ => GitError::NotRun { command: told(args), dir: self.dir.clone(), err },
        }
    }

    /// The settings, behind those that the environment has already.
    fn settings_variables(&self) -> Vec<(String, String)> {
        if self.settings.is_empty() {
            return vec![];
        }
        let first = std::env::var("GIT_CONFIG_COUNT").ok().and_then(|count| count.parse().ok()).unwrap_or(0);
        let mut variables = vec![("GIT_CONFIG_COUNT".to_owned(), (first + self.settings.len()).to_string())];
        for (number, (key, value)) in (first..).zip(self.settings.iter()) {
            variables.push((format!("GIT_CONFIG_KEY_{number}"), key.clone()));
            variables.push((format!("GIT_CONFIG_VALUE_{number}"), value.clone()));
        }
        variables
    }

    fn succeeded<S: AsRef<OsStr>>(&self, args: &[S], output: &Output) -> Result<(), GitError> {
        if output.status.success() {
            return Ok(());
        }
        let mut stderr = without_userinfo(&text(&output.stderr));
        if stderr.is_empty() {
            stderr = output.status.to_string();
        }
        Err(GitError::Failed { command: told(args), dir: self.dir.clone(), stderr })
    }
}

/// A command as it is told in errors and logs.
fn told<S: AsRef<OsStr>>(args: &[S]) -> String {
    without_userinfo(&args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect::<Vec<_>>().join(" "))
}

/// A text without the names, passwords and tokens in its addresses: what git says of an address goes into errors, logs
/// and notices.
fn without_userinfo(text: &str) -> String {
    let mut told = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        told += before;
        told += "://";
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '\'' | '"' | '`' | '<' | '>');
        let host = after.find(ends).unwrap_or(after.len());
        // The last one: a password may have one of its own.
        rest = match after[..host].rfind('@') {
            Some(at) => {
                told += "***";
                &after[at..]
            }
            None => after,
        };
    }
    told + rest
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches(['\n', '\r', ' ']).to_owned()
}

#[cfg(test)]
mod tests;
