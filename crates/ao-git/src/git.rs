//! Runs the `git` program and interprets its failures.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;

use crate::guard::{ProgramGuard, Setting};
use crate::process::{CallFault, GitCall};
use crate::{environment, half_made, refs};

/// Variables that point git at a repository other than the folder it is called in, or change what it finds there. Our
/// git gets none of them ([`crate::environment`]); they must also be removed for other programs that call git, in case
/// a hook started us.
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

/// Time limit for reading names and commits.
pub(crate) const READ: Duration = Duration::from_secs(60);
/// Time limit for reading the contents of files, which are many and may have to be fetched.
const READ_FILES: Duration = Duration::from_secs(5 * 60);
/// Time limit for a change, unless the caller sets another.
const WRITE: Duration = Duration::from_secs(10 * 60);
/// Commands that read file contents. In a partial clone they fetch what is missing; for all others a missing object is
/// the answer.
const OF_FILES: [&str; 8] =
    ["cat-file", "cherry", "diff", "diff-tree", "merge-tree", "show", "stash", "status"];

/// Commands that reach other machines.
const NETWORK: [&str; 7] = ["clone", "fetch", "ls-remote", "pull", "push", "remote", "submodule"];
/// Commands that show differences, for which repositories can name other programs.
const DIFFERS: [&str; 8] =
    ["diff", "diff-files", "diff-index", "diff-tree", "log", "show", "format-patch", "whatchanged"];

/// Commands that list the worktrees before they change something.
const LOOK_FIRST: [&str; 2] = ["worktree", "branch"];

/// Git in one folder.
#[derive(Debug, Clone)]
pub struct Git {
    dir: PathBuf,
    settings: Settings,
    variables: Vec<(&'static str, OsString)>,
    /// True if it may change something. In an agent's tree that needs [`Git::shown_to_be_ours`].
    writes: bool,
    /// Time limit of a call, which is also cancelled when its future is dropped. If absent, the default limits apply,
    /// and a change that was begun runs to its end.
    within: Option<Duration>,
}

/// Settings for every call, as by `git -c`.
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
    #[error("`git {command}` would change `{}`, which was not verified to be ours", .dir.display())]
    NotShownOurs { command: String, dir: PathBuf },
}

impl GitError {
    /// Returns the stderr of git, if it ran and failed.
    pub fn stderr(&self) -> &str {
        match self {
            GitError::Failed { stderr, .. } => stderr,
            _ => "",
        }
    }
}

impl Git {
    /// Runs git in the user's repository.
    pub fn at(dir: &Path, settings: &Settings) -> Git {
        Git { dir: dir.to_owned(), settings: settings.clone(), variables: vec![], writes: true, within: None }
    }

    /// Runs git with no settings but the user's own. For a tree of ours, the caller must have verified that it is ours.
    pub fn plain(dir: &Path) -> Git {
        Git::at(dir, &Settings::default())
    }

    /// Runs git in a folder that should be a worktree or a clone, read-only. Without this ceiling, git would answer for
    /// the repository around the folder if the folder is not what it was.
    pub fn in_tree(dir: &Path, settings: &Settings) -> Git {
        let ceiling = dir.parent().unwrap_or(dir).as_os_str().to_owned();
        let variables = vec![("GIT_CEILING_DIRECTORIES", ceiling)];
        Git { dir: dir.to_owned(), settings: settings.clone(), variables, writes: false, within: None }
    }

    /// Returns the same git, allowed to write. For callers that have just verified that the tree is ours: an agent can
    /// replace its `.git`.
    pub fn shown_to_be_ours(&self) -> Git {
        Git { writes: true, ..self.clone() }
    }

    /// Returns the same git, with an environment variable set.
    pub fn with(&self, name: &'static str, value: impl Into<OsString>) -> Git {
        let mut git = self.clone();
        git.variables.push((name, value.into()));
        git
    }

    /// Returns the same git, with further settings, which come before those that it has.
    pub(crate) fn with_settings(&self, more: Vec<Setting>) -> Git {
        if more.is_empty() {
            return self.clone();
        }
        let settings = Arc::new(more.into_iter().chain(self.settings.iter().cloned()).collect());
        Git { settings, ..self.clone() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn variables(&self) -> &[(&'static str, OsString)] {
        &self.variables
    }

    /// Runs a read-only command, without taking locks that could make another git fail.
    pub async fn read<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        let output = self.run(true, args, None).await?;
        self.succeeded(args, &output)?;
        Ok(text(&output.stdout))
    }

    /// Runs a read-only command with input that is too long for arguments.
    pub async fn read_with<S: AsRef<OsStr>>(&self, args: &[S], input: &str) -> Result<String, GitError> {
        let output = self.run(true, args, Some(input.as_bytes())).await?;
        self.succeeded(args, &output)?;
        Ok(text(&output.stdout))
    }

    /// Runs a read-only command whose output may be large or binary, and returns its first `limit` bytes. Git is killed
    /// once there are more.
    pub async fn read_bytes<S: AsRef<OsStr>>(&self, args: &[S], limit: usize) -> Result<Vec<u8>, GitError> {
        let output = self.call(true, args, None, limit).await?;
        if output.stdout.len() < limit {
            self.succeeded(args, &output)?;
        }
        Ok(output.stdout)
    }

    /// Runs a read-only command with binary output, and input that is too long for arguments.
    pub async fn read_bytes_with<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &str,
    ) -> Result<Vec<u8>, GitError> {
        let output = self.run(true, args, Some(input.as_bytes())).await?;
        self.succeeded(args, &output)?;
        Ok(output.stdout)
    }

    /// Runs a command that changes something, and returns its output. The caller holds the repository's queue, or has
    /// the tree to itself.
    pub async fn write<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        self.write_with(args, None).await
    }

