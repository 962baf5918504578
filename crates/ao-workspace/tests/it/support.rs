//! A throw-away repository and a session's worktree in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ao_core::effect::WorkspacePlan;
use ao_core::workspace::KeepReason;
use ao_core::{Attempt, ProjectId, SessionId};
use ao_ports::{Made, Removal, RemoveOrder, Workspace, WorkspaceError};
use ao_workspace::Worktrees;
use tempfile::TempDir;

pub(crate) const SESSION: SessionId = SessionId(0x4f);

pub(crate) struct Repo {
    dir: TempDir,
    pub(crate) worktrees: Worktrees,
}

impl Repo {
    /// A repository with one commit on `main`.
    pub(crate) fn new() -> Repo {
        let repo = Repo::empty();
        repo.write("README.md", "one\n");
        repo.git(&["add", "."]);
        repo.git(&["commit", "--quiet", "-m", "first"]);
        repo
    }

    /// A repository without a commit.
    pub(crate) fn empty() -> Repo {
        let repo = Repo { dir: tempfile::tempdir().unwrap(), worktrees: Worktrees::new() };
        repo.git(&["init", "--quiet", "-b", "main"]);
        for (key, value) in
            [("user.name", "Ann"), ("user.email", "ann@example.invalid"), ("commit.gpgsign", "false")]
        {
            repo.git(&["config", key, value]);
        }
        repo
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.dir.path().join(name), text).unwrap();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.dir.path(), args)
    }

    pub(crate) fn plan(&self, name: &str) -> WorkspacePlan {
        WorkspacePlan {
            project: ProjectId::new("app"),
            repository: self.path().display().to_string(),
            kind: "worktree".into(),
            name: name.into(),
            branch: format!("agent/{name}"),
            base_branch: "main".into(),
            rescue: None,
        }
    }

    pub(crate) async fn create(&self, name: &str) -> Result<Made, WorkspaceError> {
        self.worktrees.create(SESSION, Attempt(1), &self.plan(name)).await
    }

    /// The worktree of the session, with one commit of its own that `main` has too.
    pub(crate) async fn merged(&self) -> Tree {
        let tree = self.worked().await;
        self.git(&["merge", "--quiet", "--ff-only", "agent/fix"]);
        tree
    }

    /// The worktree of the session, with one commit of its own.
    pub(crate) async fn worked(&self) -> Tree {
        let made = self.create("fix").await.unwrap();
        let tree = Tree { path: made.path.into() };
        tree.write("fix.txt", "fixed\n");
        tree.git(&["add", "."]);
        tree.git(&["commit", "--quiet", "-m", "fix"]);
        tree
    }

    pub(crate) fn order(&self, path: &Path) -> RemoveOrder {
        RemoveOrder {
            session: SESSION,
            project: ProjectId::new("app"),
            path: path.display().to_string(),
            branch: "agent/fix".into(),
            base: String::new(),
        }
    }

    pub(crate) async fn remove(&self, path: &Path) -> Removal {
        self.worktrees.remove(&self.order(path)).await.unwrap()
    }

    /// Asks for a removal that must be refused, and says why it was.
    pub(crate) async fn kept(&self, tree: &Tree) -> Vec<KeepReason> {
        let removal = self.remove(&tree.path).await;
        assert!(tree.path.join(".git").exists(), "a worktree that is kept is whole");
        match removal {
            Removal::Kept { reasons } => reasons,
            Removal::Removed { .. } => panic!("it was removed"),
        }
    }
}

/// A worktree as the agent in it uses it.
pub(crate) struct Tree {
    pub(crate) path: PathBuf,
}

impl Tree {
    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path.join(name), text).unwrap();
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.path, args)
    }
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git").args(args).current_dir(dir).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "git {args:?}: {text}{}", String::from_utf8_lossy(&output.stderr));
    text
}
