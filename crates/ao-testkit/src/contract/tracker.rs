//! The contract of [`Tracker`], for trackers that create and edit tasks: one story for each promise.
//!
//! An adapter provides a [`TrackerBench`] and names it once:
//!
//! ```ignore
//! mod in_files {
//!     ao_testkit::tracker_contract!(crate::support::Bench::in_files());
//! }
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_core::{ProjectId, TaskId, Timestamp};
use ao_ports::{LookHint, NewTask, TaskEdit, TaskFilter, TaskSeen, Tracker, TrackerError};
use async_trait::async_trait;

use super::{HintLog, until};

/// A tracker without any tasks, and control over its environment.
#[async_trait]
pub trait TrackerBench: Send + Sync {
    fn project(&self) -> ProjectId;

    /// Returns the tracker as a daemon that has just started holds it.
    fn tracker(&self) -> Arc<dyn Tracker>;

    /// Lets time pass, so that later changes have later times.
    async fn later(&self);
}

/// Expands to one test for each story, each on a bench of its own.
#[macro_export]
macro_rules! tracker_contract {
    ($bench:expr) => {
        $crate::tracker_contract!($bench; [
            a_task_is_as_it_was_made,
            hostile_words_stay_words,
            what_makes_no_sense_is_refused,
            a_mark_is_used_once,
            an_edit_changes_what_it_names_and_nothing_else,
            labels_and_blockers_come_and_go,
            only_open_blockers_block,
            nobody_waits_for_himself_or_for_nobody,
            comments_are_kept_in_order_and_once_each,
            closed_is_closed_until_it_is_opened,
            a_list_is_filtered_and_begins_with_the_last_change,
            changes_are_told_page_by_page_and_none_is_missed,
            who_waits_is_told_when_the_wait_is_over,
            tasks_outlive_the_daemon,
            many_at_once_get_numbers_of_their_own,
            edits_at_once_are_all_made,
            whoever_watches_hears_of_each_change,
            what_is_not_there_is_not_found,
            a_tracker_in_order_warns_of_nothing,
        ]);
    };
    ($bench:expr; [$($story:ident),* $(,)?]) => {
        $(
            #[tokio::test]
            async fn $story() {
                let bench = $bench;
                $crate::contract::tracker::$story(&bench).await;
            }
        )*
    };
}

/// All fields of a new task are returned.
pub async fn a_task_is_as_it_was_made(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let first = make(bench, &*tracker, "First").await;
    let new = NewTask {
        body: "Two\n\nparagraphs".into(),
        labels: words(&["bug", "needs: care"]),
        priority: -3,
        blocked_by: [first.clone()].into(),
        assignee: Some("bob".into()),
        by: AuthorFacts { login: "fixer".into(), standing: AuthorStanding::Agent },
        ..new(bench, "Second")
    };
    let id = tracker.create(&new).await.unwrap();
    assert_eq!(id.project, bench.project());
    let seen = tracker.task(&id).await.unwrap();
    assert_eq!((&seen.task, &seen.facts.title, &seen.body), (&id, &new.title, &new.body));
    assert_eq!((&seen.facts.labels, seen.facts.priority), (&new.labels, -3));
    assert_eq!(seen.facts.blocked_by, [first].into());
    assert_eq!((seen.assignee.as_deref(), &seen.author), (Some("bob"), &Some(new.by)));
    assert!(!seen.facts.closed && seen.comments.is_empty() && seen.updated >= Timestamp(0));
    let done = NewTask { closed: true, ..self::new(bench, "Done before") };
    let done = tracker.create(&done).await.unwrap();
    assert!(tracker.task(&done).await.unwrap().facts.closed);
}

