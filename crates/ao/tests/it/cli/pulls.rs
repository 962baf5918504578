//! `ao pr` and `ao review`, with somebody in the daemon's place.

use std::path::Path;
use std::process::Command;

use ao::show::{self, PullParts};
use ao_api::{
    Commented, MergeDone, Problem, PullChecks, PullMergeability, PullReview, PullStatus, Pulls, Reviewed,
};
use insta::assert_snapshot;
use serde_json::{Value, json as value};

use super::standin::{StandIn, json, problem};
use super::wire::{canvas, plain, pull, session};

#[test]
fn pull_requests_are_listed_one_a_line() {
    let mut draft = pull(8).pull;
    (draft.draft, draft.checks, draft.review, draft.session) =
        (true, PullChecks::None, PullReview::None, None);
    let mut conflict = pull(9).pull;
    (conflict.mergeable, conflict.checks, conflict.review) =
        (PullMergeability::Conflict, PullChecks::Pending, PullReview::Approved);
    let pulls = [pull(7).pull, draft, conflict];
    assert_snapshot!(plain(&show::pulls(&pulls, canvas(100))), @"
    PR  STATE     CHECKS   REVIEW             SESSION  AGE  BRANCH    TITLE
    !7  open      failed   changes requested  app-1    10m  ao/app-1  Remember the user
    !8  draft     -        -                  -        10m  ao/app-1  Remember the user
    !9  conflict  pending  approved           app-1    10m  ao/app-1  Remember the user
    ");
    assert_snapshot!(plain(&show::pulls(&pulls, canvas(56))), @"
    PR  STATE     CHECKS   REVIEW             AGE  TITLE
    !7  open      failed   changes requested  10m  Remember…
    !8  draft     -        -                  10m  Remember…
    !9  conflict  pending  approved           10m  Remember…
    ");
}

#[test]
fn a_pull_request_is_shown_with_everything() {
    assert_snapshot!(plain(&show::pull(&pull(7), PullParts::default(), canvas(90))), @"
    my-app!7 Remember the user
      open  ao/app-1 → main  by app-1 (agent), 2h ago, at 4f1c2d3e5a6b
      session app-1
      labels bug
      changes 1 file, +3 -1
      not yet: the check test has failed
      not yet: anna asked for changes

      Keeps the user over a restart.

      - with a test
      ^[[2Jand more

    Stack
      stands on my-app!5
      my-app!8 is stacked on it

    Commits
      4f1c2d3e5a6b  50m  app-1  login: remember the user

    Checks
      failed  test  42s  run_1  login::remembers and 2 more
      passed  lint  42s  run_2

    Reviews
      r1 approved anna (member), 20m ago, stale: given on 111111112222
      r2 changes requested anna (member), 20m ago
        Please add a test for an empty file.

    Threads
      t1 src/login.rs:4
        │     let user = load();
        c1 anna (member), 20m ago
          What if there is none?
        c2 app-1 (agent), 20m ago
          Then it is new.
      1 resolved thread; `--all` shows them
    ");
    let parts = PullParts { all: true, only_comments: true };
    assert_snapshot!(plain(&show::pull(&pull(7), parts, canvas(60))), @"
    my-app!7 Remember the user
      open  ao/app-1 → main  by app-1 (agent), 2h ago, at 4f1c2d3e5a6b
      session app-1
      labels bug
      changes 1 file, +3 -1
      not yet: the check test has failed
      not yet: anna asked for changes

    Reviews
      r1 approved anna (member), 20m ago, stale: given on 111111112222
        Fine
      r2 changes requested anna (member), 20m ago
        Please add a test for an empty file.

    Threads
      t1 src/login.rs:4
        │     let user = load();
        c1 anna (member), 20m ago
          What if there is none?
        c2 app-1 (agent), 20m ago
          Then it is new.
      t2 src/login.rs outdated resolved by anna
        │     let user = load();
        c3 anna (member), 20m ago
          Typo
    ");
}

#[test]
fn a_pull_request_that_can_be_merged_says_so() {
    let mut clean = pull(7);
    clean.blockers.clear();
    let shown = plain(&show::pull(&clean, PullParts::default(), canvas(90)));
    assert!(shown.contains("ready to merge"), "{shown}");
    clean.pull.state = PullStatus::Merged;
    (clean.merged_as, clean.merged_by) = (Some("feedfacecafe".into()), Some("anna".into()));
    let shown = plain(&show::pull(&clean, PullParts::default(), canvas(90)));
    assert!(shown.contains("merged as feedfacecafe by anna") && !shown.contains("ready to merge"), "{shown}");
}

#[test]
fn the_list_asks_for_what_is_wanted() {
    let daemon = StandIn::new();
    let line = "GET /api/pulls?project=my-app&state=all&session=app-1&author=app-1&label=bug&limit=1";
    // The program goes by the clock on the wall, not by that of the other tests here.
    let mut old = pull(7).pull;
    old.updated_at = ao_api::Timestamp::now() - jiff::SignedDuration::from_hours(73);
    daemon.on(line, json(&Pulls { pulls: vec![old], total: Some(4) }));
    let args = "pr list -p my-app --state all --session app-1 --author app-1 --label bug --limit 1";
    let said = daemon.ao(&args.split(' ').collect::<Vec<_>>());
    assert_snapshot!(said, @"
    exit 0
    -- stdout --
    PR  STATE  CHECKS  REVIEW             SESSION  AGE  BRANCH    TITLE
    !7  open   failed  changes requested  app-1    3d   ao/app-1  Remember the user
    -- stderr --
    note: 1 of 4 are shown; `--limit` shows more
    ");
}

/// A checkout with a branch that has one commit more than `main`.
fn checkout(home: &Path) -> std::path::PathBuf {
    let folder = home.join("app");
    std::fs::create_dir(&folder).unwrap();
    git(&folder, &["init", "-q", "-b", "main"]);
    git(&folder, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&folder, &["switch", "-q", "-c", "fix; rm -rf $HOME".replace([' ', ';'], "_").as_str()]);
    folder
}

fn git(folder: &Path, args: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .status()
        .unwrap();
    assert!(status.success(), "{args:?}");
}

fn projects(path: &Path) -> Value {
    value!({"projects": [{
        "id": "my-app", "path": path.canonicalize().unwrap(), "defaultBranch": "main", "agent": "a",
        "runtime": "process", "workspace": "worktree", "liveSessions": 0, "repo": null, "config": null,
        "maxParallelAgents": null,
    }]})
}

#[test]
fn the_branch_one_stands_on_is_proposed() {
    let daemon = StandIn::new();
    let folder = checkout(daemon.home.path());
    daemon.on("GET /api/projects", json(&projects(&folder)));
    daemon.on("POST /api/pulls", json(&pull(7)));
    let create = |args: &[&str]| {
        let output =
            daemon.home.ao(&[&["pr", "create"], args].concat()).current_dir(&folder).output().unwrap();
        daemon.home.told(&output)
    };
    assert_snapshot!(create(&[]), @"
    exit 1
    -- stderr --
    error: there is nothing to merge: `fix__rm_-rf_$HOME` has no commits that `main` lacks
    hint: commit something first, or choose another base with `--base`
    ");
    std::fs::write(folder.join("a file"), "x").unwrap();
    git(&folder, &["add", "."]);
    git(&folder, &["commit", "-q", "-m", "login: remember `$(the)` user\n\nBecause it forgot."]);
    std::fs::write(folder.join("b"), "x").unwrap();
    assert_snapshot!(create(&["--draft", "--label", "bug"]), @"
    exit 0
    -- stdout --
    my-app!7: Remember the user
    -- stderr --
    note: 1 file with uncommitted changes, which are not included
    note: ao/app-1 → main; `ao pr checks my-app!7 --watch` waits for its checks
    ");
    assert_eq!(
        daemon.calls("POST").pop().unwrap().body,
        value!({"projectId": "my-app", "head": "fix__rm_-rf_$HOME", "base": null,
            "title": "login: remember `$(the)` user", "body": "Because it forgot.", "draft": true, "labels": ["bug"],
            "session": null})
    );
    let before = daemon.calls("POST").len();
    assert_snapshot!(create(&["--dry-run", "--base", "main"]), @"
    exit 0
    -- stdout --
    login: remember `$(the)` user
    fix__rm_-rf_$HOME → main, 1 commit

    Because it forgot.
    -- stderr --
    note: 1 file with uncommitted changes, which are not included
    ");
    assert_snapshot!(create(&["--head", "main"]), @"
    exit 1
    -- stderr --
    error: `main` is the base branch, so it cannot be merged into itself
    hint: move the work to its own branch: `git switch -c my-change`
    ");
    git(&folder, &["checkout", "-q", "--detach"]);
    assert_snapshot!(create(&[]), @"
    exit 1
    -- stderr --
    error: `[home]/app` has a detached HEAD, so there is no branch to merge
    hint: create one with `git switch -c my-change`, or name one with `--head`
    ");
    assert_eq!(daemon.calls("POST").len(), before, "nothing was proposed by these");
}

/// Its worktree lies elsewhere, and it speaks for itself alone.
#[test]
fn an_agent_proposes_from_its_worktree_with_its_own_token() {
    let daemon = StandIn::new();
    let folder = checkout(daemon.home.path());
    let tree = daemon.home.path().join("trees/one");
    git(&folder, &["worktree", "add", "-q", "-b", "work", tree.to_str().unwrap()]);
    git(&tree, &["commit", "-q", "--allow-empty", "-m", "done"]);
    daemon.on("GET /api/projects", json(&projects(&folder)));
    daemon.on("POST /api/pulls", json(&pull(7)));
    let output = daemon
        .home
        .ao(&["pr", "create", "--json"])
        .current_dir(&tree)
        .envs([("AO_SESSION", "ses_1"), ("AO_ATTEMPT", "2"), ("AO_TOKEN", "secret")])
        .output()
        .unwrap();
    let said = daemon.home.told(&output);
    assert!(said.contains(r#""id":"my-app!7""#) && said.contains(r#""blockers""#), "as it came: {said}");
    let call = daemon.calls("POST").pop().unwrap();
    assert_eq!(call.proof.as_deref(), Some("Bearer ses_1/2/secret"));
    assert_eq!((&call.body["projectId"], &call.body["head"]), (&value!("my-app"), &value!("work")));
}

#[test]
fn a_review_is_pinned_to_the_head_that_was_read() {
    let daemon = StandIn::new();
    daemon.on("GET /api/pulls/my-app%217", json(&pull(7)));
    daemon.on("POST /api/pulls/my-app%217/reviews", json(&Reviewed { id: "r3".into() }));
    assert_snapshot!(daemon.ao(&["pr", "approve", "my-app!7"]), @"
    exit 0
    -- stdout --
    approved my-app!7 at 4f1c2d3e: Remember the user
    ");
    assert_eq!(daemon.calls("POST").pop().unwrap().body["head"], "4f1c2d3e5a6b7c8d9e0f");
    std::fs::write(
        daemon.home.path().join("found.json"),
        r#"[{"path": "b", "line": 1, "side": "old", "body": "gone"}, {"path": "c", "body": "all of it"}]"#,
    )
    .unwrap();
    let args = [
        "pr",
        "review",
        "my-app!7",
        "--request-changes",
        "-b",
        "See below",
        "--at",
        "a.rs:3",
        "-- name it",
        "--at",
        "a.rs:4:old",
        "why",
        "--file",
        "found.json",
    ];
    assert_snapshot!(daemon.ao(&args), @"
    exit 0
    -- stdout --
    changes requested of my-app!7 at 4f1c2d3e, with 4 findings: Remember the user
    ");
    let body = daemon.calls("POST").pop().unwrap().body;
    assert_eq!(
        body["comments"],
        value!([
            {"path": "a.rs", "line": 3, "side": "new", "body": "-- name it"},
            {"path": "a.rs", "line": 4, "side": "old", "body": "why"},
            {"path": "b", "line": 1, "side": "old", "body": "gone"},
            {"path": "c", "line": null, "side": null, "body": "all of it"},
        ])
    );
    assert_eq!((&body["verdict"], &body["body"]), (&value!("request_changes"), &value!("See below")));
    assert_snapshot!(daemon.ao(&["pr", "request-changes", "my-app!7"]), @"
    exit 1
    -- stderr --
    error: the review is empty, so it was not submitted
    hint: describe the changes with `-b`, or comment on lines with `ao pr review --at` or `--file`
    ");
}

#[test]
fn what_was_said_is_said_otherwise_and_marked_as_such() {
    let daemon = StandIn::new();
    let mut edited = pull(7);
    edited.threads[0].comments[0].edited_at = Some(edited.pull.updated_at);
    edited.reviews[1].edited_at = Some(edited.pull.updated_at);
    let shown = plain(&show::pull(&edited, PullParts::default(), canvas(90)));
    assert!(shown.contains("c1 anna (member), 20m ago, edited 10m ago\n"), "{shown}");
    assert!(shown.contains("r2 changes requested anna (member), 20m ago, edited 10m ago\n"), "{shown}");
    daemon.on("PATCH /api/pulls/7/comments/c1?project=p", json(&edited));
    assert_snapshot!(daemon.ao(&["pr", "comment", "7", "--edit", "c1", "- better", "-p", "p"]), @"
    exit 0
    -- stdout --
    c1 on !7 was changed
    ");
    assert_eq!(daemon.calls("PATCH").pop().unwrap().body, value!({"body": "- better"}));
    let said = daemon.ao(&["pr", "comment", "7", "--edit", "c1", "x", "--at", "a:1", "-p", "p"]);
    assert!(said.starts_with("exit 2") && said.contains("cannot be used with"), "{said}");
    let said = daemon.ao(&["pr", "comment", "7", "--edit", "c1", " ", "-p", "p"]);
    assert!(said.starts_with("exit 1"), "{said}");
    assert_eq!(daemon.calls("PATCH").len(), 1);
}

#[test]
fn what_is_said_goes_to_its_place() {
    let daemon = StandIn::new();
    daemon.on("POST /api/pulls/7/comments?project=p", json(&Commented { thread: "t9".into() }));
    daemon.on("POST /api/pulls/7/threads/t9/resolve?project=p", json(&pull(7)));
    let said = |args: &[&str]| daemon.ao(&[&["pr"], args, &["-p", "p"]].concat());
    assert_snapshot!(said(&["comment", "7", "hm", "--at", "src/a b.rs:3", "--old"]), @"
    exit 0
    -- stdout --
    commented on !7 as t9
    ");
    let body = daemon.calls("POST").pop().unwrap().body;
    assert_eq!(
        (&body["path"], &body["line"], &body["side"]),
        (&value!("src/a b.rs"), &value!(3), &value!("old"))
    );
    assert_snapshot!(said(&["reply", "7", "t9", "done", "--resolve"]), @"
    exit 0
    -- stdout --
    answered and resolved: t9 on !7
    ");
    assert_eq!(daemon.calls("POST").pop().unwrap().body, value!({"resolved": true}));
    assert_snapshot!(said(&["resolve", "7", "t9", "--undo"]), @"
    exit 0
    -- stdout --
    t9: open again
    ");
    assert_eq!(daemon.calls("POST").pop().unwrap().body, value!({"resolved": false}));
    assert_snapshot!(said(&["comment", "7", " "]), @"
    exit 1
    -- stderr --
    error: the text is empty, so nothing was sent
    ");
}

#[test]
fn a_merge_says_what_landed_where() {
    let daemon = StandIn::new();
    let mut merged = pull(7);
    merged.pull.state = PullStatus::Merged;
    daemon.on("GET /api/pulls/my-app%217", json(&pull(7)));
    daemon.on(
        "POST /api/pulls/my-app%217/merge",
        json(&MergeDone {
            pull: merged,
            commit: "feedfacecafe0123".into(),
            branch_deleted: true,
            branch_left: None,
        }),
    );
    assert_snapshot!(daemon.ao(&["pr", "merge", "my-app!7", "--squash", "--delete-branch"]), @"
    exit 0
    -- stdout --
    my-app!7 is merged: main is at feedfacecafe now, Remember the user
    -- stderr --
    note: its branch ao/app-1 is deleted
    ");
    assert_eq!(
        daemon.calls("POST").pop().unwrap().body,
        value!({"strategy": "squash", "head": "4f1c2d3e5a6b7c8d9e0f", "deleteBranch": true, "anyway": false})
    );
}

#[test]
fn a_merge_that_is_refused_has_its_own_exit_code() {
    let daemon = StandIn::new();
    daemon.on("GET /api/pulls/my-app%217", json(&pull(7)));
    let moved = Problem::new(409, "head-moved", "its head is not abcd any more").hint("look at it again");
    daemon.on("POST /api/pulls/my-app%217/merge", problem(&moved));
    assert_snapshot!(daemon.ao(&["pr", "merge", "my-app!7", "--head", "abcd"]), @"
    exit 20
    -- stderr --
    error: its head is not abcd any more
    hint: look at it again
    ");
    assert_eq!(daemon.calls("POST").pop().unwrap().body["head"], "abcd");
}

#[test]
fn a_pull_request_is_changed_closed_and_given_away() {
    let daemon = StandIn::new();
    daemon.on("PATCH /api/pulls/7?project=p", json(&pull(7)));
    daemon.on("POST /api/pulls/7/claim?project=p", json(&pull(7)));
    let said = |args: &[&str]| daemon.ao(&[&["pr"], args, &["-p", "p"]].concat());
    let sent = |begin: &str| {
        let mut body = daemon.calls(begin).pop().unwrap().body;
        body.as_object_mut().unwrap().retain(|_, value| *value != value!([]) && !value.is_null());
        body
    };
    assert_snapshot!(said(&["ready", "7"]), @"
    exit 0
    -- stdout --
    my-app!7 is ready to be merged: Remember the user
    ");
    assert_eq!(sent("PATCH"), value!({"draft": false}));
    said(&["close", "7"]);
    assert_eq!(sent("PATCH"), value!({"state": "closed"}));
    said(&["reopen", "7"]);
    assert_eq!(sent("PATCH"), value!({"state": "open"}));
    said(&["edit", "7", "--title", "T", "--add-label", "a,b", "--base", "next"]);
    assert_eq!(sent("PATCH"), value!({"title": "T", "addLabels": ["a", "b"], "base": "next"}));
    assert_snapshot!(said(&["claim", "7", "app-1"]), @"
    exit 0
    -- stdout --
    app-1 owns my-app!7 now
    ");
    assert_eq!(sent("POST"), value!({"session": "app-1"}));
    assert_snapshot!(said(&["release", "7"]), @"
    exit 0
    -- stdout --
    no session owns my-app!7 now
    ");
    assert_eq!(sent("POST"), value!({}));
    assert_snapshot!(said(&["claim", "7"]), @"
    exit 1
    -- stderr --
    error: no session was named
    hint: `ao pr claim PR SESSION`; `ao list` shows all sessions
    ");
}

#[test]
fn a_reviewer_is_set_to_work() {
    let daemon = StandIn::new();
    let spawned = ao_api::Spawned { session: session("app-review-7", "queued"), created: true };
    daemon.on("POST /api/pulls/my-app%217/reviewer", json(&spawned));
    assert_snapshot!(daemon.ao(&["review", "my-app!7", "--agent", "codex", "--prompt", "errors"]), @"
    exit 0
    -- stdout --
    app-review-7 reviews my-app!7
    -- stderr --
    note: `ao attach app-review-7` shows its terminal; its findings become review threads
    ");
    assert_eq!(daemon.calls("POST").pop().unwrap().body, value!({"agent": "codex", "prompt": "errors"}));
}
