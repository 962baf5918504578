//! A throw-away repository and a session's worktree in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use ao_core::effect::WorkspacePlan;
use ao_core::setup::Origin;
use ao_core::workspace::{KeepReason, WorkspaceTree};
use ao_core::{Attempt, ProjectId, SessionId};
use ao_ports::{CreatedWorkspace, RemovalOutcome, RemoveOrder, TreeRef, Workspace, WorkspaceError};
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
        Repo::with(&["init", "--quiet", "-b", "main"])
    }

    /// The same, made by this command.
    pub(crate) fn with(init: &[&str]) -> Repo {
        let repo = Repo { dir: tempfile::tempdir().unwrap(), worktrees: Worktrees::new() };
        repo.git(init);
        for (key, value) in
            [("user.name", "Ann"), ("user.email", "ann@example.invalid"), ("commit.gpgsign", "false")]
        {
            repo.git(&["config", key, value]);
        }
        repo
    }

    /// A repository with a bare `origin` that has its `main`. The remote lives as long as what is returned with it.
    pub(crate) fn with_origin() -> (Repo, TempDir) {
        let repo = Repo::new();
        let remote = tempfile::tempdir().unwrap();
        let address = remote.path().display().to_string();
        repo.git(&["init", "--quiet", "--bare", "-b", "main", &address]);
        repo.git(&["remote", "add", "origin", &address]);
        repo.git(&["push", "--quiet", "origin", "main"]);
        (repo, remote)
    }

    /// Commits a file on `main`, and says which commit that is.
    pub(crate) fn commit(&self, name: &str, text: &str) -> String {
        self.write(name, text);
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "-m", name]);
        self.git(&["rev-parse", "HEAD"])
    }

    /// Lets a colleague push a commit onto a branch of the remote, and says which.
    pub(crate) fn pushed_by_a_colleague(remote: &TempDir, branch: &str, name: &str) -> String {
        let desk = tempfile::tempdir().unwrap();
        let at = |args: &[&str]| git(desk.path(), args);
        at(&["clone", "--quiet", &remote.path().display().to_string(), "."]);
        at(&["switch", "--quiet", if branch == "main" { "--no-guess" } else { "-c" }, branch]);
        fs::write(desk.path().join(name), name).unwrap();
        at(&["add", "."]);
        at(&["-c", "user.name=Bob", "-c", "user.email=bob@example.invalid", "commit", "--quiet", "-m", name]);
        at(&["push", "--quiet", "origin", branch]);
        at(&["rev-parse", "HEAD"])
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
            origin: Origin::Base,
            rescue: None,
        }
    }

    pub(crate) async fn create(&self, name: &str) -> Result<CreatedWorkspace, WorkspaceError> {
        self.worktrees.create(SESSION, Attempt(1), &self.plan(name)).await
    }

    /// Makes the worktree of some session, and says where it is.
    pub(crate) async fn create_for(&self, session: u64, name: &str) -> String {
        self.worktrees.create(SessionId(session), Attempt(1), &self.plan(name)).await.unwrap().path
    }

    /// The worktree of the session, with one commit of its own that `main` has too.
    pub(crate) async fn merged(&self) -> Desk {
        let tree = self.worked().await;
        self.git(&["merge", "--quiet", "--ff-only", "agent/fix"]);
        tree
    }

    /// The worktree of the session, with one commit of its own.
    pub(crate) async fn worked(&self) -> Desk {
        let made = self.create("fix").await.unwrap();
        let tree = Desk { path: made.path.into() };
        tree.write("fix.txt", "fixed\n");
        tree.git(&["add", "."]);
        tree.git(&["commit", "--quiet", "-m", "fix"]);
        tree
    }

    pub(crate) fn tree(&self, path: &Path) -> TreeRef {
        TreeRef {
            session: SESSION,
            project: ProjectId::new("app"),
            repository: self.path().display().to_string(),
            recorded: Some(WorkspaceTree { path: path.display().to_string(), base: String::new() }),
            branch: "agent/fix".into(),
        }
    }

    pub(crate) fn order(&self, path: &Path) -> RemoveOrder {
        removal(self.tree(path))
    }

    pub(crate) async fn remove(&self, path: &Path) -> RemovalOutcome {
        self.worktrees.remove(&self.order(path)).await.unwrap()
    }

    /// Asks for a removal that must be refused, and says why it was.
    pub(crate) async fn kept(&self, tree: &Desk) -> Vec<KeepReason> {
        let removal = self.remove(&tree.path).await;
        assert!(tree.path.join(".git").exists(), "a worktree that is kept is whole");
        match removal {
            RemovalOutcome::Kept { reasons } => reasons,
            RemovalOutcome::Removed { .. } => panic!("it was removed"),
        }
    }
}

/// Orders the removal of a tree, without commands.
pub(crate) fn removal(tree: TreeRef) -> RemoveOrder {
    RemoveOrder {
        tree,
        teardown: vec![],
        environment: Default::default(),
        timeout: Duration::from_secs(60),
        lived_in: Some(false),
        discard: false,
    }
}

/// A worktree as the agent in it uses it.
pub(crate) struct Desk {
    pub(crate) path: PathBuf,
}

impl Desk {
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

/// Each way in which a creation can have been cut off.
pub(crate) const DAMAGES: [&str; 6] =
    ["no marker", "no identity", "no files", "never checked out", "only a folder", "only an entry"];

/// Leaves the repository as a creation does that was cut off in this way, and says what would have been made.
pub(crate) async fn half_made(repo: &Repo, damage: &str) -> CreatedWorkspace {
    let made = repo.create("fix").await.unwrap();
    let path = repo.path().join(".worktrees/fix");
    let git_dir = repo.path().join(".git/worktrees/fix");
    // The intent that the creation wrote before it called git, and without the files that were missing at the
    // interruption.
    let intent =
        serde_json::json!({ "path": path, "branch": "agent/fix", "new_branch": true, "base": made.base });
    fs::create_dir_all(repo.path().join(".git/ao/making")).unwrap();
    fs::write(repo.path().join(".git/ao/making/ses_4f"), intent.to_string()).unwrap();
    fs::remove_file(git_dir.join("ao-session")).unwrap();
    match damage {
        "no marker" => {}
        "no identity" => fs::remove_file(git_dir.join("config.worktree")).unwrap(),
        "no files" => {
            fs::remove_file(path.join("README.md")).unwrap();
            fs::write(git_dir.join("index.lock"), "").unwrap();
        }
        "never checked out" => {
            fs::remove_file(path.join("README.md")).unwrap();
            fs::remove_file(git_dir.join("index")).unwrap();
            fs::write(git_dir.join("locked"), "initializing").unwrap();
        }
        "only a folder" => {
            fs::remove_dir_all(&git_dir).unwrap();
            fs::remove_dir_all(&path).unwrap();
            fs::create_dir(&path).unwrap();
        }
        "only an entry" => {
            fs::remove_dir_all(&path).unwrap();
            fs::write(git_dir.join("locked"), "initializing").unwrap();
        }
        other => unreachable!("{other}"),
    }
    made
}