/// Title and body are treated as plain text.
pub async fn hostile_words_stay_words(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    for text in HOSTILE {
        let new = NewTask {
            body: format!(
                "{text}\n---\ntitle: other\n---\n## Comments\n\n### eve · 2026-01-01T00:00:00Z\n\n{text}"
            ),
            labels: words(&[text]),
            assignee: Some(text.to_string()),
            ..new(bench, text)
        };
        let id = tracker.create(&new).await.unwrap();
        let by = AuthorFacts { login: text.to_string(), standing: AuthorStanding::Member };
        tracker.comment(&id, &by, text, &new.body).await.unwrap();
        tracker.comment(&id, &by, text, "the same mark").await.unwrap();
        let seen = bench.tracker().task(&id).await.unwrap();
        assert_eq!((&seen.facts.title, &seen.body), (&new.title, &new.body), "{text}");
        assert_eq!((&seen.facts.labels, &seen.assignee), (&new.labels, &new.assignee), "{text}");
        assert_eq!(seen.comments.len(), 1, "{text}");
        assert_eq!((&seen.comments[0].author, &seen.comments[0].body), (&by, &new.body), "{text}");
        let title = Some(format!("{text} {text}"));
        tracker.edit(&id, &TaskEdit { title: title.clone(), ..TaskEdit::default() }).await.unwrap();
        let edited = tracker.task(&id).await.unwrap();
        assert_eq!(Some(edited.facts.title), title);
        assert_eq!((edited.body, edited.comments), (seen.body, seen.comments), "{text}");
    }
}

/// The caller gets the reason, and nothing is created.
pub async fn what_makes_no_sense_is_refused(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let many: BTreeSet<String> = (0..101).map(|n| format!("label-{n}")).collect();
    let cases = [
        new(bench, " "),
        new(bench, "two\nlines"),
        new(bench, &"x".repeat(257)),
        NewTask { body: "x".repeat(64 * 1024 + 1), ..new(bench, "body") },
        NewTask { labels: words(&[""]), ..new(bench, "label") },
        NewTask { labels: words(&["a\nb"]), ..new(bench, "label") },
        NewTask { labels: many, ..new(bench, "labels") },
        NewTask { assignee: Some("a\u{7}b".into()), ..new(bench, "assignee") },
    ];
    for case in cases {
        let refused = tracker.create(&case).await.unwrap_err();
        assert!(matches!(refused, TrackerError::Refused { .. }), "{refused}");
    }
    let id = make(bench, &*tracker, "Fine").await;
    for edit in [
        TaskEdit { title: Some("\t".into()), ..TaskEdit::default() },
        TaskEdit { body: Some("x".repeat(64 * 1024 + 1)), ..TaskEdit::default() },
        TaskEdit { add_labels: words(&["\r"]), ..TaskEdit::default() },
    ] {
        let refused = tracker.edit(&id, &edit).await.unwrap_err();
        assert!(matches!(refused, TrackerError::Refused { .. }), "{refused}");
    }
    let empty = tracker.comment(&id, &ann(), "k", " \n ").await.unwrap_err();
    assert!(matches!(empty, TrackerError::Refused { .. }), "{empty}");
    assert_eq!(titles(bench, &*tracker, TaskFilter { limit: 10, ..TaskFilter::default() }).await, ["Fine"]);
}

/// A second task with the same key is the first one; it is found by its key.
pub async fn a_mark_is_used_once(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let marked = |key: &str| NewTask { key: Some(key.into()), ..new(bench, "Marked") };
    assert_eq!(tracker.find(&bench.project(), "a/b:c #1").await.unwrap(), None);
    let first = tracker.create(&marked("a/b:c #1")).await.unwrap();
    assert_eq!(tracker.create(&marked("a/b:c #1")).await.unwrap(), first);
    assert_ne!(tracker.create(&marked("a/b:c #10")).await.unwrap(), first);
    assert_eq!(tracker.find(&bench.project(), "a/b:c #1").await.unwrap(), Some(first.clone()));
    tracker.close(&first).await.unwrap();
    assert_eq!(bench.tracker().create(&marked("a/b:c #1")).await.unwrap(), first);
}

