//! A branch is put onto its base in its own worktree, whole or not at all.

use std::fs;

use ao_core::Commit;
use ao_ports::{RebaseOrder, RebaseOutcome, Workspace};

use crate::support::{Repo, SESSION};

const BRANCH: &str = "agent/fix";

#[tokio::test]
async fn a_branch_is_put_onto_its_base_and_what_it_was_is_kept() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    let head = tree.git(&["rev-parse", "HEAD"]);
    let base = repo.commit("other.txt", "of a colleague\n");
    let order = RebaseOrder {
        tree: repo.tree(&tree.path),
        branch: BRANCH.into(),
        head: Commit::new(&head),
        base: Commit::new(&base),
    };
    let RebaseOutcome::Rebased { head: now, pushed } = repo.worktrees.rebase(&order).await.unwrap() else {
        panic!("it was not rebased")
    };
    assert!(!pushed, "there is no remote");
    assert_eq!(tree.git(&["rev-parse", BRANCH]), now.as_str());
    assert_eq!(tree.git(&["merge-base", "main", BRANCH]), base);
    assert_eq!(tree.git(&["status", "--porcelain"]), "");
    let short: String = head.chars().take(12).collect();
    let rescue = format!("refs/ao/rescue/{SESSION}-before-rebase-{short}^{{commit}}");
    assert_eq!(repo.git(&["rev-parse", &rescue]), head);
    // A second time, after a crash, finds that the head is another one.
    assert_eq!(repo.worktrees.rebase(&order).await.unwrap(), RebaseOutcome::Moved);
    let again = RebaseOrder { head: now, ..order };
    assert_eq!(repo.worktrees.rebase(&again).await.unwrap(), RebaseOutcome::UpToDate);
}

#[tokio::test]
async fn a_conflict_and_work_that_is_under_way_leave_everything_as_it_was() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    let head = tree.git(&["rev-parse", "HEAD"]);
    let changed = tree.git(&["diff", "--name-only", "main", "HEAD"]);
    let base = repo.commit(&changed, "otherwise\n");
    let order = RebaseOrder {
        tree: repo.tree(&tree.path),
        branch: BRANCH.into(),
        head: Commit::new(&head),
        base: Commit::new(&base),
    };
    assert_eq!(
        repo.worktrees.rebase(&order).await.unwrap(),
        RebaseOutcome::Conflict { files: vec![changed.clone()] }
    );
    let stands = || (tree.git(&["rev-parse", "HEAD"]), tree.git(&["symbolic-ref", "--short", "HEAD"]));
    assert_eq!(stands(), (head.clone(), BRANCH.to_owned()));
    assert_eq!(tree.git(&["status", "--porcelain"]), "");

    fs::write(tree.path.join(&changed), "not committed\n").unwrap();
    let RebaseOutcome::Busy { why } = repo.worktrees.rebase(&order).await.unwrap() else {
        panic!("not busy")
    };
    assert!(why.contains("not committed"), "{why}");
    assert_eq!(fs::read_to_string(tree.path.join(&changed)).unwrap(), "not committed\n");
    tree.git(&["checkout", "--quiet", "--", "."]);

    // The agent is in the middle of a rebase of its own.
    std::process::Command::new("git").args(["rebase", "main"]).current_dir(&tree.path).output().unwrap();
    let RebaseOutcome::Busy { why } = repo.worktrees.rebase(&order).await.unwrap() else {
        panic!("not busy")
    };
    assert!(why.contains("rebase-merge"), "{why}");
}

#[tokio::test]
async fn the_branch_of_a_remote_moves_along_only_if_it_is_what_was_seen() {
    let (repo, remote) = Repo::with_origin();
    let tree = repo.worked().await;
    let head = tree.git(&["rev-parse", "HEAD"]);
    repo.git(&["push", "--quiet", "origin", BRANCH]);
    let base = repo.commit("other.txt", "of a colleague\n");
    let order = RebaseOrder {
        tree: repo.tree(&tree.path),
        branch: BRANCH.into(),
        head: Commit::new(&head),
        base: Commit::new(&base),
    };
    let RebaseOutcome::Rebased { head: now, pushed: true } = repo.worktrees.rebase(&order).await.unwrap()
    else {
        panic!("it was not pushed")
    };
    let there = crate::support::git(remote.path(), &["rev-parse", BRANCH]);
    assert_eq!(there, now.as_str());
}
