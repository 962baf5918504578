//! Nothing that would be lost is removed, and the reason is said exactly.

use std::fs;
use std::process::{Command, Stdio};

use ao_core::SessionId;
use ao_core::workspace::KeepReason;
use ao_ports::{RemovalOutcome, TreeRef, Workspace};

use crate::support::{Repo, git, removal};

/// acceptance: W1
#[tokio::test]
async fn unstaged_and_staged_changes_keep_it() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    tree.write("README.md", "two\n");
    assert_eq!(repo.kept(&tree).await, [KeepReason::Uncommitted]);
    tree.git(&["add", "."]);
    assert_eq!(repo.kept(&tree).await, [KeepReason::Uncommitted]);
}

/// acceptance: W1
#[tokio::test]
async fn an_untracked_file_keeps_it_and_an_ignored_one_does_not() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    fs::create_dir(tree.path.join("deep")).unwrap();
    tree.write("deep/new.txt", "new\n");
    assert_eq!(repo.kept(&tree).await, [KeepReason::Untracked]);
    // A user's own setting must not blind us.
    repo.git(&["config", "status.showUntrackedFiles", "no"]);
    assert_eq!(repo.kept(&tree).await, [KeepReason::Untracked]);
    fs::write(repo.path().join(".git/info/exclude"), "/.worktrees/\n/deep/\n").unwrap();
    assert!(matches!(repo.remove(&tree.path).await, RemovalOutcome::Removed { .. }));
}

/// acceptance: W1
#[tokio::test]
async fn a_stash_made_on_its_branch_keeps_it() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    repo.write("README.md", "somebody else's\n");
    repo.git(&["stash", "push", "--quiet"]);
    let facts = repo.worktrees.inspect(&repo.tree(&tree.path)).await;
    assert_eq!(facts.stashed, Some(false), "a stash of another branch is not its own");
    for message in [None, Some("later")] {
        tree.write("README.md", "mine\n");
        let mut args = vec!["stash", "push", "--quiet"];
        args.extend(message.iter().flat_map(|message| ["-m", message]));
        tree.git(&args);
        assert_eq!(repo.kept(&tree).await, [KeepReason::Stashed]);
        tree.git(&["stash", "drop", "--quiet"]);
    }
}

/// acceptance: W1
#[tokio::test]
async fn commits_that_nothing_else_has_keep_it() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    assert_eq!(repo.kept(&tree).await, [KeepReason::Unpushed]);

    // Pushed is kept elsewhere.
    let remote = tempfile::tempdir().unwrap();
    repo.git(&["init", "--quiet", "--bare", &remote.path().display().to_string()]);
    repo.git(&["remote", "add", "origin", &remote.path().display().to_string()]);
    tree.git(&["push", "--quiet", "origin", "agent/fix"]);
    let facts = repo.worktrees.inspect(&repo.tree(&tree.path)).await;
    assert_eq!(facts.unpushed, Some(false));

    // A branch that the agent has renamed is no other branch.
    tree.git(&["branch", "-m", "renamed"]);
    tree.git(&["commit", "--quiet", "--allow-empty", "-m", "more"]);
    assert_eq!(repo.kept(&tree).await, [KeepReason::Unpushed]);
}

/// acceptance: W8
#[tokio::test]
async fn a_squash_merge_is_recognised_even_after_others_changed_the_same_lines() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    tree.write("fix.txt", "fixed well\n");
    tree.git(&["commit", "--quiet", "-am", "better"]);
    assert_eq!(repo.kept(&tree).await, [KeepReason::Unpushed]);
    // Half of it is not all of it.
    repo.commit("fix.txt", "fixed\n");
    assert_eq!(repo.kept(&tree).await, [KeepReason::Unpushed]);
    repo.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let objects = repo.git(&["count-objects"]);
    repo.commit("other.txt", "other\n");
    repo.git(&["merge", "--quiet", "--squash", "agent/fix"]);
    repo.git(&["commit", "--quiet", "-m", "fix (#7)"]);
    assert_eq!(repo.worktrees.inspect(&repo.tree(&tree.path)).await.unpushed, Some(false));
    repo.commit("fix.txt", "fixed in yet another way\n");
    let before = repo.git(&["count-objects"]);
    assert_eq!(repo.worktrees.inspect(&repo.tree(&tree.path)).await.unpushed, Some(false));
    assert_eq!(repo.git(&["count-objects"]), before, "a look leaves nothing behind ({objects} at first)");

    // It is judged again if something comes on top.
    tree.write("more.txt", "more\n");
    tree.git(&["add", "."]);
    tree.git(&["commit", "--quiet", "-m", "more"]);
    assert_eq!(repo.kept(&tree).await, [KeepReason::Unpushed]);
}

