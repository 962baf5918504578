//! Comments, reviews, threads, diffs and edits.

use ao_core::pull::{AuthorFacts, AuthorStanding, PullState, ReviewVerdict, ThreadFacts};
use ao_core::{Commit, PullId};
use ao_ports::{
    CommentPlace, DiffSide, NewComment, NewReview, PullEdit, ReviewComment, ScmError, ThreadReply,
};

use super::{ScmBench, facts, merged, opened, ordered};

/// A comment starts a thread or continues one, and a repeated call leaves one comment.
pub async fn a_comment_is_in_its_thread(bench: &mut dyn ScmBench) {
    let (pull, ..) = opened(bench, "fix").await;
    let Some(whole) = comment(bench, &pull, CommentPlace::Pull, "all of it", Some("k1")).await else {
        return;
    };
    assert_eq!(
        comment(bench, &pull, CommentPlace::Pull, "all of it", Some("k1")).await.as_ref(),
        Some(&whole)
    );
    let in_it = CommentPlace::Thread(whole.clone());
    assert_eq!(comment(bench, &pull, in_it, "more", None).await.as_ref(), Some(&whole));
    let place = CommentPlace::Line { path: "fix.txt".into(), line: Some(1), side: DiffSide::New };
    let line = comment(bench, &pull, place, "this line", None).await.unwrap();
    bench.restart().await;
    let threads = threads(bench, &pull).await;
    assert_eq!(threads.len(), 2);
    assert_eq!(said(&threads, &whole), [("ann", "all of it"), ("ann", "more")]);
    assert_eq!(said(&threads, &line), [("ann", "this line")]);
    let at = thread(&threads, &line);
    assert_eq!((at.path.as_deref(), at.line, at.resolved), (Some("fix.txt"), Some(1), false));
    let nowhere = CommentPlace::Thread("t999".into());
    let lost = new_comment(&pull, nowhere, "lost", None);
    let lost = bench.scm().need_reviews().unwrap().comment(&lost).await;
    assert!(matches!(lost, Err(ScmError::NotFound { .. })), "{lost:?}");
}

/// A repeated reply leaves one, and a reply can resolve its thread.
pub async fn a_reply_is_given_once_for_each_key(bench: &mut dyn ScmBench) {
    let (pull, ..) = opened(bench, "fix").await;
    let Some(id) = comment(bench, &pull, CommentPlace::Pull, "why?", None).await else { return };
    let replies = [("k1", "because", false), ("k1", "because", false), ("k2", "done", true)];
    for (key, text, resolve) in replies {
        assert!(!thread(&threads(bench, &pull).await, &id).resolved, "before {key}");
        let (pull, thread, text, key) = (pull.clone(), id.clone(), text.to_owned(), key.to_owned());
        let reply = ThreadReply { pull, thread, text, resolve, key };
        bench.scm().need_reviews().unwrap().reply(&reply).await.unwrap();
        bench.restart().await;
    }
    let threads = threads(bench, &pull).await;
    let texts: Vec<&str> = said(&threads, &id).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["why?", "because", "done"]);
    assert!(thread(&threads, &id).resolved);
}

/// A review has a verdict on a head, and its comments become threads. A head that has moved since is not judged.
pub async fn a_review_counts_for_the_head_that_was_judged(bench: &mut dyn ScmBench) {
    let (pull, head, _) = opened(bench, "fix").await;
    let scm = bench.scm();
    let Some(reviews) = scm.reviews() else { return };
    let remark = ReviewComment {
        path: "fix.txt".into(),
        line: Some(1),
        side: DiffSide::New,
        body: "rename it".into(),
    };
    let review = |verdict, key: &str, head: &Commit, comments: Vec<ReviewComment>| NewReview {
        pull: pull.clone(),
        by: ann(),
        verdict,
        body: "see below".into(),
        head: Some(head.clone()),
        comments,
        key: Some(key.to_owned()),
    };
    let asked = review(ReviewVerdict::ChangesRequested, "k1", &head, vec![remark]);
    let first = reviews.review(&asked).await.unwrap();
    assert_eq!(reviews.review(&asked).await.unwrap(), first);
    let given = facts(bench, &pull).await.reviews;
    let [one] = &given[..] else { panic!("{given:?}") };
    assert_eq!((&one.id, one.verdict, &one.commit), (&first, ReviewVerdict::ChangesRequested, &head));
    let begun = threads(bench, &pull).await;
    assert_eq!((begun.len(), begun[0].path.as_deref()), (1, Some("fix.txt")));
    let now = bench.commit("fix", "more.txt", "more\n");
    assert_eq!(facts(bench, &pull).await.head, now);
    let stale = reviews.review(&review(ReviewVerdict::Approved, "k2", &head, vec![])).await;
    assert!(matches!(stale, Err(ScmError::Refused { .. })), "{stale:?}");
    reviews.review(&review(ReviewVerdict::Approved, "k2", &now, vec![])).await.unwrap();
    let given = facts(bench, &pull).await.reviews;
    let last = given.last().unwrap();
    assert_eq!((given.len(), last.verdict, &last.commit), (2, ReviewVerdict::Approved, &now));
    assert_eq!(last.author, ann());
}

