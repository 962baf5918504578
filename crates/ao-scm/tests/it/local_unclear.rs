//! Unknown facts, and checks whose caller was dropped before they started.

use std::fs;

use ao_core::Commit;
use ao_core::pull::{CheckState, Mergeable};
use ao_ports::{RunState, Scm, ScmReviews as _};

use crate::local_support::{Desk, facts, new_pull, open, order, pull, refused, why};

/// Takes a file's content out of the repository, and gives what brings it back.
fn lose(desk: &Desk, what: &str) -> impl FnOnce() + use<> {
    let blob = desk.git(&["rev-parse", what]);
    let path = desk.path().join(".git/objects").join(&blob[..2]).join(&blob[2..]);
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    move || fs::write(path, bytes).unwrap()
}

#[tokio::test]
async fn a_change_that_cannot_be_measured_is_not_one_that_touches_nothing() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let tested = order(&scm, &id, ao_ports::LandingStrategy::Squash).await;
    let head = desk.push("x", "secret/y", "not to be had");
    let bring_back = lose(&desk, "x:secret/y");
    let seen = facts(&scm, &id).await;
    assert_eq!((&seen.head, &seen.mergeable), (&head, &Mergeable::Unknown));
    assert_eq!(seen.checks[0].state, CheckState::Pending);
    assert!(!desk.checks.heads().contains(&head), "nothing is skipped for it");
    let told = ao_ports::MergeOrder { head: head.clone(), ..tested };
    assert!(refused(scm.merge(&told).await.unwrap()).contains("cannot be computed"));
    let shown = scm.show(&id).await.unwrap().updated_at;
    assert_eq!(scm.show(&id).await.unwrap().updated_at, shown, "to try again in vain is no news");

    bring_back();
    let seen = facts(&scm, &id).await;
    assert_eq!((seen.mergeable, seen.size.files), (Mergeable::Clean, vec!["secret/y".into(), "x".into()]));
    let job = desk.checks.jobs.lock().unwrap().last().unwrap().clone();
    assert_eq!((job.head, job.changed), (head, Some(vec!["secret/y".into(), "x".into()])));
}

#[tokio::test]
async fn an_unmeasurable_change_is_not_opened() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "content of its own");
    let _bring_back = lose(&desk, "x:x");
    assert!(why(scm.open(&new_pull("x", "main")).await).contains("git fsck"));
}

#[tokio::test]
async fn a_head_that_comes_back_is_checked_again() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    desk.checks.let_be("test", RunState::Running);
    let scm = desk.open().await;
    let first = desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    desk.push("main", "README.md", "one\nM\nthree\nfour\nfive\n");
    desk.push("x", "README.md", "one\nX\nthree\nfour\nfive\n");
    assert!(matches!(facts(&scm, &id).await.mergeable, Mergeable::Conflict { .. }));
    assert_eq!(desk.checks.states(), [(first.clone(), RunState::Cancelled)]);
    desk.git(&["update-ref", "refs/heads/x", first.as_str()]);
    assert_eq!(facts(&scm, &id).await.mergeable, Mergeable::Clean);
    assert_eq!(desk.checks.states(), [(first.clone(), RunState::Cancelled), (first, RunState::Running)]);
}

#[tokio::test]
async fn checks_start_even_if_the_caller_is_dropped() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    let first = desk.push("x", "x", "1");
    desk.records.die_after_change(scm.open(&new_pull("x", "main"))).await;
    assert_eq!(desk.checks.heads(), Vec::<Commit>::new());
    assert_eq!(facts(&scm, &pull(1)).await.checks[0].state, CheckState::Passed);
    assert_eq!(desk.checks.heads(), std::slice::from_ref(&first));

    let second = desk.push("x", "x", "2");
    desk.records.die_after_change(scm.pulls(&[pull(1)])).await;
    assert_eq!(desk.checks.heads(), std::slice::from_ref(&first));
    assert_eq!(facts(&scm, &pull(1)).await.checks[0].state, CheckState::Passed);
    assert_eq!(desk.checks.heads(), [first, second]);
}
