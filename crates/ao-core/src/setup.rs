//! The configured set-up of a project's workspaces. Plain data: adapters act on it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::PullId;

/// The preparation of a new workspace before an agent can work in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Untracked files of the main checkout that the work needs, such as `.env*`.
    pub include: Vec<IncludedFiles>,
    /// Paths that are shared with the main checkout by a symbolic link, such as `node_modules`.
    pub symlinks: Vec<String>,
    /// Commands for the user's shell, which run in the new workspace one after another.
    pub post_create: Vec<String>,
    /// Commands that run before a workspace is removed.
    pub teardown: Vec<String>,
    /// The time limit for all commands of `post_create` together, and likewise of `teardown`.
    pub timeout: Duration,
}

/// A path or pattern of files, relative to the repository's root, and the way they get into a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncludedFiles {
    pub pattern: String,
    pub how: IncludeHow,
}

/// The way in which a file gets into a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncludeHow {
    #[default]
    Copy,
    Symlink,
    /// A copy that shares its blocks, if the file system supports it; otherwise a plain copy.
    Reflink,
}

/// The environment of the programs of a project's sessions, in addition to the common part.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Names that are passed on from the daemon's own environment.
    pub pass: Vec<String>,
    pub set: BTreeMap<String, String>,
    pub secrets: Vec<SecretRef>,
}

/// A secret by reference. Its value is read where a process is started, and is in no log, plan or argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretRef {
    /// The variable that gets the value.
    pub name: String,
    pub from: SecretSource,
}

/// The source of a secret's value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretSource {
    /// A variable of the daemon's environment.
    Env(String),
    /// A file, without the line break at its end.
    File(String),
}

/// Ports that each session of a project gets for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRange {
    /// The variables that carry them, such as `PORT` and `API_PORT`: one port for each.
    pub names: Vec<String>,
    pub first: u16,
    pub last: u16,
    /// Each name has one fixed port, from `first` on, because the project cannot be configured otherwise. Then only
    /// one session can run at a time, and the next one waits.
    pub exclusive: bool,
}

/// The starting point of a session's workspace.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A new branch from the base branch; an existing one if it is left from an earlier workspace of ours.
    #[default]
    Base,
    /// An existing branch, here or at the remote.
    Branch,
    /// The head of a pull request, fetched by this ref.
    Pull { fetch: String },
    /// A commit to read, on no branch: the head of the pull request that is reviewed.
    Read { commit: String, pull: PullId },
    /// An existing worktree with its contents. It belongs to its creator, and is never removed.
    Tree { path: String },
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            include: vec![],
            symlinks: vec![],
            post_create: vec![],
            teardown: vec![],
            timeout: Duration::from_secs(600),
        }
    }
}

impl Setup {
    /// Returns whether a new workspace needs no preparation.
    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.symlinks.is_empty() && self.post_create.is_empty()
    }
}

impl PortRange {
    /// Returns the last port of the range.
    pub fn end(&self) -> u16 {
        match self.exclusive {
            true => self.first.saturating_add(self.names.len().saturating_sub(1) as u16),
            false => self.last,
        }
    }
}