/// Fields that an edit does not name stay; an edit that changes nothing is no error.
pub async fn an_edit_changes_what_it_names_and_nothing_else(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let full = NewTask {
        body: "body".into(),
        labels: words(&["a"]),
        priority: 5,
        assignee: Some("bob".into()),
        ..new(bench, "Title")
    };
    let id = tracker.create(&full).await.unwrap();
    let mut expected = tracker.task(&id).await.unwrap();
    bench.later().await;
    tracker.edit(&id, &TaskEdit::default()).await.unwrap();
    tracker.edit(&id, &TaskEdit { title: Some("Title".into()), ..TaskEdit::default() }).await.unwrap();
    let same = tracker.task(&id).await.unwrap();
    assert_eq!(same.updated, expected.updated, "nothing has changed");

    for (edit, apply) in EDITS {
        bench.later().await;
        tracker.edit(&id, &edit()).await.unwrap();
        apply(&mut expected);
        let seen = tracker.task(&id).await.unwrap();
        assert!(seen.updated > expected.updated, "{:?}", edit());
        (expected.updated, expected.facts.observed) = (seen.updated, seen.facts.observed);
        assert_eq!(seen, expected, "{:?}", edit());
    }
}

type Apply = fn(&mut TaskSeen);
const EDITS: [(fn() -> TaskEdit, Apply); 7] = [
    (
        || TaskEdit { title: Some("New: title".into()), ..TaskEdit::default() },
        |it| it.facts.title = "New: title".into(),
    ),
    (
        || TaskEdit { body: Some("new\n\nbody".into()), ..TaskEdit::default() },
        |it| it.body = "new\n\nbody".into(),
    ),
    (|| TaskEdit { priority: Some(0), ..TaskEdit::default() }, |it| it.facts.priority = 0),
    (|| TaskEdit { priority: Some(-7), ..TaskEdit::default() }, |it| it.facts.priority = -7),
    (|| TaskEdit { assignee: Some(None), ..TaskEdit::default() }, |it| it.assignee = None),
    (
        || TaskEdit { assignee: Some(Some("zoë".into())), ..TaskEdit::default() },
        |it| it.assignee = Some("zoë".into()),
    ),
    (|| TaskEdit { body: Some(String::new()), ..TaskEdit::default() }, |it| it.body = String::new()),
];

/// One edit adds and removes several labels and blockers.
pub async fn labels_and_blockers_come_and_go(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let (a, b) = (make(bench, &*tracker, "A").await, make(bench, &*tracker, "B").await);
    let id = tracker.create(&NewTask { labels: words(&["x", "y"]), ..new(bench, "C") }).await.unwrap();
    let edit = TaskEdit {
        add_labels: words(&["z", "y"]),
        remove_labels: words(&["x", "never"]),
        add_blocked_by: [a.clone(), b.clone()].into(),
        ..TaskEdit::default()
    };
    tracker.edit(&id, &edit).await.unwrap();
    let seen = tracker.task(&id).await.unwrap();
    assert_eq!(
        (seen.facts.labels, seen.facts.blocked_by),
        (words(&["y", "z"]), [a.clone(), b.clone()].into())
    );
    let edit =
        TaskEdit { remove_labels: words(&["y", "z"]), remove_blocked_by: [a].into(), ..TaskEdit::default() };
    tracker.edit(&id, &edit).await.unwrap();
    let seen = tracker.task(&id).await.unwrap();
    assert_eq!((seen.facts.labels, seen.facts.blocked_by), (BTreeSet::new(), [b].into()));
}

/// A closed blocker blocks no more, and blocks again when it is reopened.
pub async fn only_open_blockers_block(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let first = make(bench, &*tracker, "First").await;
    let second = tracker
        .create(&NewTask { blocked_by: [first.clone()].into(), ..new(bench, "Second") })
        .await
        .unwrap();
    let filter = TaskFilter { text: Some("second".into()), limit: 1, ..TaskFilter::default() };
    for closed in [true, false, true] {
        tracker.edit(&first, &TaskEdit { closed: Some(closed), ..TaskEdit::default() }).await.unwrap();
        let expected: BTreeSet<TaskId> = if closed { BTreeSet::new() } else { [first.clone()].into() };
        assert_eq!(tracker.task(&second).await.unwrap().facts.blocked_by, expected);
        let listed = tracker.list(&bench.project(), &filter).await.unwrap();
        assert_eq!(listed[0].facts.blocked_by, expected);
    }
}

