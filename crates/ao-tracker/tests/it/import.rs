//! Lists of others become issues, once.

use ao_core::TaskId;
use ao_core::pull::AuthorStanding;
use ao_ports::{TaskFilter, Tracker};
use ao_testkit::contract::tracker::TrackerBench;
use ao_tracker::import::{self, ImportError, IssueDraft, Outcome, bring_in};
use insta::assert_snapshot;

use crate::support::{Bench, ann};

const LIST: &str = "# Plan

Some words, and a list that is none:
- not a task
- [link](https://example.org)

## Now

- [ ] Fix the login
  It fails after an update.

  ```sh
  - [ ] not a task, but code
  ```
  - a plain point
* [x] Done already
1. [ ] Numbered `code` #label @name
- [ ] Release
\t- [ ] Write the notes
\t  With thanks.
\t- [X] Tag it
\t  - [ ] Find a name
  Tell everybody.

```
- [ ] in a block of code
```

## Later
- [ ] Fix the login
- [ ] Fix the login
";

#[test]
fn a_task_list_becomes_issues_with_what_is_below_them() {
    assert_snapshot!(shown(&import::markdown(LIST).unwrap()), @r#"
    0 [ ] Fix the login
      {} None after []
      "It fails after an update.\n\n```sh\n- [ ] not a task, but code\n```\n- a plain point"
    1 [x] Done already
      {} None after []
      ""
    2 [ ] Numbered `code` #label @name
      {} None after []
      ""
    3 [ ] Write the notes
      {} None after []
      "With thanks."
    4 [ ] Find a name
      {} None after []
      ""
    5 [x] Tag it
      {} None after [4]
      ""
    6 [ ] Release
      {} None after [3, 5]
      "Tell everybody."
    7 [ ] Fix the login
      {} None after []
      ""
    8 [ ] Fix the login
      {} None after []
      ""
    "#);
}

#[test]
fn the_key_of_a_task_is_its_words_and_what_it_stands_below() {
    let keys = |text: &str| import::markdown(text).unwrap().into_iter().map(|it| it.key).collect::<Vec<_>>();
    let before = keys("# A\n- [ ] one\n- [ ] two\n");
    assert_eq!(
        keys("# A\r\n\r\nNew words.\r\n* [x] two\r\n* [ ] one\r\n  more\r\n"),
        [before[1].clone(), before[0].clone()]
    );
    assert_ne!(keys("# B\n- [ ] one\n")[0], before[0]);
    let twins = keys("- [ ] twin\n- [ ] twin\n");
    assert_ne!(twins[0], twins[1]);
    assert_ne!(keys("- [ ] ab\n  - [ ] c\n")[0], keys("- [ ] a\n  - [ ] bc\n")[0]);
}

#[test]
fn a_wrong_line_is_named() {
    let long = format!("\n- [ ] {}\n", "x".repeat(257));
    let fat = format!("- [ ] fat\n  {}\n", "x".repeat(65 << 10));
    for (text, expected) in [
        ("- [ ] one\n- [ ]\n", "line 2: this task has no words"),
        (&long, "line 2: a title may have 256 characters, and this has 257; indent the rest below it"),
        (&fat, "line 1: what is below this task is longer than 64 KB"),
        ("- [ ] a\u{7}b", "line 1: this task has control characters in it"),
        ("", "there are no tasks in this text"),
        (
            "- [y] odd\n-[ ] odd\n- [] odd\n- [ ]odd\n12345678901. [ ] odd\n",
            "there are no tasks in this text",
        ),
    ] {
        let err = import::markdown(text).unwrap_err().to_string();
        assert!(err.starts_with(expected), "{err}");
    }
}

const GH: &str = r##"[
  {"number": 7, "title": "Login fails", "body": "a\r\nb", "state": "OPEN", "url": "https://github.com/o/r/issues/7",
   "labels": [{"id": "x", "name": "bug", "color": "f00"}], "assignees": [{"login": "ann"}, {"login": "bob"}]},
  {"number": 8, "title": "Old", "body": "", "state": "CLOSED", "url": "https://github.com/o/r/issues/8", "labels": [], "assignees": []}
]"##;

const REST: &str = r##"[
  {"number": 7, "title": "Login fails", "body": "a\nb", "state": "open", "html_url": "https://github.com/o/r/issues/7",
   "url": "https://api.github.com/repos/o/r/issues/7", "labels": ["bug"], "assignee": {"login": "ann"}, "assignees": [],
   "comments": 3, "user": {"login": "eve"}},
  {"number": 9, "title": "A pull request", "state": "open", "html_url": "https://github.com/o/r/pull/9", "pull_request": {"url": "x"}},
  {"number": 10, "title": "No body", "body": null, "state": "closed", "labels": null, "pull_request": null}
]"##;