/// acceptance: W8
#[tokio::test]
async fn a_merge_that_was_taken_back_and_commits_that_change_nothing_prove_nothing() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    tree.write("fix.txt", "gone");
    tree.git(&["commit", "--quiet", "-am", "an attempt"]);
    tree.git(&["revert", "--no-edit", "HEAD~1..HEAD"]);
    tree.git(&["rm", "--quiet", "fix.txt"]);
    tree.git(&["commit", "--quiet", "-m", "nothing is left"]);
    assert_eq!(repo.kept(&tree).await, [KeepReason::Unpushed]);
}

/// acceptance: W1
#[tokio::test]
async fn a_stash_made_on_no_branch_is_known_by_its_author() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    tree.git(&["switch", "--quiet", "--detach"]);
    tree.write("README.md", "mine\n");
    tree.git(&["stash", "push", "--quiet"]);
    tree.git(&["switch", "--quiet", "agent/fix"]);
    assert_eq!(repo.kept(&tree).await, [KeepReason::Stashed]);
}

/// acceptance: W1
#[tokio::test]
async fn a_detached_head_on_a_commit_of_its_own_keeps_it() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    tree.git(&["switch", "--quiet", "--detach"]);
    let facts = repo.worktrees.inspect(&repo.tree(&tree.path)).await;
    assert_eq!(facts.detached, Some(false), "main has this commit");
    tree.git(&["commit", "--quiet", "--allow-empty", "-m", "on no branch"]);
    assert_eq!(repo.kept(&tree).await, [KeepReason::Detached, KeepReason::Unpushed]);
}

/// acceptance: W1
#[tokio::test]
async fn an_unfinished_rebase_or_merge_keeps_it() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    repo.write("fix.txt", "otherwise\n");
    repo.git(&["commit", "--quiet", "-am", "otherwise"]);
    tree.write("fix.txt", "in yet another way\n");
    tree.git(&["commit", "--quiet", "-am", "again"]);
    for operation in ["rebase", "merge"] {
        let stopped = Command::new("git").args([operation, "main"]).current_dir(&tree.path).output().unwrap();
        assert!(!stopped.status.success(), "it stops at the conflict");
        let reasons = repo.kept(&tree).await;
        assert!(reasons.contains(&KeepReason::MidOperation), "{operation}: {reasons:?}");
        tree.git(&[operation, "--abort"]);
    }
    // A bisect leaves nothing behind but its own state.
    tree.git(&["reset", "--quiet", "--hard", "main"]);
    tree.git(&["bisect", "start"]);
    assert_eq!(repo.kept(&tree).await, [KeepReason::MidOperation]);
}

#[tokio::test]
async fn a_process_inside_keeps_it() {
    let repo = Repo::new();
    let tree = repo.merged().await;
    let deep = tree.path.join("deep");
    fs::create_dir(&deep).unwrap();
    let mut inside = Command::new("cat").current_dir(&deep).stdin(Stdio::piped()).spawn().unwrap();
    assert_eq!(repo.kept(&tree).await, [KeepReason::ProcessInside]);
    drop(inside.stdin.take());
    inside.wait().unwrap();
    assert!(matches!(repo.remove(&tree.path).await, RemovalOutcome::Removed { .. }));
}

