//! A tree that is no longer what it was is seen, and nothing is written where it should be.

use std::fs;
use std::path::Path;
use std::process::Command;

use ao_core::Attempt;
use ao_ports::{RemovalOutcome, TreeRef, Workspace};

use crate::support::{Repo, SESSION, git, removal};

/// acceptance: W7
#[tokio::test]
async fn a_head_off_its_branch_is_reported_but_a_rebase_is_not() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    let order = repo.order(&tree.path);
    repo.commit("fix.txt", "otherwise\n");
    let rebase = Command::new("git").args(["rebase", "main"]).current_dir(&tree.path).output().unwrap();
    assert!(!rebase.status.success(), "it stops at the conflict");
    let there = repo.worktrees.whereabouts(&order.tree).await;
    assert_eq!((there.stand.unwrap().branch.as_deref(), &there.wrong[..]), (Some("agent/fix"), &[][..]));
    tree.git(&["rebase", "--abort"]);
    tree.git(&["branch", "-m", "renamed"]);
    let there = repo.worktrees.whereabouts(&order.tree).await;
    assert_eq!(there.wrong, [""; 0], "another name for the same branch is no other place");
    tree.git(&["switch", "--quiet", "-c", "elsewhere"]);
    let there = repo.worktrees.whereabouts(&order.tree).await;
    assert_eq!(there.wrong, ["the branch `elsewhere` is checked out instead of `agent/fix`"]);
}

/// acceptance: W7
#[tokio::test]
async fn a_replaced_folder_is_reported_and_not_written_to() {
    let outside = tempfile::tempdir().unwrap();
    type Damage = fn(&std::path::Path, &std::path::Path);
    let damages: [(&str, Damage); 4] = [
        ("its `.git` is gone", |tree, _| fs::remove_file(tree.join(".git")).unwrap()),
        ("its `.git` was replaced by something else", |tree, _| {
            fs::remove_file(tree.join(".git")).unwrap();
            git(tree, &["init", "--quiet"]);
        }),
        ("its `.git` leads to another repository", |tree, outside| {
            git(outside, &["init", "--quiet"]);
            fs::write(tree.join(".git"), format!("gitdir: {}/.git\n", outside.display())).unwrap();
        }),
        ("its folder was replaced by something else", |tree, outside| {
            fs::remove_dir_all(tree).unwrap();
            std::os::unix::fs::symlink(outside, tree).unwrap();
        }),
    ];
    for (wrong, damage) in damages {
        let repo = Repo::new();
        repo.commit(".gitignore", "secret.txt\n");
        repo.write("secret.txt", "the user's own");
        let tree = repo.worked().await;
        fs::write(outside.path().join("secret.txt"), "somebody else's").unwrap();
        damage(&tree.path, outside.path());
        let order = repo.order(&tree.path);
        assert_eq!(repo.worktrees.whereabouts(&order.tree).await.wrong, [wrong]);

        let told = repo.worktrees.clean(&order.tree).await.unwrap_err().to_string();
        assert!(
            told.contains("is no longer the tree that was made for the session") && told.contains(wrong),
            "{told}"
        );
        let removal = repo.worktrees.remove(&order).await;
        assert!(matches!(removal, Ok(ao_ports::RemovalOutcome::Kept { .. })), "{wrong}: {removal:?}");
        let again = repo.worktrees.create(SESSION, Attempt(2), &repo.plan("fix")).await;
        assert!(again.unwrap_err().to_string().contains(wrong), "an agent is not started there again");
        assert!(
            repo.path().join("secret.txt").exists() && outside.path().join("secret.txt").exists(),
            "{wrong}"
        );
        assert_eq!(repo.git(&["status", "--porcelain"]), "", "{wrong}");
        assert_eq!(repo.git(&["log", "-1", "--format=%s"]), ".gitignore", "{wrong}");
    }
}

/// A creation that was cut off is not gone on with in a folder that has been tampered with since.
#[tokio::test]
async fn files_are_put_only_where_the_intent_says() {
    let repo = Repo::new();
    crate::support::half_made(&repo, "no files").await;
    let tree = repo.path().join(".worktrees/fix");
    repo.write("README.md", "the user's change\n");
    fs::remove_file(tree.join(".git")).unwrap();
    let told = repo.create("fix").await.unwrap_err().to_string();
    assert!(told.contains("its `.git` is gone"), "{told}");
    assert_eq!(
        repo.git(&["status", "--porcelain"]),
        "M README.md",
        "git would have reset the checkout around it"
    );
}

#[tokio::test]
async fn a_marker_that_cannot_be_read_hides_no_other_sessions_tree() {
    let repo = Repo::new();
    let other = repo.create_for(0x50, "other").await;
    repo.merged().await;
    fs::write(repo.path().join(".git/worktrees/other/ao-session"), "{").unwrap();
    let order = removal(TreeRef { recorded: None, ..repo.tree(&repo.path()) });
    let removal = repo.worktrees.remove(&order).await.unwrap();
    assert!(matches!(removal, RemovalOutcome::Removed { .. }), "{removal:?}");
    assert!(!repo.path().join(".worktrees/fix").exists() && Path::new(&other).exists());
}
