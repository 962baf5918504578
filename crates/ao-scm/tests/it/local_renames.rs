//! Branches that get another name, go, come back, or live at a remote.

use ao_core::pull::PullState;
use ao_ports::{LandingStrategy, ScmReviews as _};

use crate::local_support::{Desk, facts, merge, merged, open, pull};

/// acceptance: F8
#[tokio::test]
async fn a_pull_request_follows_its_branch_to_another_name_and_those_above_do_too() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("old", "x", "1");
    desk.push_from("old", "above", "y", "1");
    let id = open(&scm, "old", "main").await;
    open(&scm, "above", "old").await;
    // Another branch on the same commit: the reflog decides which of them it is.
    desk.git(&["branch", "decoy", "old"]);
    desk.git(&["branch", "-m", "old", "middle"]);
    desk.git(&["branch", "-m", "middle", "new/name"]);
    let head = desk.push("new/name", "x", "2");
    let seen = facts(&scm, &id).await;
    assert_eq!((seen.head_branch.as_str(), &seen.head), ("new/name", &head));
    assert_eq!(facts(&scm, &pull(2)).await.base_branch, "new/name");
    assert_eq!(scm.show(&pull(2)).await.unwrap().stacked_on, Some(id));
}

#[tokio::test]
async fn without_a_log_the_only_branch_on_the_same_commit_is_it() {
    let desk = Desk::new();
    desk.git(&["config", "core.logAllRefUpdates", "false"]);
    let scm = desk.open().await;
    let head = desk.push("old", "x", "1");
    let id = open(&scm, "old", "main").await;
    desk.git(&["update-ref", "refs/heads/new", head.as_str()]);
    desk.git(&["update-ref", "-d", "refs/heads/old"]);
    assert_eq!(facts(&scm, &id).await.head_branch, "new");

    desk.git(&["branch", "one", "new"]);
    desk.git(&["branch", "two", "new"]);
    desk.git(&["update-ref", "-d", "refs/heads/new"]);
    assert_eq!(facts(&scm, &id).await.head_branch, "new", "two could be it, so neither is");
}

#[tokio::test]
async fn a_branch_that_is_gone_is_kept_and_can_be_merged() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let head = desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    desk.git(&["branch", "-D", "x"]);
    desk.git(&["reflog", "expire", "--expire=now", "--all"]);
    desk.git(&["gc", "--quiet", "--prune=now"]);
    let seen = facts(&scm, &id).await;
    assert_eq!((&seen.state, &seen.head), (&PullState::Open, &head));
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert_eq!(desk.read("x"), "1");
}

#[tokio::test]
async fn a_branch_that_only_a_remote_has_is_read_there() {
    let desk = Desk::with_origin();
    desk.git(&["checkout", "--quiet", "-b", "shared"]);
    desk.write("s", "1");
    let head = desk.commit("shared");
    desk.git(&["push", "--quiet", "origin", "shared"]);
    desk.git(&["checkout", "--quiet", "main"]);
    desk.git(&["branch", "-D", "shared"]);
    let fork = desk.side_path("fork.git").display().to_string();
    desk.git(&["init", "--quiet", "--bare", &fork]);
    desk.git(&["remote", "add", "carl", &fork]);
    desk.git(&["push", "--quiet", "carl", "origin/shared:refs/heads/theirs"]);
    desk.git(&["fetch", "--quiet", "carl"]);
    let scm = desk.open().await;
    let id = open(&scm, "shared", "main").await;
    assert_eq!((facts(&scm, &id).await.head, facts(&scm, &id).await.head_repo), (head.clone(), None));
    let id = open(&scm, "theirs", "main").await;
    let seen = facts(&scm, &id).await;
    assert_eq!((seen.head, seen.head_repo.as_deref()), (head, Some("carl")));
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
    assert_eq!(desk.read("s"), "1");
}

#[tokio::test]
async fn packed_refs_are_refs() {
    let desk = Desk::with_origin();
    let scm = desk.open().await;
    let head = desk.push("deep/er/x", "x", "1");
    desk.git(&["pack-refs", "--all", "--prune"]);
    let id = open(&scm, "deep/er/x", "main").await;
    assert_eq!(facts(&scm, &id).await.head, head);
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
}

#[tokio::test]
async fn an_old_note_of_another_branch_of_that_name_tells_nothing() {
    let desk = Desk::new();
    // Long ago there was a branch of that name, which is called otherwise since.
    desk.push("x", "elsewhere", "1");
    desk.git(&["branch", "-m", "x", "long-ago"]);
    let scm = desk.open().await;
    let head = desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    desk.git(&["branch", "-D", "x"]);
    let seen = facts(&scm, &id).await;
    assert_eq!((seen.head_branch.as_str(), &seen.head), ("x", &head));
    drop(scm);
    let seen = facts(&desk.open().await, &id).await;
    assert_eq!((seen.head_branch.as_str(), &seen.head), ("x", &head), "nor after a start");
}

#[tokio::test]
async fn a_branch_that_was_there_before_or_is_for_others_is_not_the_one_that_is_gone() {
    let desk = Desk::new();
    desk.git(&["config", "core.logAllRefUpdates", "false"]);
    let scm = desk.open().await;
    let head = desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    desk.git(&["branch", "backup", "x"]);
    assert_eq!(facts(&scm, &id).await.head_branch, "x");
    desk.git(&["branch", "review/x", "x"]);
    desk.git(&["update-ref", "-d", "refs/heads/x"]);
    let seen = facts(&scm, &id).await;
    assert_eq!((seen.head_branch.as_str(), &seen.head), ("x", &head));
    desk.push("backup", "b", "1");
    assert_eq!(facts(&scm, &id).await.head, head, "and its commits are not followed");
}

#[tokio::test]
async fn a_branch_renamed_while_the_daemon_was_down_is_followed_but_a_copy_is_not() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    drop(scm);
    desk.git(&["branch", "-m", "x", "y"]);
    desk.git(&["branch", "-c", "y", "a-copy"]);
    let head = desk.push("y", "x", "2");
    let seen = facts(&desk.open().await, &id).await;
    assert_eq!((seen.head_branch.as_str(), seen.head), ("y", head));
}

/// Git lists branches one by one, so a look in the middle of a renaming can see both names.
#[tokio::test]
async fn a_branch_whose_new_name_was_seen_before_the_old_one_went_is_followed() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    desk.git(&["branch", "-m", "x", "y"]);
    desk.git(&["branch", "x", "y"]);
    assert_eq!(facts(&scm, &id).await.head_branch, "x");
    desk.git(&["branch", "-D", "x"]);
    let head = desk.push("y", "x", "2");
    let seen = facts(&scm, &id).await;
    assert_eq!((seen.head_branch.as_str(), seen.head), ("y", head));
}