/// A thread can be resolved and reopened; others stay as they are.
pub async fn a_thread_is_resolved_and_reopened(bench: &mut dyn ScmBench) {
    let (pull, ..) = opened(bench, "fix").await;
    let Some(id) = comment(bench, &pull, CommentPlace::Pull, "one", None).await else { return };
    let other = comment(bench, &pull, CommentPlace::Pull, "two", None).await.unwrap();
    for resolved in [true, true, false] {
        bench.scm().need_reviews().unwrap().resolve(&pull, &id, &ann(), resolved).await.unwrap();
        bench.restart().await;
        let threads = threads(bench, &pull).await;
        assert_eq!(thread(&threads, &id).resolved, resolved);
        assert!(!thread(&threads, &other).resolved);
    }
    let lost = bench.scm().need_reviews().unwrap().resolve(&pull, "t999", &ann(), true).await;
    assert!(matches!(lost, Err(ScmError::NotFound { .. })), "{lost:?}");
}

/// A diff is that of the pull request alone, at its present head, and is cut at the limit.
pub async fn a_diff_has_the_change_within_its_limit(bench: &mut dyn ScmBench) {
    const LIMIT: usize = 500;
    let (pull, ..) = opened(bench, "fix").await;
    let scm = bench.scm();
    let Some(reviews) = scm.reviews() else { return };
    bench.commit("main", "other.txt", "other\n");
    let small = reviews.diff(&pull, 100_000).await.unwrap();
    assert!(small.contains("fix.txt") && small.contains("+fix"), "{small}");
    assert!(!small.contains("other.txt"), "only the base has it: {small}");
    bench.commit("fix", "long.txt", &"a line of a long file\n".repeat(100));
    let large = reviews.diff(&pull, 100_000).await.unwrap();
    assert!(large.contains("fix.txt") && large.contains("long.txt") && large.len() > 2 * LIMIT, "{large}");
    let cut = reviews.diff(&pull, LIMIT).await.unwrap();
    assert!(!cut.is_empty() && cut.len() <= LIMIT, "{} bytes", cut.len());
    let unknown = reviews.diff(&PullId { number: 999, ..pull }, LIMIT).await;
    assert!(matches!(unknown, Err(ScmError::NotFound { .. })), "{unknown:?}");
}

/// An edit changes what it names and nothing else. It can close a pull request, and reopen it.
pub async fn an_edit_changes_only_what_it_names(bench: &mut dyn ScmBench) {
    let labels = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let (pull, head, _) = opened(bench, "fix").await;
    if bench.scm().reviews().is_none() {
        return;
    }
    let named = PullEdit {
        title: Some("Better".into()),
        body: Some("Because.".into()),
        add_labels: labels(&["bug", "urgent"]),
        ..PullEdit::default()
    };
    edit(bench, &pull, named).await.unwrap();
    let drafted = PullEdit { draft: Some(true), remove_labels: labels(&["urgent"]), ..PullEdit::default() };
    edit(bench, &pull, drafted).await.unwrap();
    bench.restart().await;
    let shown = bench.scm().need_reviews().unwrap().show(&pull).await.unwrap();
    assert_eq!((shown.facts.title.as_str(), shown.body.as_str()), ("Better", "Because."));
    assert_eq!((shown.facts.labels, shown.facts.draft), (labels(&["bug"]), true));
    assert_eq!((shown.facts.head, shown.facts.state), (head.clone(), PullState::Open));
    let closing = |closed| PullEdit { closed: Some(closed), ..PullEdit::default() };
    for (closed, state, open) in
        [(true, PullState::Closed, &[][..]), (false, PullState::Open, std::slice::from_ref(&pull))]
    {
        for _ in 0..2 {
            edit(bench, &pull, closing(closed)).await.unwrap();
            bench.restart().await;
        }
        let seen = facts(bench, &pull).await;
        assert_eq!((seen.state, seen.head, seen.title.as_str()), (state, head.clone(), "Better"));
        assert_eq!(bench.scm().open_pulls(&bench.project()).await.unwrap(), open);
    }
    let unknown = PullId { number: 999, ..pull.clone() };
    assert!(matches!(edit(bench, &unknown, closing(true)).await, Err(ScmError::NotFound { .. })));
    let Some(order) = ordered(bench, "other").await else { return };
    merged(bench, &order).await;
    let undone = edit(bench, &order.pull, closing(false)).await;
    assert!(matches!(undone, Err(ScmError::Refused { .. })), "a merge stays: {undone:?}");
}

