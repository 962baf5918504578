//! Reviews: permissions, and that a review is for one head only.

use ao_core::pull::{AuthorFacts, AuthorStanding, PullFacts, ReviewVerdict};
use ao_ports::{
    DiffSide, LandingStrategy, NewComment, NewReview, PullEdit, ReviewComment, Scm, ScmError, ScmReviews as _,
};

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
async fn authors_and_agents_cannot_approve() {
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
    let bot = AuthorFacts { login: "lint".into(), standing: AuthorStanding::Bot };
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
        side: DiffSide::New,
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

/// Each edit is a revision of its own, so that it is reported again. acceptance: F5
#[tokio::test]
async fn a_comment_that_is_edited_is_a_new_revision_of_the_same_comment() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "a", "1\n2\n3\n");
    let id = open(&scm, "x", "main").await;
    scm.comment(&NewComment { by: person("bob"), ..at_line(&id, "a", 2, "name it") }).await.unwrap();
    scm.review(&review(&id, person("bob"), ReviewVerdict::ChangesRequested, "not yet")).await.unwrap();
    let before = facts(&scm, &id).await;
    let shown = scm.show(&id).await.unwrap();
    assert!(shown.threads["t1"].edited.is_empty() && shown.reworded_at.is_empty());

    let edit = async |comment: &str, body: &str| scm.edit_comment(&id, comment, &person("bob"), body).await;
    edit("c1", "name it well").await.unwrap();
    edit("c1", "name it well").await.unwrap();
    edit("r1", "not at all yet").await.unwrap();
    let after = facts(&scm, &id).await;
    let told = |seen: &PullFacts| {
        let (thread, review) = (&seen.threads[0], &seen.reviews[0]);
        let comment = &thread.comments[0];
        let place = format!("{}:{}", thread.path.as_deref().unwrap(), thread.line.unwrap());
        format!(
            "{place} {} {}@{} {}; {}@{} {}",
            comment.url, comment.id, comment.revision, comment.body, review.id, review.revision, review.body
        )
    };
    assert_eq!(told(&before), "a:2 ao://my-app/pulls/1#c1 c1@1 name it; r1@1 not yet");
    assert_eq!(told(&after), "a:2 ao://my-app/pulls/1#c1 c1@2 name it well; r1@2 not at all yet");
    assert_eq!(after.reviews[0].verdict, ReviewVerdict::ChangesRequested);
    let shown = scm.show(&id).await.unwrap();
    assert!(shown.threads["t1"].edited["c1"] > shown.threads["t1"].at["c1"]);
    assert!(shown.reworded_at["r1"] > shown.reviewed_at["r1"]);

    // It is kept, and goes on from there.
    drop(scm);
    let scm = desk.open().await;
    scm.edit_comment(&id, "c1", &person("bob"), "name it").await.unwrap();
    let seen = facts(&scm, &id).await;
    assert_eq!(
        (seen.threads[0].comments[0].revision.as_str(), seen.threads[0].comments.len()),
        ("3", 1),
        "what it said once is news again"
    );
}

#[tokio::test]
async fn only_its_author_and_the_owner_can_edit_a_comment() {
    let desk = Desk::new();
    let scm = desk.open().await;
    desk.push("x", "a", "1\n");
    let id = open(&scm, "x", "main").await;
    scm.comment(&NewComment { by: person("bob"), ..at_line(&id, "a", 1, "hm") }).await.unwrap();
    scm.review(&review(&id, person("bob"), ReviewVerdict::Commented, "hm")).await.unwrap();
    let author = |login: &str, standing| AuthorFacts { login: login.to_owned(), standing };
    for said in ["c1", "r1"] {
        for stranger in [person("ann"), agent(), author("bob", AuthorStanding::Bot)] {
            let told = why(scm.edit_comment(&id, said, &stranger, "ha").await);
            assert!(told.contains("was written by bob") && told.contains(said), "{told}");
        }
        assert!(why(scm.edit_comment(&id, said, &person("bob"), " ").await).contains("must not be empty"));
    }
    for nothing in ["c2", "r2", "t1", "", "1"] {
        let told = scm.edit_comment(&id, nothing, &person("bob"), "ha").await.unwrap_err();
        assert!(matches!(told, ScmError::NotFound { .. }), "{told}");
    }
    let seen = facts(&scm, &id).await;
    assert_eq!((&*seen.threads[0].comments[0].revision, &*seen.reviews[0].revision), ("1", "1"));
    scm.edit_comment(&id, "c1", &author("me", AuthorStanding::Owner), "well").await.unwrap();
    scm.edit_comment(&id, "r1", &person("BOB"), "well").await.unwrap();
    let seen = facts(&scm, &id).await;
    let comment = &seen.threads[0].comments[0];
    assert_eq!(
        (comment.body.as_str(), &comment.author),
        ("well", &person("bob")),
        "whose words they are stays"
    );
    assert_eq!(seen.reviews[0].revision, "2");
}

/// Returns the number of approvals for the head as it would land now.
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
    for strategy in [LandingStrategy::Squash, LandingStrategy::Merge, LandingStrategy::Rebase] {
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
async fn comments_are_bounded() {
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
