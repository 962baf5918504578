//! The `git` program: how it is called, and what its failures mean.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// What would point git at another repository than the folder it is called in, if we were started by a hook.
pub const MISLEADING: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CONFIG",
];

/// Git in one folder.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    settings: Settings,
    variables: Vec<(&'static str, OsString)>,
    /// Whether it may change something. In a tree where agents work only who has shown just before that it is ours may.
    writes: bool,
    /// Whether it runs in a process group of its own, which is ended as a whole if nobody waits for it any more: git's
    /// helpers for the network outlive it otherwise.
    apart: bool,
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
        Git { dir: dir.to_owned(), settings: settings.clone(), variables: vec![], writes: true, apart: false }
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
        Git { dir: dir.to_owned(), settings: settings.clone(), variables, writes: false, apart: false }
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
        let not_run = |err: io::Error| self.not_run(args, err);
        let mut child = self.command(true, args, false).kill_on_drop(true).spawn().map_err(not_run)?;
        let (Some(stdout), Some(mut stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err(not_run(io::Error::other("its output is not here")));
        };
        let (mut bytes, mut told) = (vec![], vec![]);
        let reads = async {
            stdout.take(limit as u64).read_to_end(&mut bytes).await?;
            if bytes.len() >= limit {
                // It may be over, with exactly as much as was wanted.
                child.start_kill().ok();
            }
            child.wait().await
        };
        let (status, _) = tokio::join!(reads, stderr.read_to_end(&mut told));
        let status = status.map_err(not_run)?;
        if bytes.len() < limit {
            self.succeeded(args, &Output { status, stdout: vec![], stderr: told })?;
        }
        Ok(bytes)
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

    /// Changes something that another machine has a part in, which may never answer.
    pub async fn write_within<S: AsRef<OsStr>>(&self, limit: Duration, args: &[S]) -> Result<(), GitError> {
        let apart = Git { apart: true, ..self.clone() };
        tokio::time::timeout(limit, apart.write(args)).await.unwrap_or_else(|_| {
            Err(GitError::TooSlow { command: told(args), dir: self.dir.clone(), after: limit })
        })?;
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
        let commit = format!("{name}^{{commit}}");
        self.answer(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit]).await
    }

    async fn run<S: AsRef<OsStr>>(
        &self,
        reads: bool,
        args: &[S],
        input: Option<&str>,
    ) -> Result<Output, GitError> {
        let not_run = |err: io::Error| self.not_run(args, err);
        let mut child = self.command(reads, args, input.is_some()).spawn().map_err(not_run)?;
        let mut group = Group(child.id().filter(|_| self.apart));
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // What git did not want to read shows in how it ends.
            stdin.write_all(input.as_bytes()).await.ok();
        }
        let output = child.wait_with_output().await.map_err(not_run);
        group.0 = None;
        output
    }

    fn command<S: AsRef<OsStr>>(&self, reads: bool, args: &[S], has_input: bool) -> Command {
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
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(if has_input { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if self.apart {
            command.process_group(0);
        }
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

/// Ends a process group when it is dropped, unless the group was waited for.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.and_then(|id| rustix::process::Pid::from_raw(id.cast_signed()));
        if let Some(pid) = pid {
            // By a signal that git can clear up after: killed, it would leave its locks behind. It may have ended just
            // now, which is what is wanted.
            rustix::process::kill_process_group(pid, rustix::process::Signal::TERM).ok();
        }
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
mod tests {
    use super::*;

    #[test]
    fn no_error_tells_a_token() {
        for (text, told) in [
            ("clone https://ann:t0ken@host/x", "clone https://***@host/x"),
            ("fatal: 'https://t0ken@host': no", "fatal: 'https://***@host': no"),
            ("http://a:p@ss@h:80/x and ssh://git@h/y", "http://***@h:80/x and ssh://***@h/y"),
            ("https://host/a@b and c@d", "https://host/a@b and c@d"),
            ("plain text", "plain text"),
        ] {
            assert_eq!(without_userinfo(text), told);
        }
    }
}
