//! Work that exists already is gone on with: a branch, a pull request, a worktree.

use std::fs;
use std::path::Path;
use std::process::Command;

use ao_core::effect::WorkspacePlan;
use ao_core::setup::Origin;
use ao_core::workspace::KeepReason;
use ao_core::{Attempt, SessionId};
use ao_ports::{CreatedWorkspace, RemovalOutcome, Workspace, WorkspaceError};

use crate::support::{Repo, SESSION, git};

const OTHER: SessionId = SessionId(0x50);

async fn adopt(
    repo: &Repo,
    session: SessionId,
    origin: Origin,
    branch: &str,
) -> Result<CreatedWorkspace, WorkspaceError> {
    let plan = WorkspacePlan { origin, branch: branch.into(), ..repo.plan("fix") };
    repo.worktrees.create(session, Attempt(1), &plan).await
}

fn tree(path: impl AsRef<Path>) -> Origin {
    Origin::Tree { path: path.as_ref().display().to_string() }
}

#[tokio::test]
async fn a_branch_that_is_here_is_gone_on_with() {
    let repo = Repo::new();
    repo.git(&["switch", "--quiet", "-c", "feature"]);
    let tip = repo.commit("half.txt", "half");
    repo.git(&["switch", "--quiet", "main"]);
    let made = adopt(&repo, SESSION, Origin::Branch, "feature").await.unwrap();
    assert_eq!((made.base, made.as_found), (tip, false));
    assert_eq!(git(made.path.as_ref(), &["branch", "--show-current"]), "feature");
}

#[tokio::test]
async fn a_branch_that_only_the_remote_has_is_fetched_and_followed() {
    let (repo, remote) = Repo::with_origin();
    let tip = Repo::pushed_by_a_colleague(&remote, "feature", "half");
    let made = adopt(&repo, SESSION, Origin::Branch, "feature").await.unwrap();
    assert_eq!(made.base, tip);
    assert_eq!(
        git(made.path.as_ref(), &["rev-parse", "--abbrev-ref", "feature@{upstream}"]),
        "origin/feature"
    );

    let told = adopt(&repo, OTHER, Origin::Branch, "none").await.unwrap_err().to_string();
    assert!(told.contains(".worktrees/fix` is the worktree of a session that is not"), "{told}");
    let plan = WorkspacePlan { origin: Origin::Branch, branch: "none".into(), ..repo.plan("none") };
    let told = repo.worktrees.create(OTHER, Attempt(1), &plan).await.unwrap_err().to_string();
    assert!(told.starts_with("there is no branch `none` in"), "{told}");
}

#[tokio::test]
async fn the_head_of_a_pull_request_becomes_the_sessions_branch() {
    let (repo, remote) = Repo::with_origin();
    let head = Repo::pushed_by_a_colleague(&remote, "theirs", "half");
    git(remote.path(), &["update-ref", "refs/pull/7/head", &head]);
    git(remote.path(), &["update-ref", "-d", "refs/heads/theirs"]);
    let pull = |number: u32| Origin::Pull { fetch: format!("refs/pull/{number}/head") };
    let made = adopt(&repo, SESSION, pull(7), "pull-7").await.unwrap();
    assert_eq!(made.base, head);
    assert_eq!(git(made.path.as_ref(), &["branch", "--show-current"]), "pull-7");

    // The forge has these commits, so they keep nothing; what comes on top does.
    let mut order = repo.order(made.path.as_ref());
    order.tree.branch = "pull-7".into();
    assert_eq!(repo.worktrees.inspect(&order.tree).await.unpushed, Some(false));
    git(made.path.as_ref(), &["commit", "--quiet", "--allow-empty", "-m", "mine"]);
    assert_eq!(repo.worktrees.inspect(&order.tree).await.unpushed, Some(true));
    git(made.path.as_ref(), &["reset", "--quiet", "--hard", "HEAD~1"]);
    let removal = repo.worktrees.remove(&order).await.unwrap();
    assert!(matches!(removal, RemovalOutcome::Removed { .. }), "{removal:?}");
    assert_eq!(
        repo.git(&["for-each-ref", "--format=%(refname)", "refs/ao/pull", "refs/heads"]),
        "refs/heads/main"
    );

    let told = adopt(&repo, SESSION, pull(8), "pull-8").await.unwrap_err().to_string();
    assert!(told.starts_with("`refs/pull/8/head` could not be fetched from `origin`"), "{told}");
}

