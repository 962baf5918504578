//! The `git` program: how it is called, and what its failures mean.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

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
pub(crate) struct Git {
    dir: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
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
}

impl Git {
    pub(crate) fn at(dir: &Path) -> Git {
        Git { dir: dir.to_owned() }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Asks for something, and takes no lock that somebody else's git could stumble over.
    pub(crate) async fn read<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        let output = self.run(true, args).await?;
        self.succeeded(args, &output)?;
        Ok(text(&output.stdout))
    }

    /// Changes something. The caller holds the repository's queue.
    pub(crate) async fn write<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<(), GitError> {
        let output = self.run(false, args).await?;
        self.succeeded(args, &output)
    }

    /// Asks a question that git answers with its exit code: 0 is yes, 1 is no, anything else is no answer.
    pub(crate) async fn asks<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<bool, GitError> {
        let output = self.run(true, args).await?;
        match output.status.code() {
            Some(1) => Ok(false),
            _ => self.succeeded(args, &output).map(|()| true),
        }
    }

    /// The commit behind a name, if there is one.
    pub(crate) async fn commit(&self, name: &str) -> Result<Option<String>, GitError> {
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &format!("{name}^{{commit}}")];
        let output = self.run(true, &args).await?;
        match output.status.code() {
            Some(1) => Ok(None),
            _ => self.succeeded(&args, &output).map(|()| Some(text(&output.stdout))),
        }
    }

    async fn run<S: AsRef<OsStr>>(&self, reads: bool, args: &[S]) -> Result<Output, GitError> {
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
            .stdin(Stdio::null());
        command.output().await.map_err(|err| match err.kind() {
            io::ErrorKind::NotFound if self.dir.exists() => GitError::NoGit,
            _ => GitError::NotRun { command: told(args), dir: self.dir.clone(), err },
        })
    }

    fn succeeded<S: AsRef<OsStr>>(&self, args: &[S], output: &Output) -> Result<(), GitError> {
        if output.status.success() {
            return Ok(());
        }
        let mut stderr = text(&output.stderr);
        if stderr.is_empty() {
            stderr = output.status.to_string();
        }
        Err(GitError::Failed { command: told(args), dir: self.dir.clone(), stderr })
    }
}

fn told<S: AsRef<OsStr>>(args: &[S]) -> String {
    args.iter().map(|arg| arg.as_ref().to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
