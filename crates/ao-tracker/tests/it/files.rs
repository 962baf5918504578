//! Files that people write: what is read of them, what is said of mistakes, and what an edit leaves alone.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use ao_core::Timestamp;
use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_ports::{NewTask, TaskEdit, Tracker, TrackerError};
use ao_testkit::contract::tracker::TrackerBench;
use insta::assert_snapshot;

use crate::support::{Bench, ann};

#[tokio::test]
async fn a_new_issue_is_a_file_that_people_like_to_read() {
    let bench = Bench::files();
    let tracker = bench.local();
    tracker.create(&bench.new_task("First")).await.unwrap();
    let new = NewTask {
        body: "It *fails* after an update.\n\n1. open it\n2. see".into(),
        labels: ["ui".into(), "bug: login".into()].into(),
        priority: 2,
        blocked_by: [bench.id(1)].into(),
        assignee: Some("bob".into()),
        key: Some("https://example.org/1".into()),
        ..bench.new_task("Fix the login: \"now\"")
    };
    let id = tracker.create(&new).await.unwrap();
    let agent = AuthorFacts { login: "fixer".into(), standing: AuthorStanding::Agent };
    tracker.comment(&id, &ann(), "", "Still so.").await.unwrap();
    tracker.comment(&id, &agent, "ses_4f/1", "Fixed.").await.unwrap();

    assert_eq!(bench.names(), ["1-first.md", "2-fix-the-login-now.md"]);
    assert_snapshot!(bench.read("2-fix-the-login-now.md"), @r#"
    ---
    title: "Fix the login: \"now\""
    state: open
    labels: ["bug: login", ui]
    priority: 2
    blockedBy: [1]
    assignee: bob
    author: ann
    created: 2026-01-02T03:04:05Z
    key: "https://example.org/1"
    ---

    It *fails* after an update.

    1. open it
    2. see

    ## Comments

    ### ann · 2026-01-02T03:04:05Z

    Still so.

    ### fixer (agent) · 2026-01-02T03:04:05Z <!-- key: ses_4f/1 -->

    Fixed.
    "#);
}

const BY_HAND: &str = "\u{feff}---
# What everybody asks for.
title:   'Dark mode'   # for the night
estimate: { days: 3, sure: no }
labels:
  - ui
  # the loud ones
  - wanted
blockedBy: 7
custom: |
  two
  lines

created: 2025-12-31
priority: 1 # soon
---


    code first

Text with trailing spaces  \r
---
## Comments

It is not about comments.

## Comments

### bob · 2026-01-01

Me too!


### a heading of bob's own
";

#[tokio::test]
async fn an_edit_of_one_field_leaves_every_other_byte_alone() {
    let bench = Bench::files();
    let path = bench.write("3-dark-mode.md", BY_HAND);
    fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
    bench.write("7.md", "---\ntitle: seven\n---\n");
    bench.write("8.md", "---\ntitle: eight\n---\n");
    let (tracker, id) = (bench.local(), bench.id(3));
    let seen = tracker.task(&id).await.unwrap();
    assert_eq!(seen.facts.title, "Dark mode");
    assert_eq!(seen.facts.labels, ["ui".into(), "wanted".into()].into());
    assert_eq!((seen.facts.priority, seen.created), (1, Timestamp(1_767_139_200_000)));
    assert_eq!(seen.facts.blocked_by, [bench.id(7)].into());
    assert_eq!(
        seen.body,
        "    code first\n\nText with trailing spaces  \n---\n## Comments\n\nIt is not about comments."
    );
    assert_eq!(seen.comments.len(), 1);
    assert_eq!(
        (seen.comments[0].body.as_str(), &seen.comments[0].author.login[..]),
        ("Me too!\n\n\n### a heading of bob's own", "bob")
    );
    assert_eq!(tracker.warnings().await.unwrap(), []);

    let edit = TaskEdit::default;
    for (edit, from, to) in [
        (TaskEdit { title: Some("Night: mode".into()), ..edit() }, "'Dark mode'", "\"Night: mode\""),
        (TaskEdit { priority: Some(12), ..edit() }, "priority: 1 #", "priority: 12 #"),
        (TaskEdit { priority: Some(0), ..edit() }, "priority: 1 # soon\n", ""),
        (TaskEdit { closed: Some(true), ..edit() }, "# soon\n---", "# soon\nstate: closed\n---"),
        (
            TaskEdit { assignee: Some(Some("x y".into())), ..edit() },
            "# soon\n---",
            "# soon\nassignee: x y\n---",
        ),
        (
            TaskEdit { add_labels: ["new".into()].into(), ..edit() },
            "labels:\n  - ui\n  # the loud ones\n  - wanted\n",
            "labels: [new, ui, wanted]\n",
        ),
        (
            TaskEdit { remove_labels: ["ui".into(), "wanted".into()].into(), ..edit() },
            "labels:\n  - ui\n  # the loud ones\n  - wanted\n",
            "",
        ),
        (TaskEdit { add_blocked_by: [bench.id(8)].into(), ..edit() }, "blockedBy: 7", "blockedBy: [7, 8]"),
        (
            TaskEdit { body: Some("new body".into()), ..edit() },
            "---\n\n\n    code first\n\nText with trailing spaces  \r\n---\n## Comments\n\nIt is not about comments.\n\n",
            "---\n\nnew body\n\n",
        ),
    ] {
        bench.write("3-dark-mode.md", BY_HAND);
        tracker.edit(&id, &edit).await.unwrap();
        assert_eq!(BY_HAND.matches(from).count(), 1, "{from}");
        assert_eq!(bench.read("3-dark-mode.md"), BY_HAND.replace(from, to), "{edit:?}");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    }

    bench.write("3-dark-mode.md", BY_HAND);
    tracker.comment(&id, &ann(), "", "And me.").await.unwrap();
    let comment = "\n### ann · 2026-01-02T03:04:05Z\n\nAnd me.\n";
    assert_eq!(bench.read("3-dark-mode.md"), format!("{BY_HAND}{comment}"));
    assert_eq!(bench.names(), ["3-dark-mode.md", "7.md", "8.md"], "nothing is left beside them");
}

#[tokio::test]
async fn a_file_with_the_line_ends_of_windows_keeps_them() {
    let bench = Bench::files();
    bench.write("1.md", "---\r\ntitle: one\r\n---\r\n\r\nbody\r\n");
    let tracker = bench.local();
    assert_eq!(tracker.task(&bench.id(1)).await.unwrap().body, "body");
    tracker.close(&bench.id(1)).await.unwrap();
    tracker.comment(&bench.id(1), &ann(), "", "two\nlines").await.unwrap();
    assert_eq!(
        bench.read("1.md"),
        "---\r\ntitle: one\r\nstate: closed\r\n---\r\n\r\nbody\r\n\r\n## Comments\r\n\r\n\
         ### ann · 2026-01-02T03:04:05Z\r\n\r\ntwo\r\nlines\r\n"
    );
    assert_eq!(tracker.task(&bench.id(1)).await.unwrap().comments[0].body, "two\nlines");
}

#[tokio::test]
async fn a_mistake_is_reported_with_its_line_and_breaks_nothing_else() {
    let bench = Bench::files();
    bench.write("1-good.md", "---\ntitle: good\n---\n");
    for (name, text) in [
        ("2.md", "# Just Markdown\n"),
        ("3.md", "---\ntitle: no end\n"),
        ("4.md", "---\nlabels: [a]\n---\n"),
        ("5.md", "---\ntitle: x\npriority: high\n---\n"),
        ("6.md", "---\ntitle: x\n\nstate: done\n---\n"),
        ("7.md", "---\ntitle: x\nlabels:\n  - a\n  - \"\"\n---\n"),
        ("8.md", "---\ntitle: x\nblockedBy: [1, one]\n---\n"),
        ("9.md", "---\ntitle: x\nlabels: [a\n---\n"),
        ("10.md", "---\ntitle: x\ntitle: y\n---\n"),
        ("11.md", "---\n- a\n- b\n---\n"),
        ("12.md", "---\ntitle: x\ncreated: yesterday\n---\n"),
        ("13.md", "---\ntitle: [x]\n---\n"),
        ("14.md", "---\ntitle: x\nblockedBy: {a: 1}\n---\n"),
        ("15.md", ""),
        ("16-twin.md", "---\ntitle: first of two\n---\n"),
        ("16-twin-two.md", "---\ntitle: second of two\n---\n"),
        ("17.md", "---\ntitle: waits for nobody\nblockedBy: 99\n---\n"),
        ("18.md", "---\ntitle: waits for 19\nblockedBy: [19]\n---\n"),
        ("19.md", "---\ntitle: waits for 18\nblockedBy: [18]\n---\n"),
        ("20.md", "---\ntitle: waits for a broken one\nblockedBy: [\"#5\", my-app#1]\n---\n"),
        ("nameless.md", "---\ntitle: x\n---\n"),
        ("README.md", "What is here\n"),
    ] {
        bench.write(name, text);
    }
    bench.write("30.md", b"---\ntitle: x\n---\n\nbytes \xff\n");
    bench.write("31.md", format!("---\ntitle: x\n---\n{}", "x".repeat(1 << 20)));
    bench.write("32.md", format!("---\ntitle: x\n---\n\n{}", "x".repeat(65 << 10)));
    symlink(bench.beside("elsewhere.md"), bench.folder().join("33.md")).unwrap();
    fs::create_dir(bench.folder().join("34.md")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        bench.folder().join("35.md").as_str(),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();

    let tracker = bench.local();
    let warnings = tracker.warnings().await.unwrap();
    let by_the_port = Tracker::warnings(&tracker).await.unwrap();
    assert_eq!(by_the_port.len(), warnings.len());
    let first = &warnings[0];
    assert_eq!(by_the_port[0], format!("{}:{}: {}", first.path, first.line, first.what));
    let told: Vec<String> = warnings
        .iter()
        .map(|warning| format!("{}:{}: {}", warning.path.file_name().unwrap(), warning.line, warning.what))
        .collect();
    assert_snapshot!(told.join("\n"), @"
    10.md:3: `title` appears twice; it is already in line 2
    11.md:2: the front matter is not a list of `key: value` lines
    12.md:3: `created` is `yesterday`; write a time such as `2026-01-02T03:04:05Z`, or a day
    13.md:2: `title` has to be a line of text
    14.md:3: `blockedBy` has to be a list of numbers, such as `[3, 4]`
    15.md:1: there is no front matter; begin the file with a line `---`, a line `title: …` and a line `---`
    16-twin.md:1: it has the number of `16-twin-two.md`; give it another one, or it is not seen
    17.md:3: it waits for #99, and there is no such issue; take it out, or it is passed over
    18.md:3: it waits for itself, by way of those that it waits for, so none of them can begin
    19.md:3: it waits for itself, by way of those that it waits for, so none of them can begin
    2.md:1: there is no front matter; begin the file with a line `---`, a line `title: …` and a line `---`
    3.md:1: the front matter has no end; put a line `---` behind it
    30.md:5: this is not UTF-8
    31.md:1: it is longer than 1024 KB; put what is long into a file of its own
    32.md:4: a body may have 64 KB, and this has 65 KB; put what is long into a file
    33.md:1: it is a link, and links are not followed here
    34.md:1: it is not a plain file
    35.md:1: it is not a plain file
    4.md:1: there is no `title` in the front matter
    5.md:3: `priority` is `high`; it has to be a whole number, and higher is done first
    6.md:4: `state` is `done`; it can be `open` or `closed`
    7.md:5: a label cannot be empty
    8.md:3: `blockedBy` has `one`, which is not the number of an issue
    9.md:3: this is not YAML: unclosed bracket '['
    nameless.md:1: its name has no number; call it by one that is free, such as `12-what-it-is-about.md`
    ");
    let titles: Vec<String> = bench.titles(&tracker).await.into_iter().collect();
    assert_eq!(
        titles,
        [
            "good",
            "second of two",
            "waits for 18",
            "waits for 19",
            "waits for a broken one",
            "waits for nobody"
        ]
    );
    let blocked = tracker.task(&bench.id(20)).await.unwrap().facts.blocked_by;
    assert_eq!(blocked, [bench.id(1), bench.id(5)].into(), "a broken one is not known to be done");
    assert_eq!(tracker.task(&bench.id(17)).await.unwrap().facts.blocked_by, [].into());
    let broken = tracker.task(&bench.id(5)).await.unwrap_err();
    assert!(
        matches!(&broken, TrackerError::Refused { why } if why.contains("5.md`, line 3: `priority`")),
        "{broken}"
    );
    assert_eq!(
        tracker.create(&bench.new_task("New")).await.unwrap(),
        bench.id(36),
        "no number is used twice"
    );

    bench.write("5.md", "---\ntitle: mended\n---\n");
    assert_eq!(tracker.task(&bench.id(5)).await.unwrap().facts.title, "mended");
}

#[tokio::test]
async fn a_file_that_cannot_be_edited_cleanly_is_left_alone() {
    let bench = Bench::files();
    let (tracker, id) = (bench.local(), bench.id(1));
    for (text, edit) in [
        ("---\n{title: x, other: 1}\n---\n", TaskEdit { priority: Some(1), ..TaskEdit::default() }),
        (
            "---\ntitle: x\nlabels: &all [a]\nothers: *all\n---\n",
            TaskEdit { add_labels: ["b".into()].into(), ..TaskEdit::default() },
        ),
    ] {
        bench.write("1.md", text);
        let refused = tracker.edit(&id, &edit).await.unwrap_err().to_string();
        assert!(refused.contains("1.md` is written in a way that cannot be edited"), "{refused}");
        assert_eq!(bench.read("1.md"), text);
    }
}

#[tokio::test]
async fn no_link_leads_out_of_the_repository() {
    for linked in [".ao", ".ao/issues"] {
        let bench = Bench::files();
        let outside = bench.beside("outside");
        fs::create_dir_all(outside.join("issues")).unwrap();
        fs::write(outside.join("issues/1.md"), "---\ntitle: secret\n---\n").unwrap();
        fs::write(outside.join("1.md"), "---\ntitle: secret\n---\n").unwrap();
        let link = bench.root().join(linked);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&outside, &link).unwrap();

        let tracker = bench.local();
        let made = tracker.create(&bench.new_task("New")).await.unwrap_err().to_string();
        assert!(made.contains("is a link; issues are only kept in a real folder"), "{made}");
        assert!(tracker.task(&bench.id(1)).await.is_err());
        assert!(tracker.close(&bench.id(1)).await.is_err());
        assert_eq!(outside.read_dir_utf8().unwrap().count(), 2);
        assert_eq!(fs::read_to_string(outside.join("issues/1.md")).unwrap(), "---\ntitle: secret\n---\n");
    }
}

#[tokio::test]
async fn an_issue_that_is_a_link_is_neither_read_nor_written() {
    let bench = Bench::files();
    let outside = bench.beside("outside.md");
    fs::write(&outside, "---\ntitle: secret\n---\n").unwrap();
    fs::create_dir_all(bench.folder()).unwrap();
    symlink(&outside, bench.folder().join("1.md")).unwrap();
    // A link waits where the new text is written first.
    symlink(&outside, bench.folder().join(".ao-issue.tmp")).unwrap();
    let tracker = bench.local();
    assert!(bench.titles(&tracker).await.is_empty());
    let refused = tracker.close(&bench.id(1)).await.unwrap_err().to_string();
    assert!(refused.contains("it is a link"), "{refused}");
    tracker.create(&bench.new_task("New")).await.unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "---\ntitle: secret\n---\n");
    assert_eq!(bench.names(), ["1.md", "2-new.md"]);
}

#[tokio::test]
async fn the_number_of_a_deleted_issue_does_not_come_back() {
    let bench = Bench::files();
    for n in 1..=2 {
        bench.local().create(&bench.new_task("One")).await.unwrap();
        fs::remove_file(bench.folder().join(format!("{n}-one.md"))).unwrap();
    }
    assert_eq!(bench.local().create(&bench.new_task("Three")).await.unwrap(), bench.id(3));
    // Another branch has brought more.
    bench.write("10-theirs.md", "---\ntitle: theirs\n---\n");
    assert_eq!(bench.local().create(&bench.new_task("Next")).await.unwrap(), bench.id(11));
}

#[tokio::test]
async fn nothing_is_made_before_there_is_an_issue() {
    let bench = Bench::files();
    let tracker = bench.local();
    assert!(bench.titles(&tracker).await.is_empty());
    assert_eq!(tracker.warnings().await.unwrap(), []);
    assert!(tracker.changed(&bench.project(), Timestamp(0), None).await.unwrap().tasks.is_empty());
    assert_eq!(bench.root().read_dir_utf8().unwrap().count(), 0);
}

#[tokio::test]
async fn an_edit_by_hand_between_two_of_ours_is_kept() {
    let bench = Bench::files();
    let tracker = bench.local();
    let id = tracker.create(&NewTask { labels: ["a".into()].into(), ..bench.new_task("One") }).await.unwrap();
    let text =
        bench.read("1-one.md").replace("labels: [a]", "labels: [a, by-hand]").replace("One", "By hand");
    bench.write("1-one.md", text);
    tracker.edit(&id, &TaskEdit { add_labels: ["b".into()].into(), ..TaskEdit::default() }).await.unwrap();
    let seen = tracker.task(&id).await.unwrap();
    assert_eq!(seen.facts.title, "By hand");
    assert_eq!(seen.facts.labels, ["a".into(), "b".into(), "by-hand".into()].into());
}

#[tokio::test]
async fn issues_in_the_store_leave_the_repository_alone() {
    let bench = Bench::store();
    let tracker = bench.local();
    tracker.create(&bench.new_task("One")).await.unwrap();
    assert_eq!(bench.root().read_dir_utf8().unwrap().count(), 0);
    let keys: Vec<String> = bench.records.keys().into_iter().map(|(_, key)| key).collect();
    assert_eq!(
        keys,
        ["my-app/changed/00000001767323045000/0000000001", "my-app/counter", "my-app/open/0000000001"]
    );
}
