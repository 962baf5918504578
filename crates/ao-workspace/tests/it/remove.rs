//! A removable workspace is removed, and can be restored.

use std::fs;
use std::process::Command;

use ao_core::workspace::KeepReason;
use ao_core::{Attempt, SessionId};
use ao_ports::{RemovalOutcome, TreeRef, Workspace};

use crate::support::{DAMAGES, Repo, SESSION, git, half_made, removal};

const RESCUE: &str = "refs/ao/rescue/ses_4f";

fn rescued() -> RemovalOutcome {
    RemovalOutcome::Removed { rescue: Some(RESCUE.into()) }
}

#[tokio::test]
async fn a_merged_one_goes_with_its_branch_and_leaves_a_rescue_ref() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    let tip = tree.git(&["rev-parse", "HEAD"]);
    assert_eq!(repo.remove(&tree.path).await, rescued());
    assert!(!tree.path.exists());
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]), "main");
    assert_eq!(repo.git(&["rev-parse", &format!("{RESCUE}^{{commit}}")]), tip);
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1);
}

/// Cut off after the tree was gone and before its branch was: the next call does the rest, though the commits of the branch
/// are in the base in another form only.
#[tokio::test]
async fn a_removal_that_was_cut_off_before_the_branch_went_is_gone_on_with() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    let tip = tree.git(&["rev-parse", "HEAD"]);
    repo.git(&["merge", "--quiet", "--squash", "agent/fix"]);
    repo.git(&["commit", "--quiet", "-m", "squashed"]);
    let git_dir = tree.git(&["rev-parse", "--absolute-git-dir"]);
    let aside = repo.path().join(".git/ao/removing/ses_4f");
    fs::create_dir_all(aside.parent().unwrap()).unwrap();
    let copied = Command::new("cp").arg("-r").arg(&git_dir).arg(&aside).status().unwrap();
    assert!(copied.success());
    fs::write(aside.join("ao-name"), std::path::Path::new(&git_dir).file_name().unwrap().as_encoded_bytes())
        .unwrap();
    repo.git(&["update-ref", RESCUE, &tip]);
    repo.git(&["worktree", "remove", &tree.path.display().to_string()]);
    assert_eq!(repo.remove(&tree.path).await, rescued());
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]), "main");
    assert!(!aside.exists());
}

/// acceptance: W5
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

/// Changes between the gate's check and the removal are saved, and restored as they were: uncommitted.
///
/// acceptance: W5
#[tokio::test]
async fn files_that_were_never_committed_come_back_too() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    let tip = tree.git(&["rev-parse", "HEAD"]);
    assert_eq!(repo.remove(&tree.path).await, rescued());
    // As a removal leaves it that found files which the gate had not seen yet.
    let blob = repo.path().join(".git/late");
    fs::write(&blob, "late\n").unwrap();
    let blob = repo.git(&["hash-object", "-w", &blob.display().to_string()]);
    let index = repo.path().join(".git/late-index").display().to_string();
    let with = |args: &[&str]| {
        let output = Command::new("git")
            .args(args)
            .current_dir(repo.path())
            .env("GIT_INDEX_FILE", &index)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    with(&["read-tree", &tip]);
    with(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},late.txt")]);
    let files = with(&["write-tree"]);
    let snapshot = with(&["commit-tree", "-p", &tip, "-m", "ao: files as they were left", &files]);
    repo.git(&["update-ref", RESCUE, &snapshot]);

    let mut plan = repo.plan("fix");
    plan.rescue = Some(RESCUE.into());
    let made = repo.worktrees.create(SESSION, Attempt(2), &plan).await.unwrap();
    assert_eq!(made.base, tip);
    assert_eq!(tree.git(&["rev-parse", "agent/fix"]), tip, "the branch is where it was");
    assert_eq!(tree.git(&["status", "--porcelain"]), "?? late.txt");
    assert_eq!(fs::read_to_string(tree.path.join("late.txt")).unwrap(), "late\n");
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
    let order = removal(TreeRef { session: SessionId(0x50), ..repo.tree(&never) });
    assert_eq!(repo.worktrees.remove(&order).await.unwrap(), RemovalOutcome::Removed { rescue: None });
}

/// A repository on a disk that is not mounted is not gone.
#[tokio::test]
async fn without_the_repository_nothing_is_said_to_be_removed() {
    let repo = Repo::new();
    let tree = TreeRef {
        repository: "/nonexistent/app".into(),
        ..repo.tree("/nonexistent/app/.worktrees/fix".as_ref())
    };
    let told = repo.worktrees.remove(&removal(tree)).await.unwrap_err().to_string();
    assert!(told.starts_with("`/nonexistent/app` is not a folder of a git repository"), "{told}");
}

/// The leftovers of a failed creation whose path is unknown.
#[tokio::test]
async fn a_half_made_tree_is_found_by_its_session_and_removed() {
    for damage in DAMAGES {
        let repo = Repo::new();
        half_made(&repo, damage).await;
        let order = removal(TreeRef { recorded: None, ..repo.tree("".as_ref()) });
        for _ in 0..2 {
            let removal = repo.worktrees.remove(&order).await.unwrap();
            assert!(matches!(removal, RemovalOutcome::Removed { .. }), "{damage}: {removal:?}");
        }
        assert!(!repo.path().join(".worktrees/fix").exists(), "{damage}");
        assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]), "main", "{damage}");
        assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1, "{damage}");
    }
    // A whole one is found too, and judged like any other.
    let repo = Repo::new();
    let tree = repo.worked().await;
    let order = removal(TreeRef { recorded: None, ..repo.tree("".as_ref()) });
    let removal = repo.worktrees.remove(&order).await.unwrap();
    assert_eq!(removal, RemovalOutcome::Kept { reasons: vec![KeepReason::Unpushed] });
    assert_eq!(repo.worktrees.inspect(&order.tree).await.ours, Some(true));
    assert!(tree.path.exists());
}

#[tokio::test]
async fn a_branch_that_was_there_before_outlives_a_failed_creation() {
    let repo = Repo::new();
    let base = repo.git(&["rev-parse", "main"]);
    repo.git(&["branch", "agent/fix"]);
    let path = repo.path().join(".worktrees/fix");
    let intent =
        serde_json::json!({ "path": path, "branch": "agent/fix", "new_branch": false, "base": base });
    fs::create_dir_all(repo.path().join(".git/ao/making")).unwrap();
    fs::write(repo.path().join(".git/ao/making/ses_4f"), intent.to_string()).unwrap();
    let order = removal(TreeRef { recorded: None, ..repo.tree("".as_ref()) });
    assert_eq!(repo.worktrees.remove(&order).await.unwrap(), RemovalOutcome::Removed { rescue: None });
    assert_eq!(repo.git(&["rev-parse", "agent/fix"]), base);
}

/// acceptance: W6
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