    pub async fn write_with<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: Option<&str>,
    ) -> Result<String, GitError> {
        self.write_bytes(args, input.map(str::as_bytes)).await
    }

    /// Runs a command that changes something, with binary input.
    pub async fn write_bytes<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: Option<&[u8]>,
    ) -> Result<String, GitError> {
        if !self.writes {
            return Err(GitError::NotShownOurs { command: shown(args), dir: self.dir.clone() });
        }
        let output = self.run(false, args, input).await?;
        self.succeeded(args, &output)?;
        Ok(text(&output.stdout))
    }

    /// Runs a change that involves another machine, which may never answer. Cancelled when the future is dropped.
    pub async fn write_within<S: AsRef<OsStr>>(&self, limit: Duration, args: &[S]) -> Result<(), GitError> {
        Git { within: Some(limit), ..self.clone() }.write(args).await?;
        Ok(())
    }

    /// Runs a yes-or-no question: exit code 0 is yes, 1 is no, anything else is an error.
    pub async fn asks<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<bool, GitError> {
        Ok(self.answer(args).await?.is_some())
    }

    /// Asks for something that may not exist: exit code 1 means that it does not.
    pub async fn answer<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Option<String>, GitError> {
        let output = self.run(true, args, None).await?;
        match output.status.code() {
            Some(1) => Ok(None),
            _ => self.succeeded(args, &output).map(|()| Some(text(&output.stdout))),
        }
    }

    /// Returns the commit that a name refers to, if there is one.
    pub async fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        // Branches are read from their files, and always refer to commits.
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
        input: Option<&[u8]>,
    ) -> Result<Output, GitError> {
        self.call(reads, args, input, usize::MAX).await
    }

    async fn call<S: AsRef<OsStr>>(
        &self,
        reads: bool,
        args: &[S],
        input: Option<&[u8]>,
        most: usize,
    ) -> Result<Output, GitError> {
        // The command follows at most two settings of git itself.
        let of_files = args.iter().take(5).any(|arg| OF_FILES.iter().any(|&name| arg.as_ref() == name));
        let usual = match (reads, of_files) {
            (true, false) => READ,
            (true, true) => READ_FILES,
            (false, _) => WRITE,
        };
        let limit = self.within.unwrap_or(usual);
        let ends_when_dropped = reads || self.within.is_some();
        loop {
            let command =
                self.command(reads, of_files, args).await.map_err(|fault| self.fault(args, fault, READ))?;
            let call = GitCall { command, input, most, limit, ends_when_dropped };
            let output = call.run().await.map_err(|fault| self.fault(args, fault, limit))?;
            // These list the worktrees before they change anything; other changes may have been half done.
            let looks_first =
                || args.first().is_some_and(|arg| LOOK_FIRST.iter().any(|&it| arg.as_ref() == it));
            if !(reads || looks_first()) || !half_made::asks_again(&output, &self.dir).await {
                return Ok(output);
            }
        }
    }

    async fn command<S: AsRef<OsStr>>(
        &self,
        reads: bool,
        of_files: bool,
        args: &[S],
    ) -> Result<Command, CallFault> {
        let at = subcommand(args);
        let is_one_of = |names: &[&str]| at.is_some_and(|at| names.iter().any(|&it| args[at].as_ref() == it));
        // `git config` runs nothing, and should list what people have set.
        let guard = match is_one_of(&["config"]) {
            true => None,
            false => Some(ProgramGuard::of(&self.dir, &self.variables).await?),
        };
        let is_partial = guard.as_ref().is_some_and(|guard| guard.listing.is_partial());
        let fetches = !reads || of_files && is_partial;
        let network = is_one_of(&NETWORK) || fetches && is_partial;
        if fetches && guard.as_ref().is_some_and(|guard| guard.listing.is_partial() && guard.names_packer) {
            let why = "the repository names a program of its own for a remote that objects are fetched from";
            return Err(CallFault::NotRun(io::Error::other(why)));
        }
        let mut command = base(network);
        if reads {
            command.arg("--no-optional-locks");
        }
        command.current_dir(&self.dir);
        let mut more: Vec<&str> = vec![];
        if is_one_of(&DIFFERS) {
            more.extend(["--no-ext-diff", "--no-textconv"]);
        }
        let says_so =
            || args.iter().any(|arg| arg.as_ref().to_string_lossy().starts_with("--ignore-submodules"));
        // Otherwise git would run in each submodule, with the settings of that.
        if is_one_of(&["status", "diff", "diff-files", "diff-index"]) && !says_so() {
            more.push("--ignore-submodules=dirty");
        }
        // Git takes the first of these that it finds, so a setting of ours could not replace one.
        if guard.as_ref().is_some_and(|guard| !guard.approves_packer) {
            match is_one_of(&["push"]) {
                true => more.push("--receive-pack=git-receive-pack"),
                false if is_one_of(&["fetch", "ls-remote"]) => more.push("--upload-pack=git-upload-pack"),
                false => {}
            }
        }
        match at {
            Some(at) => command.args(&args[..=at]).args(more).args(&args[at + 1..]),
            None => command.args(args),
        };
        if !fetches {
            command.env("GIT_NO_LAZY_FETCH", "1");
        }
        let guarded = guard.as_ref().map(|guard| guard.settings.as_slice()).unwrap_or_default();
        set(&mut command, guarded.iter().chain(self.settings.iter()));
        if let Some(guard) = &guard {
            command.envs(guard.variables.iter().copied());
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    pub(crate) fn fault<S: AsRef<OsStr>>(&self, args: &[S], fault: CallFault, after: Duration) -> GitError {
        match fault {
            CallFault::TooSlow => GitError::TooSlow { command: shown(args), dir: self.dir.clone(), after },
            CallFault::NotRun(err) => match err.kind() {
                io::ErrorKind::NotFound if self.dir.exists() => GitError::NoGit,
                _ => GitError::NotRun { command: shown(args), dir: self.dir.clone(), err },
            },
        }
    }

    /// Makes the error of a command whose output is not what was expected.
    pub fn failure(&self, command: impl Into<String>, why: impl Into<String>) -> GitError {
        GitError::Failed { command: command.into(), dir: self.dir.clone(), stderr: why.into() }
    }

    fn succeeded<S: AsRef<OsStr>>(&self, args: &[S], output: &Output) -> Result<(), GitError> {
        if output.status.success() {
            return Ok(());
        }
        let mut stderr = without_userinfo(&text(&output.stderr));
        if stderr.is_empty() {
            stderr = output.status.to_string();
        }
        Err(self.failure(shown(args), stderr))
    }
}

/// Returns a git command for a folder, to be run by the caller: with the same environment as every git of ours, and
/// guarded against programs that the repository names. `network` adds the variables for reaching other machines.
pub async fn command(dir: &Path, network: bool) -> io::Result<Command> {
    let guard = ProgramGuard::of(dir, &[]).await.map_err(|fault| match fault {
        CallFault::NotRun(err) => err,
        CallFault::TooSlow => io::Error::other("git did not list its settings in time"),
    })?;
    let mut command = base(network);
    set(&mut command, guard.settings.iter());
    command.envs(guard.variables).current_dir(dir);
    Ok(command)
}

/// Returns git with its own environment, and nothing of ours.
pub(crate) fn base(network: bool) -> Command {
    let mut command = Command::new(program());
    command.env_clear().envs(environment::variables(network));
    command
}

/// Returns the path of git. Given a bare name and a `PATH` in the environment, the standard library has to fork, which
/// copies our page tables; given a path, it can use `posix_spawn`.
fn program() -> PathBuf {
    let name = Path::new("git");
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|file| {
        file.is_absolute()
            && file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    });
    found.unwrap_or_else(|| name.to_owned())
}