/// Only its author and the owner change a comment, and another text is another revision.
pub async fn an_edited_comment_is_a_new_revision(bench: &mut dyn ScmBench) {
    let (pull, ..) = opened(bench, "fix").await;
    let Some(id) = comment(bench, &pull, CommentPlace::Pull, "all of it", None).await else { return };
    let shown = async |bench: &dyn ScmBench| thread(&threads(bench, &pull).await, &id).comments[0].clone();
    let before = shown(bench).await;
    let eve = AuthorFacts { login: "eve".into(), standing: AuthorStanding::Member };
    let owner = AuthorFacts { login: "owner".into(), standing: AuthorStanding::Owner };
    let mut revisions = vec![before.revision.clone()];
    for (by, text) in [(&ann(), "a part"), (&owner, "nothing of it")] {
        let reword = async |bench: &dyn ScmBench, by: &AuthorFacts, text: &str| {
            bench.scm().need_reviews().unwrap().edit_comment(&pull, &before.id, by, text).await
        };
        let refused = reword(bench, &eve, "mine now").await;
        assert!(matches!(refused, Err(ScmError::Refused { .. })), "{refused:?}");
        reword(bench, by, text).await.unwrap();
        bench.restart().await;
        let after = shown(bench).await;
        assert_eq!((after.body.as_str(), &after.author, &after.id), (text, &ann(), &before.id));
        assert!(!revisions.contains(&after.revision), "{revisions:?}");
        reword(bench, by, text).await.unwrap();
        assert_eq!(shown(bench).await, after, "the same text is no news");
        revisions.push(after.revision);
    }
    let lost = bench.scm().need_reviews().unwrap().edit_comment(&pull, "c999", &ann(), "lost").await;
    assert!(matches!(lost, Err(ScmError::NotFound { .. })), "{lost:?}");
}

fn ann() -> AuthorFacts {
    AuthorFacts { login: "ann".into(), standing: AuthorStanding::Member }
}

fn new_comment(pull: &PullId, at: CommentPlace, body: &str, key: Option<&str>) -> NewComment {
    NewComment { pull: pull.clone(), by: ann(), body: body.to_owned(), at, key: key.map(str::to_owned) }
}

/// Adds a comment and returns its thread, if the forge has reviews.
pub(super) async fn comment(
    bench: &dyn ScmBench,
    pull: &PullId,
    at: CommentPlace,
    body: &str,
    key: Option<&str>,
) -> Option<String> {
    let scm = bench.scm();
    Some(scm.reviews()?.comment(&new_comment(pull, at, body, key)).await.unwrap())
}

async fn edit(bench: &dyn ScmBench, pull: &PullId, edit: PullEdit) -> Result<(), ScmError> {
    bench.scm().need_reviews().unwrap().edit(pull, &edit).await
}

async fn threads(bench: &dyn ScmBench, pull: &PullId) -> Vec<ThreadFacts> {
    bench.scm().need_reviews().unwrap().show(pull).await.unwrap().facts.threads
}

fn thread<'a>(threads: &'a [ThreadFacts], id: &str) -> &'a ThreadFacts {
    threads.iter().find(|thread| thread.id == id).expect("the thread is shown")
}

/// Returns the authors and texts of a thread, in order.
fn said<'a>(threads: &'a [ThreadFacts], id: &str) -> Vec<(&'a str, &'a str)> {
    let comments = thread(threads, id).comments.iter();
    comments.map(|comment| (comment.author.login.as_str(), comment.body.as_str())).collect()
}
