//! What may go is gone, and can be brought back.

use std::fs;

use ao_core::Attempt;
use ao_ports::{Removal, Workspace};

use crate::support::{Repo, SESSION, git};

const RESCUE: &str = "refs/ao/rescue/ses_4f";

fn rescued() -> Removal {
    Removal::Removed { rescue: Some(RESCUE.into()) }
}

#[tokio::test]
async fn a_merged_one_goes_with_its_branch_and_leaves_a_rescue_ref() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    let tip = tree.git(&["rev-parse", "HEAD"]);
    assert_eq!(repo.remove(&tree.path).await, rescued());
    assert!(!tree.path.exists());
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]), "main");
    assert_eq!(repo.git(&["rev-parse", RESCUE]), tip);
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1);
}

#[tokio::test]
async fn a_pushed_one_comes_back_from_its_rescue_ref() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    let tip = tree.git(&["rev-parse", "HEAD"]);
    repo.git(&["update-ref", "refs/remotes/origin/agent/fix", &tip]);
    assert_eq!(repo.remove(&tree.path).await, rescued());
    assert_eq!(repo.git(&["branch", "--list", "agent/fix"]), "");
    // The remote's branch may go as well; the rescue ref is ours.
    repo.git(&["update-ref", "-d", "refs/remotes/origin/agent/fix"]);

    let mut plan = repo.plan("fix");
    plan.rescue = Some(RESCUE.into());
    let made = repo.worktrees.create(SESSION, Attempt(2), &plan).await.unwrap();
    assert_eq!(made.base, tip);
    assert_eq!(fs::read_to_string(tree.path.join("fix.txt")).unwrap(), "fixed\n");
    assert_eq!(tree.git(&["branch", "--show-current"]), "agent/fix");
}

#[tokio::test]
async fn a_branch_with_more_than_the_rescue_ref_keeps_stays() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    // The agent went on to another branch, and the first one got a commit that main has, but the head has not.
    tree.git(&["switch", "--quiet", "-c", "other", "HEAD~1"]);
    assert_eq!(repo.remove(&tree.path).await, rescued());
    assert_eq!(repo.git(&["branch", "--list", "agent/fix", "--format=%(refname:short)"]), "agent/fix");
}

/// acceptance: W8
#[tokio::test]
async fn one_that_is_already_gone_is_removed_twice_with_success() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    let tip = tree.git(&["rev-parse", "HEAD"]);
    fs::remove_dir_all(&tree.path).unwrap();
    for _ in 0..2 {
        assert_eq!(repo.remove(&tree.path).await, rescued());
    }
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1, "git has forgotten it too");
    assert_eq!(repo.git(&["rev-parse", "agent/fix"]), tip, "its commits are on no other branch, so it stays");

    let never = repo.path().join(".worktrees/never");
    let other = Repo::new();
    assert_eq!(other.remove(&never).await, rescued(), "the place decides, and there it is known");
    let nowhere = std::path::Path::new("/nonexistent/.worktrees/fix");
    assert_eq!(repo.remove(nowhere).await, Removal::Removed { rescue: None });
}

#[tokio::test]
async fn a_link_out_of_the_tree_leaves_its_target_alone() {
    let repo = Repo::new();
    let shared = tempfile::tempdir().unwrap();
    fs::write(shared.path().join("lib.js"), "shared").unwrap();
    repo.write(".gitignore", "node_modules\n");
    repo.git(&["add", "."]);
    repo.git(&["commit", "--quiet", "-m", "ignore"]);
    let tree = repo.merged().await;
    std::os::unix::fs::symlink(shared.path(), tree.path.join("node_modules")).unwrap();
    assert_eq!(repo.remove(&tree.path).await, rescued());
    assert_eq!(fs::read_to_string(shared.path().join("lib.js")).unwrap(), "shared");
}

#[tokio::test]
async fn a_locked_one_fails_with_gits_words_and_stays_whole() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    repo.git(&["worktree", "lock", "--reason", "on a stick", &tree.path.display().to_string()]);
    let told = repo.worktrees.remove(&repo.order(&tree.path)).await.unwrap_err().to_string();
    assert!(told.contains("on a stick"), "{told}");
    assert_eq!(git(&tree.path, &["status", "--porcelain"]), "");
    repo.git(&["worktree", "unlock", &tree.path.display().to_string()]);
    assert_eq!(repo.remove(&tree.path).await, rescued(), "a later try goes on with it");
}