/// acceptance: W2
#[tokio::test]
async fn a_worktree_is_used_as_it_is_found_and_never_removed() {
    let repo = Repo::new();
    let elsewhere = tempfile::tempdir().unwrap();
    let hand = elsewhere.path().canonicalize().unwrap().join("hand");
    repo.git(&["worktree", "add", "--quiet", "-b", "hand", &hand.display().to_string()]);
    fs::write(hand.join("draft.txt"), "mine").unwrap();
    for _ in 0..2 {
        let made = adopt(&repo, SESSION, tree(&hand), "hand").await.unwrap();
        assert_eq!((made.path, made.as_found), (hand.display().to_string(), true));
    }
    assert_eq!(git(&hand, &["config", "user.name"]), "Ann", "it stays its owner's");
    let mut order = repo.order(&hand);
    order.tree.branch = "hand".into();
    assert_eq!(repo.worktrees.whereabouts(&order.tree).await.wrong, [""; 0]);
    assert_eq!(repo.worktrees.inspect(&order.tree).await.ours, Some(false));
    repo.worktrees.clean(&order.tree).await.unwrap_err();

    let told = adopt(&repo, OTHER, tree(&hand), "hand").await.unwrap_err().to_string();
    assert!(told.contains("it is the worktree of another session"), "{told}");
    let RemovalOutcome::Kept { reasons } = repo.worktrees.remove(&order).await.unwrap() else {
        panic!("removed")
    };
    assert!(reasons.contains(&KeepReason::NotOurs), "{reasons:?}");
    assert_eq!(fs::read_to_string(hand.join("draft.txt")).unwrap(), "mine");
    adopt(&repo, OTHER, tree(&hand), "hand").await.expect("the first session has let go of it");
}

/// acceptance: W3
#[tokio::test]
async fn an_unavailable_tree_is_not_adopted_and_the_reason_is_given() {
    let repo = Repo::new();
    let ours = repo.worktrees.create(OTHER, Attempt(1), &repo.plan("theirs")).await.unwrap();
    let none = tempfile::tempdir().unwrap();
    for (origin, why) in [
        (tree(repo.path()), "it is the repository's main checkout"),
        (tree(&ours.path), "it is the worktree of another session"),
        (tree(none.path()), "it is no worktree of"),
        (tree("/nonexistent"), "there is no such folder"),
    ] {
        let told = adopt(&repo, SESSION, origin, "main").await.unwrap_err().to_string();
        assert!(told.contains("cannot be adopted: ") && told.contains(why), "{told}");
    }
}

/// acceptance: L9
#[tokio::test]
async fn a_branch_that_is_checked_out_elsewhere_gives_a_choice() {
    let repo = Repo::new();
    let hand = repo.path().join("hand");
    repo.git(&["worktree", "add", "--quiet", "-b", "feature", &hand.display().to_string()]);
    let err = adopt(&repo, SESSION, Origin::Branch, "feature").await.unwrap_err();
    let (branch, other) = ("feature".to_owned(), hand.display().to_string());
    assert_eq!(err, WorkspaceError::BranchInUse { branch, other: other.clone() });
    assert_eq!(
        err.to_string(),
        format!(
            "the branch `feature` is checked out in `{other}`; work in that worktree as it is, choose another \
             branch, or free this one with `git -C {other} switch --detach`"
        )
    );
    adopt(&repo, SESSION, tree(&hand), "feature").await.expect("the first choice works");

    // In the middle of a rebase its head is on no branch, and the branch is taken all the same.
    fs::write(hand.join("README.md"), "theirs\n").unwrap();
    git(&hand, &["commit", "--quiet", "-am", "theirs"]);
    repo.commit("README.md", "ours\n");
    let rebase = Command::new("git").args(["rebase", "main"]).current_dir(&hand).output().unwrap();
    assert!(!rebase.status.success(), "it stops at the conflict");
    let err = adopt(&repo, OTHER, Origin::Branch, "feature").await.unwrap_err();
    assert!(matches!(err, WorkspaceError::BranchInUse { .. }), "{err}");
}

#[tokio::test]
async fn a_tree_that_its_maker_lends_is_worked_in_by_one_session_and_stays_the_makers() {
    let repo = Repo::new();
    let made = adopt(&repo, SESSION, Origin::Base, "agent/fix").await.unwrap();
    let refused = adopt(&repo, OTHER, tree(&made.path), "agent/fix").await;
    assert!(refused.is_err(), "not before it is lent");
    repo.worktrees.lend(&repo.plan("fix").repository, SESSION, &made.path).await.unwrap();
    let lent = adopt(&repo, OTHER, tree(&made.path), "agent/fix").await.unwrap();
    assert!(lent.as_found && lent.path == made.path);
    let third = adopt(&repo, SessionId(0x51), tree(&made.path), "agent/fix").await;
    assert!(third.is_err(), "another works in it");
    let lend = repo.worktrees.lend(&repo.plan("fix").repository, OTHER, &made.path).await;
    assert!(lend.is_err(), "only its maker lends it");
}
