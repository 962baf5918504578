//! New work starts from the newest base there is, with one fetch for many.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use ao_core::{Attempt, SessionId};
use ao_ports::Workspace;
use ao_workspace::{Options, Worktrees};
use futures::future::join_all;

use crate::support::{Repo, SESSION};

#[tokio::test]
async fn it_starts_from_what_the_remote_has_got_meanwhile() {
    let (repo, remote) = Repo::with_origin();
    let newer = Repo::pushed_by_a_colleague(&remote, "main", "theirs");
    let before = repo.git(&["rev-parse", "main"]);
    assert_eq!(repo.create("fix").await.unwrap().base, newer);
    assert_eq!(repo.git(&["rev-parse", "main"]), before, "the user's own branch is left where it is");
    assert!(!repo.path().join(".git/FETCH_HEAD").exists());
}

#[tokio::test]
async fn commits_that_are_not_pushed_yet_are_not_left_out() {
    let (repo, _remote) = Repo::with_origin();
    let newer = repo.commit("mine.txt", "mine");
    assert_eq!(repo.create("fix").await.unwrap().base, newer);
}

#[tokio::test]
async fn if_both_went_on_the_remotes_is_taken() {
    let (repo, remote) = Repo::with_origin();
    repo.commit("mine.txt", "mine");
    let theirs = Repo::pushed_by_a_colleague(&remote, "main", "theirs");
    assert_eq!(repo.create("fix").await.unwrap().base, theirs);
}

#[tokio::test]
async fn a_remote_that_is_gone_does_not_stop_the_work() {
    let (repo, remote) = Repo::with_origin();
    drop(remote);
    assert_eq!(repo.create("fix").await.unwrap().base, repo.git(&["rev-parse", "main"]));
}

#[tokio::test]
async fn a_remote_that_never_answers_is_given_up() {
    let (repo, _remote) = Repo::with_origin();
    repo.git(&["config", "protocol.ext.allow", "always"]);
    repo.git(&["config", "remote.origin.url", "ext::sleep 1000"]);
    let worktrees =
        Worktrees::with(Options { fetch_timeout: Duration::from_millis(200), ..Options::default() });
    let made = worktrees.create(SESSION, Attempt(1), &repo.plan("fix")).await.unwrap();
    assert_eq!(made.base, repo.git(&["rev-parse", "main"]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_burst_fetches_once_and_fetching_can_be_disabled() {
    let (repo, _remote) = Repo::with_origin();
    let log = repo.path().join(".git/fetches");
    let program = repo.path().join(".git/upload");
    fs::write(&program, format!("#!/bin/sh\necho x >> '{}'\nexec git-upload-pack \"$@\"\n", log.display()))
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    repo.git(&["config", "remote.origin.uploadpack", &program.display().to_string()]);
    ao_git::approve([("remote.origin.uploadpack".to_owned(), program.display().to_string())]);

    let quiet = Worktrees::with(Options { fetch: false, ..Options::default() });
    quiet.create(SESSION, Attempt(1), &repo.plan("quiet")).await.unwrap();
    assert!(!log.exists());

    let many = (1..=8).map(|number| {
        let (worktrees, plan) = (&repo.worktrees, repo.plan(&format!("n{number}")));
        async move { worktrees.create(SessionId(number), Attempt(1), &plan).await.unwrap() }
    });
    join_all(many).await;
    assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 1);
}

/// Refs in one file, and refs in a table that only git can read.
#[tokio::test]
async fn other_layouts_of_refs_are_read_too() {
    let repo = Repo::new();
    repo.git(&["pack-refs", "--all"]);
    assert_eq!(repo.create("fix").await.unwrap().base, repo.git(&["rev-parse", "main"]));

    let repo = Repo::with(&["init", "--quiet", "-b", "main", "--ref-format=reftable"]);
    repo.commit("README.md", "one\n");
    assert!(repo.path().join(".git/reftable").exists());
    let tree = repo.merged().await;
    let order = repo.order(&tree.path);
    assert_eq!(
        repo.worktrees.whereabouts(&order.tree).await.stand.unwrap().branch.as_deref(),
        Some("agent/fix")
    );
    let again = repo.worktrees.create(SESSION, Attempt(2), &repo.plan("fix")).await.unwrap();
    assert_eq!(again.path, tree.path.display().to_string());
    let removal = repo.remove(&tree.path).await;
    assert!(matches!(removal, ao_ports::RemovalOutcome::Removed { rescue: Some(_) }), "{removal:?}");
    assert_eq!(repo.git(&["branch", "--format=%(refname:short)"]), "main");
}
