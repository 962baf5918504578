//! Work that is thrown away: shown first, gone then, and kept in a rescue ref for a while.

use ao_core::workspace::KeepReason;
use ao_ports::{RemovalOutcome, RemoveOrder, TreeRef, Workspace};

use crate::support::{Repo, git, removal};

/// acceptance: W1 W5
#[tokio::test]
async fn a_discard_shows_what_goes_and_leaves_all_of_it_in_a_rescue_ref() {
    let repo = Repo::new();
    let tree = repo.worked().await;
    tree.write("README.md", "changed\n");
    tree.write("new file.txt", "new\n");
    let order = RemoveOrder { discard: true, ..repo.order(&tree.path) };

    let work = repo.worktrees.work(&order.tree).await.unwrap();
    assert_eq!((work.files_in_all, work.commits_in_all), (2, 1));
    assert_eq!(work.files, ["README.md", "new file.txt"]);
    assert!(work.commits[0].ends_with(" fix"), "{:?}", work.commits);

    let kept = repo.worktrees.remove(&repo.order(&tree.path)).await.unwrap();
    assert!(matches!(kept, RemovalOutcome::Kept { .. }), "without the wish it stays: {kept:?}");
    let RemovalOutcome::Removed { rescue: Some(rescue) } = repo.worktrees.remove(&order).await.unwrap()
    else {
        panic!("it is removed, with a rescue ref");
    };
    assert!(!tree.path.exists());
    assert_eq!(git(&repo.path(), &["show", &format!("{rescue}:new file.txt")]), "new");
    assert_eq!(git(&repo.path(), &["show", &format!("{rescue}:README.md")]), "changed");
    assert_eq!(git(&repo.path(), &["log", "-1", "--format=%s", &format!("{rescue}^")]), "fix");
    assert_eq!(git(&repo.path(), &["branch", "--list", "agent/fix"]), "", "its branch is in the rescue ref");
}

/// acceptance: W3
#[tokio::test]
async fn a_discard_takes_nothing_that_is_not_ours() {
    let repo = Repo::new();
    repo.write("README.md", "mine\n");
    let main = RemoveOrder {
        discard: true,
        ..removal(TreeRef { branch: "main".into(), ..repo.tree(&repo.path()) })
    };
    let RemovalOutcome::Kept { reasons } = repo.worktrees.remove(&main).await.unwrap() else {
        panic!("it is kept")
    };
    assert!(
        reasons.contains(&KeepReason::MainWorktree) && reasons.contains(&KeepReason::NotOurs),
        "{reasons:?}"
    );
    let hand = repo.path().join(".worktrees/hand");
    repo.git(&["worktree", "add", "--quiet", "-b", "hand", hand.to_str().unwrap()]);
    let order =
        RemoveOrder { discard: true, ..removal(TreeRef { branch: "hand".into(), ..repo.tree(&hand) }) };
    let RemovalOutcome::Kept { reasons } = repo.worktrees.remove(&order).await.unwrap() else {
        panic!("it is kept")
    };
    assert_eq!(reasons, [KeepReason::NotOurs]);
    assert!(hand.join("README.md").exists());
}
