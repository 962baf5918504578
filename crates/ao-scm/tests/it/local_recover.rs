//! A daemon that dies in the middle of a merge.

use ao_core::pull::PullState;
use ao_ports::{Scm, Strategy};

use crate::local_support::{Desk, facts, merged, open, order, project};

#[tokio::test]
async fn a_crash_before_anything_is_written_down_leaves_everything_as_it_was() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let order = order(&scm, &id, Strategy::Squash).await;
    let main = desk.tip("main");
    *desk.records.left.lock().unwrap() = Some(0);
    assert!(scm.merge(&order).await.is_err());
    *desk.records.left.lock().unwrap() = None;
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
    let order = order(&scm, &id, Strategy::Squash).await;
    // A dirty checkout lets it end exactly there.
    desk.write("README.md", "dirty\n");
    assert!(matches!(scm.merge(&order).await.unwrap(), ao_ports::MergeOutcome::Refused { .. }));
    drop(scm);
    desk.git(&["checkout", "--quiet", "--", "README.md"]);
    let scm = desk.open().await;
    assert_eq!(facts(&scm, &id).await.state, PullState::Open);
    let commit = merged(scm.merge(&order).await.unwrap());
    assert_eq!(desk.tip("main"), commit);
    assert_eq!(desk.log("%s", "main").len(), 2, "one commit has come");
}

#[tokio::test]
async fn a_crash_after_the_ref_change_is_a_merge_and_a_second_call_finds_it() {
    for is_asked_first in [false, true] {
        let desk = Desk::new();
        let scm = desk.open().await;
        desk.push("x", "x", "1");
        let id = open(&scm, "x", "main").await;
        let order = ao_ports::MergeOrder { delete_branch: true, ..order(&scm, &id, Strategy::Squash).await };
        // The intent is written, and nothing after it.
        *desk.records.left.lock().unwrap() = Some(1);
        assert!(scm.merge(&order).await.is_err());
        let landed = desk.tip("main");
        assert_eq!(desk.log("%s", "main").len(), 2, "it has landed");
        *desk.records.left.lock().unwrap() = None;
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
async fn what_happened_while_nobody_looked_is_seen_at_the_start() {
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
