//! Reviews: who may give which, on what, and that they are for one head only.

use ao_core::pull::{Author, ReviewVerdict, Standing};
use ao_ports::{NewReview, PullEdit, ReviewComment, Scm, Side, Strategy};

use crate::local_support::{Desk, agent, at_line, facts, merge, merged, new_pull, open, person, review, why};

#[tokio::test]
async fn an_approval_is_for_the_head_it_was_given_on() {
    let desk = Desk::new();
    let scm = desk.open().await;
    let first = desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let mut approval = review(&id, person("bob"), ReviewVerdict::Approved, "");
    approval.head = Some(first.clone());
    assert_eq!(scm.review(&approval).await.unwrap(), "r1");
    let second = desk.push("x", "x", "2");
    let seen = facts(&scm, &id).await;
    assert_eq!((&seen.reviews[0].commit, &seen.head), (&first, &second), "it is stale");
    let told = why(scm.review(&approval).await);
    assert!(told.contains("read it again") && told.contains(second.as_str()), "{told}");
    assert_eq!(facts(&scm, &id).await.reviews.len(), 1);
    assert_eq!(desk.tip(&format!("refs/ao/pulls/1/at/{first}")), first, "what was approved is kept");
}

#[tokio::test]
async fn nobody_approves_their_own_and_no_agent_approves_at_all() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = scm.open(&ao_ports::NewPull { by: person("Ann"), ..new_pull("x", "main") }).await.unwrap();
    let approve = |by| review(&id, by, ReviewVerdict::Approved, "fine");
    assert!(why(scm.review(&approve(person("ann"))).await).contains("cannot approve"));
    assert!(why(scm.review(&approve(agent())).await).contains("agent cannot approve"));
    for verdict in [ReviewVerdict::Commented, ReviewVerdict::ChangesRequested] {
        assert!(why(scm.review(&review(&id, agent(), verdict, " ")).await).contains("needs a text"));
        scm.review(&review(&id, agent(), verdict, "the reviewer found this")).await.unwrap();
    }
    let bot = Author { login: "lint".into(), standing: Standing::Bot };
    scm.review(&review(&id, bot, ReviewVerdict::Commented, "hm")).await.unwrap();
    assert_eq!(facts(&scm, &id).await.reviews.len(), 3);
}

/// A review with a body only counts too, and its remarks are threads. acceptance: F5
#[tokio::test]
async fn remarks_become_threads_and_a_wrong_one_leaves_nothing_behind() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "a", "1\n2\n3\n");
    let id = open(&scm, "x", "main").await;
    let remark = |line, body: &str| ReviewComment {
        path: "a".into(),
        line: Some(line),
        side: Side::New,
        body: body.to_owned(),
    };
    let mut asked = review(&id, person("bob"), ReviewVerdict::ChangesRequested, "see below");
    asked.comments = vec![remark(1, "this"), remark(9, "and this")];
    assert!(why(scm.review(&asked).await).contains("no line 9"));
    let seen = facts(&scm, &id).await;
    assert!(seen.reviews.is_empty() && seen.threads.is_empty());

    asked.comments = vec![remark(1, "this"), remark(3, "and this")];
    let asked = NewReview { key: Some("k".into()), ..asked };
    assert_eq!(scm.review(&asked).await.unwrap(), "r1");
    assert_eq!(scm.review(&asked).await.unwrap(), "r1");
    let seen = facts(&scm, &id).await;
    assert_eq!((seen.reviews.len(), seen.threads.len()), (1, 2));
    assert_eq!((seen.reviews[0].body.as_str(), seen.threads[1].line), ("see below", Some(3)));
    let shown = scm.show(&id).await.unwrap();
    assert!(shown.reviewed_at.contains_key("r1") && shown.threads["t2"].at.contains_key("c2"));

    scm.edit(&id, &PullEdit { closed: Some(true), ..PullEdit::default() }).await.unwrap();
    assert!(
        why(scm.review(&review(&id, person("bob"), ReviewVerdict::Approved, "")).await).contains("not open")
    );
}

/// How many approvals are for the head as it would land now.
async fn approvals(scm: &ao_scm::local::LocalScm, id: &ao_core::PullId) -> usize {
    let seen = facts(scm, id).await;
    let counts = |given: &&ao_core::pull::ReviewFacts| {
        given.verdict == ReviewVerdict::Approved && given.commit == seen.head
    };
    seen.reviews.iter().filter(counts).count()
}

#[tokio::test]
async fn an_approval_is_not_for_another_target_that_brings_more_along() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("lower", "l", "1");
    desk.push_from("lower", "upper", "u", "1");
    let (lower, upper) = (open(&scm, "lower", "main").await, open(&scm, "upper", "lower").await);
    scm.review(&review(&upper, person("bob"), ReviewVerdict::Approved, "")).await.unwrap();
    assert_eq!(approvals(&scm, &upper).await, 1);
    let base = |name: &str| PullEdit { base_branch: Some(name.to_owned()), ..PullEdit::default() };
    scm.edit(&upper, &base("main")).await.unwrap();
    assert_eq!(approvals(&scm, &upper).await, 0, "the lower change would land with it");
    scm.edit(&upper, &base("lower")).await.unwrap();
    assert_eq!(approvals(&scm, &upper).await, 1, "it is as it was approved");
    scm.edit(&lower, &PullEdit { closed: Some(true), ..PullEdit::default() }).await.unwrap();
    assert_eq!(approvals(&scm, &upper).await, 0);
    scm.review(&review(&upper, person("bob"), ReviewVerdict::Approved, "with that")).await.unwrap();
    assert_eq!(approvals(&scm, &upper).await, 1);
}

#[tokio::test]
async fn an_approval_stays_when_what_it_stands_on_is_merged() {
    for strategy in [Strategy::Squash, Strategy::Merge, Strategy::Rebase] {
        let desk = Desk::new();
        let scm = desk.open().await;
        desk.push("lower", "l", "1");
        desk.push_from("lower", "upper", "u", "1");
        let (lower, upper) = (open(&scm, "lower", "main").await, open(&scm, "upper", "lower").await);
        scm.review(&review(&upper, person("bob"), ReviewVerdict::Approved, "")).await.unwrap();
        merged(merge(&scm, &lower, strategy).await);
        desk.push("main", "m", "others go on");
        assert_eq!(facts(&scm, &upper).await.base_branch, "main");
        assert_eq!(approvals(&scm, &upper).await, 1, "{strategy:?}");
    }
}

#[tokio::test]
async fn there_are_so_many_reviews_and_no_more() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    for number in 0..500 {
        let body = format!("remark {number}");
        scm.review(&review(&id, agent(), ReviewVerdict::Commented, &body)).await.unwrap();
    }
    let told = why(scm.review(&review(&id, person("bob"), ReviewVerdict::Approved, "")).await);
    assert!(told.contains("500 reviews"), "{told}");
}

#[tokio::test]
async fn so_much_is_said_and_no_more() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "x", "1");
    let id = open(&scm, "x", "main").await;
    let long = "x".repeat(64 * 1024);
    for _ in 0..127 {
        scm.comment(&at_line(&id, "x", 1, &long)).await.unwrap();
    }
    scm.review(&review(&id, agent(), ReviewVerdict::Commented, &long)).await.unwrap();
    let told = why(scm.review(&review(&id, agent(), ReviewVerdict::Commented, "more")).await);
    assert!(told.contains("8388608 bytes"), "{told}");
    assert!(why(scm.comment(&at_line(&id, "x", 1, "more")).await).contains("are the most"));
    scm.review(&review(&id, person("bob"), ReviewVerdict::Approved, "")).await.unwrap();
}
