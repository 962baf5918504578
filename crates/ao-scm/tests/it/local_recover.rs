//! A daemon that dies in the middle of a merge.

use ao_core::pull::PullState;
use ao_ports::{LandingStrategy, Scm, ScmReviews as _};

use crate::local_support::{Desk, facts, merge, merged, open, order, project};

/// Prunes unreachable objects.
fn forget(desk: &Desk) {
    desk.git(&["reflog", "expire", "--expire=now", "--all"]);
    desk.git(&["gc", "--quiet", "--prune=now"]);
}

#[tokio::test]
async fn a_crash_before_anything_is_written_down_leaves_everything_as_it_was() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let order = order(&scm, &id, LandingStrategy::Squash).await;
    let main = desk.tip("main");
    desk.records.fail_after(0);
    assert!(scm.merge(&order).await.is_err());
    desk.records.recover();
    drop(scm);
    let scm = desk.open().await;
    assert_eq!((desk.tip("main"), facts(&scm, &id).await.state), (main, PullState::Open));
    merged(scm.merge(&order).await.unwrap());
}

#[tokio::test]
async fn a_crash_between_intent_and_ref_change_is_gone_over_by_the_next_call() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "README.md", "one\nX\nthree\nfour\nfive\n");
    let id = open(&scm, "x", "main").await;
    let again = order(&scm, &id, LandingStrategy::Squash).await;
    let main = desk.tip("main");
    desk.records.die_after_change(scm.merge(&again)).await;
    assert_eq!(desk.tip("main"), main, "it has not landed");
    let intended = desk.tip("refs/ao/pulls/1/landing");
    drop(scm);
    forget(&desk);
    let scm = desk.open().await;
    assert_eq!(facts(&scm, &id).await.state, PullState::Open);
    assert_eq!(merged(scm.merge(&again).await.unwrap()), intended, "what was written down lands");
    assert_eq!(desk.tip("main"), intended);
    assert_eq!(desk.log("%s", "main").len(), 2, "one commit has come");
}

#[tokio::test]
async fn an_intent_whose_commit_is_gone_has_not_landed() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let first = order(&scm, &id, LandingStrategy::Squash).await;
    desk.records.die_after_change(scm.merge(&first)).await;
    drop(scm);
    // As with records of a time when nothing kept it.
    desk.git(&["update-ref", "-d", "refs/ao/pulls/1/landing"]);
    forget(&desk);
    let scm = desk.open().await;
    merged(scm.merge(&first).await.unwrap());

    desk.push("y", "y", "1");
    let id = open(&scm, "y", "main").await;
    let second = order(&scm, &id, LandingStrategy::Squash).await;
    desk.records.die_after_change(scm.merge(&second)).await;
    drop(scm);
    desk.git(&["update-ref", "-d", "refs/ao/pulls/2/landing"]);
    forget(&desk);
    desk.push("main", "m", "others go on");
    let scm = desk.open().await;
    let seen = facts(&scm, &id).await;
    assert_eq!((seen.state, seen.base), (PullState::Open, desk.tip("main")));
}

#[tokio::test]
async fn a_merge_that_was_refused_leaves_no_intent_behind() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "README.md", "one\nX\nthree\nfour\nfive\n");
    let id = open(&scm, "x", "main").await;
    let order = order(&scm, &id, LandingStrategy::Squash).await;
    desk.write("README.md", "dirty\n");
    assert!(matches!(scm.merge(&order).await.unwrap(), ao_ports::MergeOutcome::Refused { .. }));
    assert!(desk.git(&["for-each-ref", "refs/ao/pulls/1/landing"]).is_empty());
    drop(scm);
    desk.git(&["checkout", "--quiet", "--", "README.md"]);
    forget(&desk);
    desk.push("main", "m", "others go on");
    let scm = desk.open().await;
    assert_eq!(facts(&scm, &id).await.state, PullState::Open);
    merged(merge(&scm, &id, LandingStrategy::Squash).await);
}

#[tokio::test]
async fn a_crash_after_the_ref_change_is_a_merge_and_a_second_call_finds_it() {
    for is_asked_first in [false, true] {
        let desk = Desk::new();
        let scm = desk.open().await;
        desk.push("x", "x", "1");
        let id = open(&scm, "x", "main").await;
        let order =
            ao_ports::MergeOrder { delete_branch: true, ..order(&scm, &id, LandingStrategy::Squash).await };
        // The intent is written, and nothing after it.
        desk.records.fail_after(1);
        assert!(scm.merge(&order).await.is_err());
        let landed = desk.tip("main");
        assert_eq!(desk.log("%s", "main").len(), 2, "it has landed");
        desk.records.recover();
        drop(scm);
        let scm = desk.open().await;
        if is_asked_first {
            assert_eq!(facts(&scm, &id).await.state, PullState::Merged { commit: landed.clone() });
        }
        assert_eq!(merged(scm.merge(&order).await.unwrap()), landed);
        assert_eq!(merged(scm.merge(&order).await.unwrap()), landed);
        assert_eq!(desk.tip("main"), landed, "it is not merged twice");
        assert_eq!(scm.show(&id).await.unwrap().merged_by.as_deref(), Some("ann"));
        assert!(desk.git(&["for-each-ref", "refs/heads/x"]).is_empty(), "and its branch is gone");
    }
}

#[tokio::test]
async fn changes_while_the_daemon_was_down_are_seen_at_the_start() {
    let desk = Desk::new().with_checks(&[("test", true)]);
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    desk.push("y", "y", "1");
    let (x, y) = (open(&scm, "x", "main").await, open(&scm, "y", "main").await);
    drop(scm);
    let head = desk.push("x", "x", "2");
    desk.git(&["merge", "--quiet", "--no-edit", "y"]);
    let scm = desk.open().await;
    assert_eq!(scm.open_pulls(&project()).await.unwrap(), std::slice::from_ref(&x));
    let seen = facts(&scm, &x).await;
    assert_eq!((&seen.head, &seen.base), (&head, &desk.tip("main")));
    assert!(desk.checks.heads().contains(&head));
    assert!(matches!(facts(&scm, &y).await.state, PullState::Merged { .. }));
}
