//! A worktree is made once, whole, and next to what others made.

use std::fs;

use ao_core::setup::Origin;
use ao_core::{Attempt, PullId, SessionId};
use ao_ports::{RemovalOutcome, Workspace, WorkspaceError};

use crate::support::{DAMAGES, Repo, SESSION, git, half_made};

fn failure(result: Result<ao_ports::CreatedWorkspace, WorkspaceError>, repo: &Repo) -> String {
    result.unwrap_err().to_string().replace(&repo.path().display().to_string(), "[repo]")
}

#[tokio::test]
async fn it_has_its_own_branch_and_identity_and_does_not_show_in_status() {
    let repo = Repo::new();
    let made = repo.create("fix").await.unwrap();
    let path = repo.path().join(".worktrees/fix");
    assert_eq!(made.path, path.display().to_string());
    assert_eq!(made.base, repo.git(&["rev-parse", "main"]));
    assert_eq!(git(&path, &["branch", "--show-current"]), "agent/fix");
    assert_eq!(git(&path, &["config", "user.name"]), "Agent ses_4f");
    assert_eq!(git(&path, &["config", "user.email"]), "agent-ses_4f@orchestrator.local");
    assert_eq!(repo.git(&["config", "user.name"]), "Ann");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(git(&path, &["status", "--porcelain"]), "");
}

#[tokio::test]
async fn a_second_call_finds_what_the_first_one_made() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    tree.write("draft.txt", "not yet\n");
    let again = repo.create("fix").await.unwrap();
    assert_eq!(again.base, repo.git(&["rev-parse", "main"]), "the base is where it started, not where it is");
    assert_eq!(tree.git(&["status", "--porcelain"]), "?? draft.txt");
    let exclude = fs::read_to_string(repo.path().join(".git/info/exclude")).unwrap();
    assert_eq!(exclude.matches("/.worktrees/").count(), 1);
}

#[tokio::test]
async fn a_half_made_one_is_finished() {
    for damage in DAMAGES {
        let repo = Repo::new();
        let made = half_made(&repo, damage).await;
        let path = repo.path().join(".worktrees/fix");
        let again = repo.create("fix").await.unwrap_or_else(|err| panic!("{damage}: {err}"));
        assert_eq!(again, made, "{damage}");
        assert_eq!(git(&path, &["status", "--porcelain"]), "", "{damage}");
        assert_eq!(git(&path, &["branch", "--show-current"]), "agent/fix", "{damage}");
        assert_eq!(git(&path, &["config", "user.name"]), "Agent ses_4f", "{damage}");
        assert!(!repo.path().join(".git/ao/making/ses_4f").exists(), "{damage}");
        assert!(matches!(repo.remove(&path).await, RemovalOutcome::Removed { .. }), "{damage}");
    }
}

#[tokio::test]
async fn a_folder_that_is_not_ours_is_refused_and_left_alone() {
    let repo = Repo::new();
    let path = repo.path().join(".worktrees/fix");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("notes.txt"), "mine").unwrap();
    assert_eq!(
        failure(repo.create("fix").await, &repo),
        "`[repo]/.worktrees/fix` was not made by ao and is left as it is; move it away, or choose another name"
    );
    assert_eq!(fs::read_to_string(path.join("notes.txt")).unwrap(), "mine");

    // A worktree made by hand belongs to its maker, even if it is on the same branch.
    repo.git(&["worktree", "add", "--quiet", ".worktrees/hand", "-b", "agent/hand"]);
    let told = failure(repo.create("hand").await, &repo);
    assert!(told.contains("`[repo]/.worktrees/hand` was not made by ao"), "{told}");
}

#[tokio::test]
async fn another_sessions_worktree_is_refused() {
    let repo = Repo::new();
    repo.create("fix").await.unwrap();
    let other = repo.worktrees.create(SessionId(0x50), Attempt(1), &repo.plan("fix")).await;
    let told = failure(other, &repo);
    assert!(
        told.starts_with("`[repo]/.worktrees/fix` is the worktree of a session that is not in this"),
        "{told}"
    );
    assert!(told.contains("`git worktree remove [repo]/.worktrees/fix`") && !told.contains("ses_"), "{told}");
}

