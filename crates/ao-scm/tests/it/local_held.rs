//! Branches that are checked out, or that other pull requests need.

use std::fs;

use ao_core::pull::PullState;
use ao_ports::{LandingStrategy, MergeOrder, MergeOutcome, Scm};

use crate::local_support::{Desk, facts, git, in_the_way, merge, merged, open, order, pull};

/// Merges a pull request with its branch to be deleted, and returns why the branch stays.
async fn left(scm: &ao_scm::local::LocalScm, number: u64) -> Option<String> {
    let order =
        MergeOrder { delete_branch: true, ..order(scm, &pull(number), LandingStrategy::Squash).await };
    match scm.merge(&order).await.unwrap() {
        MergeOutcome::Merged { branch_left, .. } => branch_left,
        MergeOutcome::Refused { why, .. } => panic!("it was refused: {why}"),
    }
}

/// A worktree on a branch, in the middle of a rebase onto what conflicts with it.
fn begin_rebase(desk: &Desk, branch: &str, onto: &str) -> std::path::PathBuf {
    let path = desk.side_path("beside");
    desk.git(&["worktree", "add", "--quiet", path.to_str().unwrap(), branch]);
    let stopped = std::process::Command::new("git")
        .args(["rebase", "--quiet", onto])
        .current_dir(&path)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(!stopped.status.success(), "it stops at the conflict");
    path
}

#[tokio::test]
async fn a_branch_in_the_middle_of_a_rebase_or_a_bisection_is_left() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    desk.push("conflicting", "x", "2");
    desk.push("y", "y", "1");
    open(&scm, "x", "main").await;
    open(&scm, "y", "main").await;
    let beside = begin_rebase(&desk, "x", "conflicting");
    let why = left(&scm, 1).await.unwrap();
    assert!(why.contains("being rebased in") && why.contains("beside"), "{why}");
    git(&beside, &["rebase", "--abort"]);
    git(&beside, &["checkout", "--quiet", "y"]);
    git(&beside, &["bisect", "start", "HEAD", "HEAD~1"]);
    git(&beside, &["checkout", "--quiet", "--detach"]);
    assert!(left(&scm, 2).await.unwrap().contains("being bisected in"));
    desk.push_from("y", "z", "z", "1");
    let id = open(&scm, "z", "y").await;
    let landed = merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert_eq!(desk.tip("refs/heads/y"), landed, "a bisection only comes back to it");
    desk.tip("refs/heads/x");
    desk.tip("refs/heads/y");
}

#[tokio::test]
async fn a_branch_of_a_worktree_whose_folder_is_away_is_left() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    open(&scm, "x", "main").await;
    let path = desk.side_path("on a disk");
    desk.git(&["worktree", "add", "--quiet", path.to_str().unwrap(), "x"]);
    fs::rename(&path, desk.side_path("unmounted")).unwrap();
    let why = left(&scm, 1).await.unwrap();
    assert!(why.contains("checked out in") && why.contains("on a disk"), "{why}");
    desk.tip("refs/heads/x");
}

#[tokio::test]
async fn a_base_that_is_being_rebased_is_not_moved() {
    let desk = Desk::new();
    desk.push("other", "o", "1");
    desk.push("other-base", "o", "2");
    let scm = desk.open().await;
    desk.push_from("other", "x", "x", "1");
    let id = open(&scm, "x", "other").await;
    let before = desk.tip("refs/heads/other");
    let beside = begin_rebase(&desk, "other", "other-base");
    let why = in_the_way(merge(&scm, &id, LandingStrategy::Squash).await);
    assert!(why.contains("`other` is being rebased in") && why.contains("merge again"), "{why}");
    assert_eq!(desk.tip("refs/heads/other"), before);
    assert_eq!(facts(&scm, &id).await.state, PullState::Open);
    git(&beside, &["rebase", "--abort"]);
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
}

#[tokio::test]
async fn a_branch_that_another_pull_request_needs_is_left() {
    let desk = Desk::new();
    desk.git(&["branch", "release"]);
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    open(&scm, "x", "main").await;
    open(&scm, "x", "release").await;
    assert_eq!(left(&scm, 1).await.as_deref(), Some("it is the branch of `my-app!2` too"));
    desk.tip("refs/heads/x");
    assert_eq!(left(&scm, 2).await, None);
    assert!(desk.git(&["for-each-ref", "refs/heads/x"]).is_empty());
}