/// Passes settings to git, after those of the user's environment.
fn set<'a>(command: &mut Command, settings: impl Iterator<Item = &'a Setting>) {
    let first = environment::settings_given();
    let mut count = first;
    for (key, value) in settings {
        command.env(format!("GIT_CONFIG_KEY_{count}"), key).env(format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    if count > first {
        command.env("GIT_CONFIG_COUNT", count.to_string());
    }
}

/// Returns the index of the subcommand, behind options of git itself.
fn subcommand<S: AsRef<OsStr>>(args: &[S]) -> Option<usize> {
    let mut at = 0;
    loop {
        let arg = args.get(at)?.as_ref();
        at += match arg.to_str() {
            Some("-c" | "-C") => 2,
            Some(option) if option.starts_with('-') => 1,
            _ => return Some(at),
        };
    }
}

/// Formats a command for errors and logs.
fn shown<S: AsRef<OsStr>>(args: &[S]) -> String {
    without_userinfo(&args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect::<Vec<_>>().join(" "))
}

/// Masks the user names, passwords and tokens in the URLs of a text: the output of git goes into errors, logs and
/// notices.
fn without_userinfo(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        masked += before;
        masked += "://";
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '\'' | '"' | '`' | '<' | '>');
        let host = after.find(ends).unwrap_or(after.len());
        // The last one, since a password may contain `@`.
        rest = match after[..host].rfind('@') {
            Some(at) => {
                masked += "***";
                &after[at..]
            }
            None => after,
        };
    }
    masked + rest
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches(['\n', '\r', ' ']).to_owned()
}

#[cfg(test)]
mod tests;