/// A cycle, a task that blocks itself, a missing blocker and a task of another project are refused, with the reason.
pub async fn nobody_waits_for_himself_or_for_nobody(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let (a, b) = (make(bench, &*tracker, "A").await, make(bench, &*tracker, "B").await);
    let c = make(bench, &*tracker, "C").await;
    let wait = |on: &TaskId| TaskEdit { add_blocked_by: [on.clone()].into(), ..TaskEdit::default() };
    tracker.edit(&b, &wait(&a)).await.unwrap();
    tracker.edit(&c, &wait(&b)).await.unwrap();
    let unknown = TaskId { project: bench.project(), key: "999".into() };
    let foreign = TaskId { project: ProjectId::new("other"), key: a.key.clone() };
    for (who, on, why) in [
        (&a, &a, "itself"),
        (&a, &b, "waits for it"),
        (&a, &c, "waits for it"),
        (&a, &unknown, "no such issue"),
        (&a, &foreign, "its own project"),
    ] {
        let refused = tracker.edit(who, &wait(on)).await.unwrap_err();
        assert!(matches!(&refused, TrackerError::Refused { why: said } if said.contains(why)), "{refused}");
        let new = NewTask { blocked_by: [on.clone()].into(), ..new(bench, "New") };
        assert_eq!(tracker.create(&new).await.is_err(), *on == unknown || *on == foreign, "{on}");
    }
    assert_eq!(tracker.task(&a).await.unwrap().facts.blocked_by, BTreeSet::new());
    tracker.close(&c).await.unwrap();
    assert!(tracker.edit(&a, &wait(&c)).await.is_err(), "it could be opened again");
}

/// Oldest first, with their authors; the same key adds one comment; lists omit them.
pub async fn comments_are_kept_in_order_and_once_each(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let id = make(bench, &*tracker, "Talk").await;
    let other = make(bench, &*tracker, "Other").await;
    let agent = AuthorFacts { login: "fixer".into(), standing: AuthorStanding::Agent };
    for (by, key, text) in [
        (&ann(), "one", "first"),
        (&agent, "two", "second\n\nwith two paragraphs"),
        (&agent, "two", "second, once more"),
        (&ann(), "three", "third"),
    ] {
        bench.later().await;
        tracker.comment(&id, by, key, text).await.unwrap();
    }
    tracker.comment(&other, &ann(), "one", "elsewhere").await.unwrap();
    let seen = bench.tracker().task(&id).await.unwrap();
    let said: Vec<_> = seen.comments.iter().map(|it| (&it.author, it.body.as_str())).collect();
    assert_eq!(said, [(&ann(), "first"), (&agent, "second\n\nwith two paragraphs"), (&ann(), "third")]);
    assert!(seen.comments.windows(2).all(|two| two[0].at < two[1].at && two[0].id != two[1].id));
    let filter = TaskFilter { limit: 10, ..TaskFilter::default() };
    let listed = tracker.list(&bench.project(), &filter).await.unwrap();
    assert!(listed.iter().all(|task| task.comments.is_empty()));
    assert_eq!(tracker.task(&other).await.unwrap().comments.len(), 1);
}

/// Closing a closed task succeeds; it can be reopened.
pub async fn closed_is_closed_until_it_is_opened(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let id = make(bench, &*tracker, "Close me").await;
    for _ in 0..2 {
        tracker.close(&id).await.unwrap();
        assert!(tracker.task(&id).await.unwrap().facts.closed);
    }
    tracker.edit(&id, &TaskEdit { closed: Some(false), ..TaskEdit::default() }).await.unwrap();
    assert!(!tracker.task(&id).await.unwrap().facts.closed);
    tracker.comment(&id, &ann(), "k", "still here").await.unwrap();
}