#[test]
fn githubs_json_is_read_in_both_of_its_forms() {
    let (gh, rest) = (import::github(GH).unwrap(), import::github(REST).unwrap());
    // Only one of them has the author.
    let same = IssueDraft { author: None, ..rest[0].clone() };
    assert_eq!(gh[0], same, "the same issue, whichever way it came");
    assert_snapshot!(shown(&gh), @r#"
    0 [ ] Login fails https://github.com/o/r/issues/7
      {"bug"} Some("ann") after []
      "a\nb"
    1 [x] Old https://github.com/o/r/issues/8
      {} None after []
      ""
    "#);
    assert_snapshot!(shown(&rest[1..]), @r#"
    0 [x] No body github:10
      {} None after []
      ""
    "#);
    assert_eq!(import::github("[]").unwrap(), []);
}

#[test]
fn a_wrong_entry_is_named() {
    for (text, expected) in [
        ("nonsense", "this is not GitHub's JSON: expected ident at line 1 column 2"),
        ("{}", "this is not GitHub's JSON: it is not an array"),
        ("[1]", "entry 1: it is not an object"),
        (r#"[{"title": "x"}]"#, "entry 1: it has no `number`"),
        (r#"[{"number": 1, "title": "x"}, {"number": 2}]"#, "entry 2: issue #2 has no `title`"),
        (r#"[{"number": 1, "title": " "}]"#, "entry 1: the title of issue #1 is not a line"),
        (r#"[{"number": 1, "title": "a\nb"}]"#, "entry 1: the title of issue #1 is not a line"),
        (r#"[{"number": 1, "title": "x", "state": "merged"}]"#, "entry 1: the state of issue #1 is `merged`"),
        (r#"[{"number": 1, "title": "x", "labels": [3]}]"#, "entry 1: a label of issue #1 has no name"),
        (
            r#"[{"number": 1, "title": "x", "labels": "bug"}]"#,
            "entry 1: the labels of issue #1 are not an array",
        ),
        (r#"[{"number": 1, "title": "x", "body": 3}]"#, "entry 1: the body of issue #1 is not a text"),
    ] {
        let err = import::github(text).unwrap_err().to_string();
        assert!(err.starts_with(expected), "{err}");
    }
}

#[test]
fn a_body_that_is_too_long_is_cut_and_says_where_the_rest_is() {
    let entry = serde_json::json!([{"number": 1, "title": "x", "body": "ä".repeat(65_536), "url": "https://e.org/1"}]);
    let body = import::github(&entry.to_string()).unwrap().remove(0).body;
    assert!(body.len() <= 64 * 1024 && body.ends_with("(cut here; the whole text is at https://e.org/1)"));
}

/// The standing is GitHub's own word; what a login looks like says nothing. acceptance: X3
#[tokio::test]
async fn an_author_keeps_the_standing_that_github_gives_them() {
    let rest = |user: &str, kind: &str, association: &str| {
        format!(r#""user": {{"login": "{user}", "type": "{kind}"}}, "author_association": "{association}""#)
    };
    for (said, standing) in [
        (rest("ann", "User", "OWNER"), Some(AuthorStanding::Owner)),
        (rest("bob", "User", "MEMBER"), Some(AuthorStanding::Member)),
        (rest("eve", "User", "COLLABORATOR"), Some(AuthorStanding::Collaborator)),
        (rest("renovate[bot]", "Bot", "NONE"), Some(AuthorStanding::Bot)),
        (rest("owner[bot]", "User", "NONE"), Some(AuthorStanding::Outsider)),
        (rest("mallory (owner)", "User", "CONTRIBUTOR"), Some(AuthorStanding::Outsider)),
        (rest("m", "User", "FIRST_TIME_CONTRIBUTOR"), Some(AuthorStanding::Outsider)),
        (rest("m", "User", "owner"), Some(AuthorStanding::Outsider)),
        (r#""author": {"login": "ann", "is_bot": false}"#.into(), Some(AuthorStanding::Outsider)),
        (r#""author": {"login": "app/x", "is_bot": true}"#.into(), Some(AuthorStanding::Bot)),
        (r#""author_association": "NONE""#.into(), Some(AuthorStanding::Outsider)),
        (r#""state": "open""#.into(), None),
    ] {
        let drafts = import::github(&format!(r#"[{{"number": 1, "title": "x", {said}}}]"#)).unwrap();
        assert_eq!(drafts[0].author.as_ref().map(|author| author.standing), standing, "{said}");
        for bench in [Bench::store(), Bench::files()] {
            let tracker = bench.local();
            bring_in(&tracker, &bench.project(), &ann(), &drafts, false).await.unwrap();
            let seen = tracker.task(&bench.id(1)).await.unwrap();
            let kept = seen.facts.author.clone().unwrap();
            assert_eq!(kept.standing, standing.unwrap_or(ann().standing), "{said}");
            let picked_up = ao_core::task::may_pick_up(&seen.task, &seen.facts);
            assert_eq!(picked_up.is_err(), standing == Some(AuthorStanding::Outsider), "{said}");
        }
    }
}

#[tokio::test]
async fn the_same_list_brought_in_twice_makes_nothing_new() {
    for bench in [Bench::store(), Bench::files()] {
        let tracker = bench.local();
        let drafts = [import::markdown(LIST).unwrap(), import::github(GH).unwrap()];
        for drafts in &drafts {
            let tried = bring_in(&tracker, &bench.project(), &ann(), drafts, true).await.unwrap();
            assert!(tried.iter().all(|it| it.outcome == Outcome::WouldBeMade && it.task.is_none()));
            let made = bring_in(&tracker, &bench.project(), &ann(), drafts, false).await.unwrap();
            assert!(made.iter().all(|it| it.outcome == Outcome::Made));
            for dry_run in [true, false] {
                let again = bring_in(&tracker, &bench.project(), &ann(), drafts, dry_run).await.unwrap();
                assert!(again.iter().all(|it| it.outcome == Outcome::Known));
                let tasks = |brought: &[import::ImportResult]| {
                    brought.iter().map(|it| it.task.clone()).collect::<Vec<_>>()
                };
                assert_eq!(tasks(&again), tasks(&made));
            }
        }
        let filter = TaskFilter { limit: usize::MAX, ..TaskFilter::default() };
        let all = tracker.list(&bench.project(), &filter).await.unwrap();
        assert_eq!(all.len(), drafts.iter().map(Vec::len).sum::<usize>());
        let release = all.iter().find(|seen| seen.facts.title == "Release").unwrap();
        let first: Vec<&str> = all
            .iter()
            .filter(|seen| release.facts.blocked_by.contains(&seen.task))
            .map(|seen| seen.facts.title.as_str())
            .collect();
        assert_eq!(first, ["Write the notes"], "and `Tag it` is done");
    }
}

#[tokio::test]
async fn a_task_that_is_new_below_a_known_one_has_to_be_done_first() {
    let bench = Bench::store();
    let tracker = bench.local();
    for text in ["- [ ] Release\n", "- [ ] Release\n  - [ ] Tag it\n"] {
        let drafts = import::markdown(text).unwrap();
        bring_in(&tracker, &bench.project(), &ann(), &drafts, false).await.unwrap();
    }
    let release = tracker.task(&bench.id(1)).await.unwrap();
    assert_eq!(release.facts.blocked_by, [bench.id(2)].into());
}

#[tokio::test]
async fn a_number_of_github_means_the_issue_that_was_imported_with_it() {
    for bench in [Bench::store(), Bench::files()] {
        let tracker = bench.local();
        let at = |key: &str| TaskId { project: bench.project(), key: key.to_owned() };
        let found = async |key: &str| tracker.task(&at(key)).await.map(|seen| seen.task.key);
        let ours = import::markdown("- [ ] Ours\n- [ ] Two\n").unwrap();
        bring_in(&tracker, &bench.project(), &ann(), &ours, false).await.unwrap();
        // The numbers are our own for as long as none came from GitHub.
        assert_eq!(found("GH-1").await.unwrap(), "1");
        assert_eq!(found("gh-2").await.unwrap(), "2");
        assert!(
            found("GH-3").await.is_err() && found("GH-02").await.is_err() && found("XY-1").await.is_err()
        );

        let list = r#"[{"number": 789, "title": "Export"}, {"number": 1, "title": "Old"},
            {"number": 5, "title": "By address", "url": "https://github.com/owner/my-app/issues/5"}]"#;
        bring_in(&tracker, &bench.project(), &ann(), &import::github(list).unwrap(), false).await.unwrap();
        assert_eq!(found("GH-789").await.unwrap(), "3");
        assert_eq!(found("GH-1").await.unwrap(), "4", "and not our own first one");
        assert_eq!(found("GH-5").await.unwrap(), "5");
        assert!(found("GH-2").await.is_err(), "GitHub's second one was not imported");
        assert_eq!(found("2").await.unwrap(), "2");

        let other =
            r#"[{"number": 5, "title": "Elsewhere", "url": "https://github.com/owner/other/issues/5"}]"#;
        bring_in(&tracker, &bench.project(), &ann(), &import::github(other).unwrap(), false).await.unwrap();
        let several = found("GH-5").await.unwrap_err().to_string();
        assert!(several.contains("#5`") && several.contains("#6`"), "{several}");
    }
}

#[test]
fn a_list_without_end_is_refused() {
    let text = "- [ ] x\n".repeat(10_001);
    assert!(matches!(import::markdown(&text), Err(ImportError::TooLong { .. })));
}

fn shown(drafts: &[IssueDraft]) -> String {
    let shown = |(n, draft): (usize, &IssueDraft)| {
        let IssueDraft { title, body, labels, assignee, closed, blocked_by, key, author: _ } = draft;
        let key = if key.starts_with("markdown:") { "" } else { key };
        let state = if *closed { 'x' } else { ' ' };
        let key = if key.is_empty() { String::new() } else { format!(" {key}") };
        format!("{n} [{state}] {title}{key}\n  {labels:?} {assignee:?} after {blocked_by:?}\n  {body:?}")
    };
    drafts.iter().enumerate().map(shown).collect::<Vec<_>>().join("\n")
}
