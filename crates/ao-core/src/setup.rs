//! How a project's workspaces are made ready for work, as its configuration says it. Plain data: others act on it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::PullId;

/// What a new workspace needs before an agent can work in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setup {
    /// Files of the main checkout that git does not track and the work needs all the same, such as `.env*`.
    pub include: Vec<Include>,
    /// Paths that are shared with the main checkout by a link, such as `node_modules`.
    pub symlinks: Vec<String>,
    /// Commands for the user's shell, run in the new workspace one after another.
    pub post_create: Vec<String>,
    /// The same, run before a workspace is removed.
    pub teardown: Vec<String>,
    /// How long the commands of one of the two may take together.
    pub timeout: Duration,
}

/// A path or pattern of files, relative to the repository's root, and how they get into a workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Include {
    pub pattern: String,
    pub how: IncludeHow,
}

/// How a file gets into a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncludeHow {
    #[default]
    Copy,
    Symlink,
    /// A copy that shares its blocks, where the file system can; a plain copy where it cannot.
    Reflink,
}

/// What the programs of a project's sessions find in their environment besides what every program gets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Environment {
    /// Names that are passed on from the daemon's own environment.
    pub pass: Vec<String>,
    pub set: BTreeMap<String, String>,
    pub secrets: Vec<Secret>,
}

/// A secret by reference. Its value is looked up where a process is started, and is in no log, plan or argument.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Secret {
    /// The variable that gets the value.
    pub name: String,
    pub from: SecretSource,
}

/// Where a secret's value is found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretSource {
    /// A variable of the daemon's environment.
    Env(String),
    /// A file, without the line end behind its last line.
    File(String),
}

/// Ports that each session of a project gets for itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortRange {
    /// The variables that carry them, such as `PORT` and `API_PORT`: one port for each.
    pub names: Vec<String>,
    pub first: u16,
    pub last: u16,
    /// Each name has one port of its own, from `first` on, because the project cannot be told another. Then only one
    /// session can run at a time, and the next one waits.
    pub exclusive: bool,
}

/// What a session's workspace begins with.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A new branch off the base branch; the same branch again if it is left over from an earlier workspace of ours.
    #[default]
    Base,
    /// A branch that exists, here or at the remote.
    Branch,
    /// The head of a pull request, fetched by this ref.
    Pull { fetch: String },
    /// A commit that is only to be read, on no branch: the head of the pull request that it is read for.
    Read { commit: String, pull: PullId },
    /// A worktree that exists already, with all that is in it. It stays its owner's, and is never removed.
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
    /// Whether a new workspace is ready as it is.
    pub fn is_empty(&self) -> bool {
        self.include.is_empty() && self.symlinks.is_empty() && self.post_create.is_empty()
    }
}

impl PortRange {
    /// The last port that may be given out.
    pub fn end(&self) -> u16 {
        match self.exclusive {
            true => self.first.saturating_add(self.names.len().saturating_sub(1) as u16),
            false => self.last,
        }
    }
}