/// State, all labels, assignee and text filter; the limit keeps the ones that changed last.
pub async fn a_list_is_filtered_and_begins_with_the_last_change(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let mut ids = Vec::new();
    for (title, body, labels, assignee) in [
        ("Login fails", "after an UPDATE", &["bug", "ui"][..], Some("ann")),
        ("Faster start", "", &["perf"], None),
        ("Übersicht", "the login page", &["ui"], Some("bob")),
        ("Old", "", &["bug"], None),
        ("Older", "login", &[], None),
    ] {
        bench.later().await;
        let assignee = assignee.map(str::to_owned);
        let new = NewTask { body: body.into(), labels: words(labels), assignee, ..new(bench, title) };
        ids.push(tracker.create(&new).await.unwrap());
    }
    for id in [&ids[4], &ids[3], &ids[0]] {
        bench.later().await;
        match *id == ids[0] {
            true => tracker.comment(id, &ann(), "k", "news").await.unwrap(),
            false => tracker.close(id).await.unwrap(),
        }
    }
    let all = TaskFilter { limit: 10, ..TaskFilter::default() };
    let open = TaskFilter { closed: Some(false), ..all.clone() };
    let text = |text: &str| TaskFilter { text: Some(text.into()), ..all.clone() };
    for (filter, expected) in [
        (all.clone(), &["Login fails", "Old", "Older", "Übersicht", "Faster start"][..]),
        (open.clone(), &["Login fails", "Übersicht", "Faster start"]),
        (TaskFilter { closed: Some(true), ..all.clone() }, &["Old", "Older"]),
        (TaskFilter { closed: Some(true), limit: 1, ..all.clone() }, &["Old"]),
        (TaskFilter { limit: 2, ..open.clone() }, &["Login fails", "Übersicht"]),
        (TaskFilter { limit: 3, ..all.clone() }, &["Login fails", "Old", "Older"]),
        (TaskFilter { limit: 0, ..all.clone() }, &[]),
        (TaskFilter { labels: words(&["ui"]), ..all.clone() }, &["Login fails", "Übersicht"]),
        (TaskFilter { labels: words(&["ui", "bug"]), ..all.clone() }, &["Login fails"]),
        (TaskFilter { assignee: Some("bob".into()), ..all.clone() }, &["Übersicht"]),
        (text("LOGIN"), &["Login fails", "Older", "Übersicht"]),
        (text("übersicht page"), &["Übersicht"]),
        (text("update fails"), &["Login fails"]),
        (text("nothing of that kind"), &[]),
    ] {
        assert_eq!(titles(bench, &*tracker, filter.clone()).await, expected, "{filter:?}");
    }
}

/// Oldest change first; a task that changes between two pages is returned again, and none is missed.
pub async fn changes_are_told_page_by_page_and_none_is_missed(bench: &dyn TrackerBench) {
    const TASKS: usize = 230;
    let tracker = bench.tracker();
    let mut ids = Vec::new();
    for n in 0..TASKS {
        ids.push(make(bench, &*tracker, &format!("Task {n}")).await);
    }
    bench.later().await;
    let project = bench.project();
    let mut page = tracker.changed(&project, Timestamp(0), None).await.unwrap();
    let mut told: Vec<TaskId> = page.tasks.iter().map(|seen| seen.task.clone()).collect();
    assert!(told.len() < TASKS && page.tasks.is_sorted_by_key(|seen| seen.updated));
    tracker.close(&ids[0]).await.unwrap();
    let mut pages = 1;
    while let Some(next) = page.next {
        page = tracker.changed(&project, Timestamp(0), Some(&next)).await.unwrap();
        told.extend(page.tasks.iter().map(|seen| seen.task.clone()));
        pages += 1;
        assert!(pages < 100, "it has no end");
    }
    assert_eq!(told.iter().collect::<BTreeSet<_>>(), ids.iter().collect());
    assert_eq!(told.last(), Some(&ids[0]), "what changed last is told last");

    bench.later().await;
    tracker.edit(&ids[7], &TaskEdit { priority: Some(1), ..TaskEdit::default() }).await.unwrap();
    let since = tracker.task(&ids[7]).await.unwrap().updated;
    let news = tracker.changed(&project, since, None).await.unwrap();
    assert_eq!(news.tasks.iter().map(|seen| &seen.task).collect::<Vec<_>>(), [&ids[7]]);
    assert_eq!(news.next, None);
    let none = tracker.changed(&project, Timestamp(since.0 + 60_000), None).await.unwrap();
    assert_eq!((none.tasks, none.next), (vec![], None));
}