#[tokio::test]
async fn a_branch_that_is_checked_out_elsewhere_is_named_with_its_place() {
    let repo = Repo::new();
    repo.git(&["switch", "--quiet", "-c", "agent/fix"]);
    let err = repo.create("fix").await.unwrap_err();
    assert_eq!(
        err,
        WorkspaceError::BranchInUse { branch: "agent/fix".into(), other: repo.path().display().to_string() }
    );
    assert!(!repo.path().join(".worktrees/fix").exists());
}

#[tokio::test]
async fn a_repository_that_cannot_have_worktrees_says_why() {
    let unborn = Repo::empty();
    assert_eq!(
        failure(unborn.create("fix").await, &unborn),
        "the repository `[repo]` has no commit yet; make a first one"
    );

    let bare = Repo::empty();
    bare.git(&["config", "core.bare", "true"]);
    let told = failure(bare.create("fix").await, &bare);
    assert!(told.starts_with("`[repo]` is a bare repository"), "{told}");

    let other = Repo::new();
    let mut plan = other.plan("fix");
    plan.base_branch = "trunk".into();
    let told = failure(other.worktrees.create(SESSION, Attempt(1), &plan).await, &other);
    assert!(told.starts_with("the repository `[repo]` has no branch `trunk`"), "{told}");

    let none = tempfile::tempdir().unwrap();
    plan.repository = none.path().display().to_string();
    let told = failure(other.worktrees.create(SESSION, Attempt(1), &plan).await, &other);
    assert!(told.contains("is not a folder of a git repository"), "{told}");
    assert!(told.contains("not a git repository (or any"), "git's own words: {told}");
}

#[tokio::test]
async fn a_name_cannot_lead_out_of_the_folder() {
    let repo = Repo::new();
    for name in ["", "..", "a/b", "-f", ".git"] {
        let told = failure(repo.create(name).await, &repo);
        assert!(told.contains("cannot be the name of a worktree"), "{name}: {told}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), repo.path().join(".worktrees")).unwrap();
    let told = failure(repo.create("fix").await, &repo);
    assert!(told.contains("was not made by ao"), "{told}");
}

/// A reviewer's tree: at the commit that it is to read, closed to writing, and gone again without a trace.
#[tokio::test]
async fn a_tree_that_is_only_to_be_read_is_closed_to_writing() {
    use std::os::unix::fs::PermissionsExt;
    let repo = Repo::new();
    fs::create_dir_all(repo.path().join("deep/er")).unwrap();
    repo.commit("deep/er/file.txt", "one\n");
    let commit = git(&repo.path(), &["rev-parse", "HEAD"]);
    repo.commit("deep/er/file.txt", "two\n");
    let mut plan = repo.plan("read");
    let pull = PullId { project: plan.project.clone(), number: 7 };
    plan.origin = Origin::Read { commit: commit.clone(), pull };
    let made = repo.worktrees.create(SESSION, Attempt(1), &plan).await.unwrap();
    let tree = std::path::Path::new(&made.path);
    assert_eq!(made.base, commit);
    assert_eq!(fs::read_to_string(tree.join("deep/er/file.txt")).unwrap(), "one\n");
    let writable = |path: &str| fs::metadata(tree.join(path)).unwrap().permissions().mode() & 0o222 != 0;
    for path in ["", "deep", "deep/er", "deep/er/file.txt"] {
        assert!(!writable(path), "{path}");
    }
    assert_eq!(git(tree, &["status", "--porcelain"]), "", "which git does not count as a change");
    assert_eq!(git(&repo.path(), &["branch", "--list", &plan.branch]), "", "and it is on no branch");
    let mut order = repo.order(tree);
    order.tree.branch = plan.branch.clone();
    assert_eq!(repo.worktrees.whereabouts(&order.tree).await.wrong, [""; 0]);
    let removed = repo.worktrees.remove(&order).await.unwrap();
    assert!(matches!(removed, RemovalOutcome::Removed { .. }), "{removed:?}");
    assert!(!tree.exists());
    assert_eq!(git(&repo.path(), &["branch", "--list", &plan.branch]), "");
}