/// acceptance: W2
#[tokio::test]
async fn a_worktree_made_by_hand_in_our_folder_is_never_touched() {
    let repo = Repo::new();
    repo.create("fix").await.unwrap();
    repo.git(&["worktree", "add", "--quiet", ".worktrees/hand", "-b", "hand"]);
    let hand = repo.path().join(".worktrees/hand");
    let order = removal(TreeRef { branch: "hand".into(), ..repo.tree(&hand) });
    let kept = repo.worktrees.remove(&order).await.unwrap();
    assert_eq!(kept, RemovalOutcome::Kept { reasons: vec![KeepReason::NotOurs] });

    // Nor is another session's, nor a plain folder that git does not know.
    let ours = repo.path().join(".worktrees/fix");
    let order = removal(TreeRef { session: SessionId(0x99), ..repo.tree(&ours) });
    let kept = repo.worktrees.remove(&order).await.unwrap();
    assert_eq!(kept, RemovalOutcome::Kept { reasons: vec![KeepReason::NotOurs] });
    let plain = repo.path().join(".worktrees/plain");
    fs::create_dir(&plain).unwrap();
    let RemovalOutcome::Kept { reasons } = repo.remove(&plain).await else { panic!("it was removed") };
    assert_eq!(reasons[0], KeepReason::NotOurs);

    assert!(hand.join("README.md").exists() && ours.join("README.md").exists() && plain.exists());
}

/// acceptance: W3
#[tokio::test]
async fn the_main_checkout_is_never_removed() {
    let repo = Repo::new();
    repo.create("fix").await.unwrap();
    let order = removal(TreeRef { branch: "main".into(), ..repo.tree(&repo.path()) });
    let RemovalOutcome::Kept { reasons } = repo.worktrees.remove(&order).await.unwrap() else {
        panic!("it was removed")
    };
    assert!(
        reasons.contains(&KeepReason::MainWorktree) && reasons.contains(&KeepReason::NotOurs),
        "{reasons:?}"
    );
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert_eq!(repo.git(&["log", "--format=%s"]), "first");
    repo.git(&["fsck", "--strict"]);
}

/// acceptance: W1
#[tokio::test]
async fn a_repository_in_an_ignored_folder_keeps_it_unless_the_set_up_brought_it_in() {
    let repo = Repo::new();
    repo.commit(".gitignore", "vendor/\n");
    let tree = repo.merged().await;
    let own = tree.path.join("vendor/deep/own");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("output"), "made by a build").unwrap();
    assert_eq!(repo.worktrees.inspect(&repo.tree(&tree.path)).await.untracked, Some(false));
    git(&own, &["init", "--quiet"]);
    assert_eq!(repo.kept(&tree).await, [KeepReason::Untracked]);
    fs::write(repo.path().join(".git/worktrees/fix/ao-included"), "vendor/deep\n").unwrap();
    assert!(matches!(repo.remove(&tree.path).await, RemovalOutcome::Removed { .. }));
}

/// acceptance: W1
#[tokio::test]
async fn a_change_hidden_from_git_keeps_it() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let repo = Repo::new();
        let tree = repo.merged().await;
        tree.git(&["update-index", flag, "README.md"]);
        assert_eq!(repo.worktrees.inspect(&repo.tree(&tree.path)).await.uncommitted, Some(false), "{flag}");
        tree.write("README.md", "mine\n");
        assert_eq!(tree.git(&["status", "--porcelain"]), "", "git shows nothing");
        assert_eq!(repo.kept(&tree).await, [KeepReason::Uncommitted], "{flag}");
        assert_eq!(tree.git(&["status", "--porcelain"]), "", "the index is as it was");
        tree.write("README.md", "one\n");
        assert!(matches!(repo.remove(&tree.path).await, RemovalOutcome::Removed { .. }), "{flag}");
    }
}

/// A common accident when agents get into each other's way. acceptance: W1
#[tokio::test]
async fn a_rebase_keeps_it_until_its_conflict_is_resolved_and_no_longer() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    tree.write("README.md", "mine\n");
    tree.git(&["commit", "--quiet", "-am", "mine"]);
    repo.commit("README.md", "theirs\n");
    let rebase = |args: &[&str]| {
        let mut command = Command::new("git");
        command
            .args(["-c", "user.name=A", "-c", "user.email=a@x", "-c", "core.editor=true", "rebase"])
            .args(args);
        command
            .current_dir(&tree.path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    };
    assert!(!rebase(&["main"]), "it has a conflict");
    assert!(repo.kept(&tree).await.contains(&KeepReason::MidOperation));
    tree.write("README.md", "both\n");
    tree.git(&["add", "."]);
    assert!(rebase(&["--continue"]));
    repo.git(&["merge", "--quiet", "--ff-only", &tree.git(&["branch", "--show-current"])]);
    assert!(matches!(repo.remove(&tree.path).await, RemovalOutcome::Removed { .. }));
}