/// Closing a blocker changes the tasks that it blocks too, because their facts differ now.
pub async fn who_waits_is_told_when_the_wait_is_over(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let first = make(bench, &*tracker, "First").await;
    let second = tracker
        .create(&NewTask { blocked_by: [first.clone()].into(), ..new(bench, "Second") })
        .await
        .unwrap();
    make(bench, &*tracker, "Third").await;
    for closed in [true, false] {
        bench.later().await;
        tracker.edit(&first, &TaskEdit { closed: Some(closed), ..TaskEdit::default() }).await.unwrap();
        let since = tracker.task(&first).await.unwrap().updated;
        let news = tracker.changed(&bench.project(), since, None).await.unwrap();
        let told: BTreeSet<TaskId> = news.tasks.iter().map(|seen| seen.task.clone()).collect();
        assert_eq!(told, [first.clone(), second.clone()].into());
    }
}

/// A new daemon finds everything, and continues the numbers of the last one.
pub async fn tasks_outlive_the_daemon(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let first = make(bench, &*tracker, "First").await;
    tracker.comment(&first, &ann(), "k", "said").await.unwrap();
    tracker.close(&first).await.unwrap();
    let before = tracker.task(&first).await.unwrap();
    drop(tracker);
    let tracker = bench.tracker();
    let after = tracker.task(&first).await.unwrap();
    assert_eq!((after.body, after.comments, after.updated), (before.body, before.comments, before.updated));
    assert!(after.facts.closed);
    let second = make(bench, &*tracker, "Second").await;
    assert_ne!(second, first);
    assert_eq!(second.key, "2", "numbers are given away one after another");
}

/// Concurrent creations get different numbers.
pub async fn many_at_once_get_numbers_of_their_own(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let made = futures::future::join_all((0..20).map(|n| {
        let (tracker, new) = (Arc::clone(&tracker), new(bench, &format!("Task {n}")));
        async move { tracker.create(&new).await.unwrap() }
    }));
    let ids: BTreeSet<TaskId> = made.await.into_iter().collect();
    assert_eq!(ids.len(), 20);
}

/// No concurrent edit is lost.
pub async fn edits_at_once_are_all_made(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let id = make(bench, &*tracker, "Busy").await;
    let edits = futures::future::join_all((0..20).map(|n| {
        let (tracker, id) = (&tracker, &id);
        let edit = TaskEdit { add_labels: words(&[&format!("label-{n}")]), ..TaskEdit::default() };
        async move { tracker.edit(id, &edit).await.unwrap() }
    }));
    let comments = futures::future::join_all((0..10).map(|n| {
        let (tracker, id) = (&tracker, &id);
        async move { tracker.comment(id, &ann(), &format!("k{}", n / 2), "said").await.unwrap() }
    }));
    tokio::join!(edits, comments);
    let seen = tracker.task(&id).await.unwrap();
    assert_eq!((seen.facts.labels.len(), seen.comments.len()), (20, 5));
}

/// A hint for each change, also for tasks that a closed one blocked; none for an edit that changes nothing.
pub async fn whoever_watches_hears_of_each_change(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let first = make(bench, &*tracker, "First").await;
    let second = tracker
        .create(&NewTask { blocked_by: [first.clone()].into(), ..new(bench, "Second") })
        .await
        .unwrap();
    let heard = HintLog::default();
    let story = async {
        // A watch begins some time after the call; until then a change may be missed.
        let mut priority = 0;
        until("the watch has begun", async || {
            priority += 1;
            tracker
                .edit(&second, &TaskEdit { priority: Some(priority), ..TaskEdit::default() })
                .await
                .unwrap();
            heard.soon(LookHint::Task(second.clone())).await
        })
        .await;
        heard.forget();
        tracker.edit(&second, &TaskEdit { priority: Some(priority), ..TaskEdit::default() }).await.unwrap();
        tracker.close(&first).await.unwrap();
        until("both are told", async || {
            heard.soon(LookHint::Task(first.clone())).await
                && heard.soon(LookHint::Task(second.clone())).await
        })
        .await;
        heard.forget();
        let third = make(bench, &*tracker, "Third").await;
        until("the new one is told", async || heard.soon(LookHint::Task(third.clone())).await).await;
        heard.forget();
        tracker.comment(&third, &ann(), "k", "news").await.unwrap();
        until("the comment is told", async || heard.soon(LookHint::Task(third.clone())).await).await;
    };
    tokio::select! {
        () = tracker.watch(Arc::new(heard.clone())) => panic!("it does not watch any more"),
        () = story => {}
    }
}

/// Missing tasks and foreign projects are not found.
pub async fn what_is_not_there_is_not_found(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let real = make(bench, &*tracker, "Real").await;
    let foreign = TaskId { project: ProjectId::new("other"), key: real.key.clone() };
    let odd = ["2", "0", "01", "-1", "x", "", "../1", "1/../1", "18446744073709551616"];
    let odd = odd.map(|key| TaskId { project: bench.project(), key: key.into() });
    for id in odd.iter().chain([&foreign]) {
        let edit = TaskEdit { priority: Some(1), ..TaskEdit::default() };
        for outcome in [
            tracker.task(id).await.map(|_| ()),
            tracker.edit(id, &edit).await,
            tracker.close(id).await,
            tracker.comment(id, &ann(), "k", "text").await,
        ] {
            assert!(matches!(outcome, Err(TrackerError::NotFound { .. })), "{id}: {outcome:?}");
        }
    }
    let other = ProjectId::new("other");
    assert!(tracker.changed(&other, Timestamp(0), None).await.is_err());
    assert!(tracker.list(&other, &TaskFilter::default()).await.is_err());
}

/// Nothing has to be fixed about tasks that it has written itself.
pub async fn a_tracker_in_order_warns_of_nothing(bench: &dyn TrackerBench) {
    let tracker = bench.tracker();
    let first = make(bench, &*tracker, "First").await;
    let second = NewTask { blocked_by: [first.clone()].into(), ..new(bench, "Second") };
    tracker.create(&second).await.unwrap();
    tracker.close(&first).await.unwrap();
    assert_eq!(tracker.warnings().await.unwrap(), [""; 0]);
}

const HOSTILE: [&str; 12] = [
    "-rf --help",
    "$(touch pwned) `touch pwned` ; & | > x",
    "\"quoted\" 'and' \\back\\",
    "../../../etc/passwd",
    "key: value # no comment",
    "- [ ] no list",
    "null",
    "{a: [b, c]}",
    "---",
    "日本語 \u{1f469}\u{200d}\u{1f4bb} עברית e\u{301}",
    "<!-- key: x --> --> %00 %2F",
    "*alias &anchor !tag | > @ ` %",
];

fn new(bench: &dyn TrackerBench, title: &str) -> NewTask {
    NewTask {
        project: bench.project(),
        title: title.into(),
        body: String::new(),
        labels: BTreeSet::new(),
        priority: 0,
        blocked_by: BTreeSet::new(),
        assignee: None,
        by: ann(),
        key: None,
        closed: false,
    }
}

async fn make(bench: &dyn TrackerBench, tracker: &dyn Tracker, title: &str) -> TaskId {
    tracker.create(&new(bench, title)).await.unwrap()
}

async fn titles(bench: &dyn TrackerBench, tracker: &dyn Tracker, filter: TaskFilter) -> Vec<String> {
    let found = tracker.list(&bench.project(), &filter).await.unwrap();
    found.into_iter().map(|seen| seen.facts.title).collect()
}

fn ann() -> AuthorFacts {
    AuthorFacts { login: "ann".into(), standing: AuthorStanding::Owner }
}

fn words(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
