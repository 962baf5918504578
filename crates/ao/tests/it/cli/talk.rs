//! Commands and what they make of the daemon's answers.

use ao_api::{MessageState, Problem, Sessions, Spawned};
use insta::assert_snapshot;
use serde_json::json as value;

use super::standin::{Reply, StandIn, event, json, problem};
use super::wire::{session, tree};

fn spawned(name: &str, created: bool) -> Reply {
    json(&Spawned { session: session(name, "queued"), created })
}

fn no_projects(daemon: &StandIn) {
    daemon.on("GET /api/projects", json(&value!({"projects": []})));
}

#[test]
fn a_new_session_is_asked_for_as_it_was_written() {
    let daemon = StandIn::new();
    daemon.on("POST /api/sessions", spawned("my-app-fix-login", true));
    let said = daemon.ao(&["new", "Fix login validation bug", "--project", "my-app", "--issue", "123"]);
    assert_snapshot!(said, @"
    exit 0
    -- stdout --
    my-app-fix-login: queued, on branch ao/my-app-fix-login
    ");
    let asked = &daemon.calls("POST")[0].body;
    assert_eq!(asked["projectId"], "my-app");
    assert_eq!(asked["issue"], "123");
    assert_eq!(asked["title"], "Fix login validation bug");
}

#[test]
fn the_project_is_that_of_the_folder_if_none_is_named() {
    let daemon = StandIn::new();
    let here = daemon.home.path().canonicalize().unwrap();
    daemon.on(
        "GET /api/projects",
        json(&value!({"projects": [{
            "id": "here", "path": here, "defaultBranch": "main", "agent": "a", "runtime": "process",
            "workspace": "worktree", "liveSessions": 0, "repo": null, "config": null, "maxParallelAgents": null,
        }]})),
    );
    daemon.on("POST /api/sessions", spawned("issue-42", true));
    daemon.ao(&["spawn", "42", "--agent", "codex", "--claim-pr", "7", "--prompt", "Only the parser"]);
    let asked = &daemon.calls("POST")[0].body;
    assert_eq!(asked["projectId"], "here");
    assert_eq!(asked["agent"], "codex");
    assert_eq!(asked["claimPr"], 7);
    assert_eq!(asked["prompt"], "Only the parser");
}

#[test]
fn many_issues_are_gone_through_though_one_fails() {
    let daemon = StandIn::new();
    no_projects(&daemon);
    daemon
        .on("POST /api/sessions", spawned("issue-101", true))
        .on(
            "POST /api/sessions",
            problem(&Problem::new(409, "closed", "issue 102 is closed").hint("reopen it")),
        )
        .on("POST /api/sessions", spawned("issue-103", false));
    assert_snapshot!(daemon.ao(&["batch-spawn", "101", "102", "103", "101"]), @"
    exit 1
    -- stdout --
    101 → issue-101: queued, on branch ao/issue-101
    102 → failed: issue 102 is closed; reopen it
    103 → issue 123 has a session already: issue-103, queued
    -- stderr --
    error: 1 of 3 issues got no session
    ");
}

/// Somebody who is called `app-1`, and can be meant by `app`.
fn one_session() -> StandIn {
    let daemon = StandIn::new();
    daemon.on("GET /api/sessions/app", json(&session("app-1", "working")));
    daemon
}

fn sent(state: MessageState, reason: Option<&str>) -> Reply {
    json(&value!({
        "sessionId": "ses_1", "sessionName": "app-1",
        "message": {"number": 3, "from": "anna", "state": state, "reason": reason},
    }))
}

#[test]
fn a_message_that_was_taken_is_said_to_be() {
    let daemon = one_session();
    daemon.on("POST /api/sessions/ses_app-1/message", sent(MessageState::Accepted, None));
    assert_snapshot!(daemon.ao(&["send", "app", "-f and `ticks`", "--interrupt"]), @"
    exit 0
    -- stdout --
    app-1 has accepted it (message 3)
    ");
    let asked = &daemon.calls("POST")[0].body;
    assert_eq!(asked["content"], "-f and `ticks`");
    assert_eq!(asked["interrupt"], true);
    assert_eq!(asked["waitSeconds"], 120);
}

/// acceptance: M2
#[test]
fn a_message_that_was_given_up_is_an_error_of_its_own() {
    let daemon = one_session();
    daemon.on(
        "POST /api/sessions/ses_app-1/message",
        sent(MessageState::Failed, Some("the draft was never submitted")),
    );
    assert_snapshot!(daemon.ao(&["send", "app", "hello"]), @"
    exit 7
    -- stderr --
    error: not accepted: the draft was never submitted
    hint: the outbox of `app-1` keeps the text as message 3; `ao status app-1` shows it
    hint: `ao attach app-1` shows what the agent's terminal looks like
    ");
}

#[test]
fn a_message_that_still_waits_is_asked_for_again_under_the_same_key() {
    let daemon = one_session();
    daemon.on("POST /api/sessions/ses_app-1/message", sent(MessageState::Queued, Some("a dialog is open")));
    assert_snapshot!(daemon.ao(&["send", "app", "hello", "--timeout", "1"]), @"
    exit 8
    -- stderr --
    error: still queued for `app-1`: a dialog is open
    hint: it stays in the outbox and will be delivered
    ");
    let calls = daemon.calls("POST");
    assert!(calls.len() > 1, "{calls:?}");
    assert!(calls.iter().all(|call| call.body["key"] == calls[0].body["key"]), "{calls:?}");
    // One more message, even with the same words, is another one.
    daemon.ao(&["send", "app", "hello", "--no-wait"]);
    let last = daemon.calls("POST").pop().unwrap();
    assert_ne!(last.body["key"], calls[0].body["key"]);
    assert!(last.body.get("waitSeconds").is_none(), "{last:?}");
}

#[test]
fn a_message_comes_from_a_file_too_and_an_empty_one_is_not_sent() {
    let daemon = one_session();
    daemon.on("POST /api/sessions/ses_app-1/message", sent(MessageState::Accepted, None));
    std::fs::write(daemon.home.path().join("review.md"), "line one\nline two\n").unwrap();
    daemon.ao(&["send", "app", "--file", "review.md"]);
    assert_eq!(daemon.calls("POST")[0].body["content"], "line one\nline two\n");
    assert_snapshot!(daemon.ao(&["send", "app", "-"]), @"
    exit 1
    -- stderr --
    error: the message is empty, so nothing was sent
    ");
    assert_eq!(daemon.calls("POST").len(), 1);
}

/// The same session with a workspace that is there.
fn in_folder(mut session: ao_api::Session, daemon: &StandIn) -> ao_api::Session {
    if let Some(tree) = &mut session.workspace {
        tree.path = daemon.home.path().display().to_string();
    }
    session
}

#[test]
fn a_stopped_session_says_where_its_work_is() {
    let daemon = StandIn::new();
    let session = |name: &str, state: &str| in_folder(session(name, state), &daemon);
    daemon
        .on("GET /api/sessions/app", json(&session("app-1", "working")))
        .on("POST /api/sessions/ses_app-1/stop", json(&value!(null)))
        .on("GET /api/events?session=ses_app-1", Reply::Events(vec![event(8, "app-1")]))
        .on("GET /api/sessions/ses_app-1", json(&session("app-1", "stopping")))
        .on("GET /api/sessions/ses_app-1", json(&session("app-1", "stopped")));
    assert_snapshot!(daemon.ao(&["stop", "app", "--why", "enough"]), @"
    exit 0
    -- stdout --
    app-1: stopped; its work is kept in [home] (branch ao/app-1)
    ");
    assert_eq!(daemon.calls("POST")[0].body["why"], "enough");
}

#[test]
fn all_sessions_of_a_project_are_stopped_and_no_others() {
    let daemon = StandIn::new();
    let session = |name: &str, state: &str| in_folder(session(name, state), &daemon);
    let mut other = session("docs-1", "working");
    other.project_id = "docs".into();
    let sessions = vec![session("app-1", "working"), session("app-2", "stopped"), other];
    daemon
        .on("GET /api/sessions", json(&Sessions { sessions, pulls: vec![], seq: 7 }))
        .on("GET /api/sessions/ses_app-1", json(&session("app-1", "idle")))
        .on("GET /api/sessions/ses_app-1", json(&session("app-1", "stopped")))
        .on("GET /api/events?session=ses_app-1", Reply::Events(vec![]))
        .on("POST /api/sessions/ses_app-1/stop", json(&value!({})))
        .on("GET /api/projects", json(&value!({"projects": []})));
    assert_snapshot!(daemon.ao(&["stop", "--project", "my-app", "--all"]), @"
    exit 0
    -- stdout --
    app-1: stopped; its work is kept in [home] (branch ao/app-1)
    ");
    assert_eq!(daemon.calls("POST").len(), 1);
    assert_snapshot!(daemon.ao(&["stop", "--project", "my-ap", "--all"]), @"
    exit 5
    -- stderr --
    error: there is no project `my-ap`
    ");
}

#[test]
fn a_kill_goes_on_after_one_that_fails_and_does_not_wait_for_ever() {
    let daemon = StandIn::new();
    daemon
        .on("GET /api/sessions/slow", json(&session("slow", "working")))
        .on("POST /api/sessions/ses_slow/stop", json(&value!(null)))
        .on("GET /api/events?session=ses_slow", Reply::Events(vec![]))
        .on("GET /api/sessions/ses_slow", json(&session("slow", "stopping")))
        .on("GET /api/sessions/app", json(&session("app-1", "stopped")))
        .on("GET /api/sessions/ses_app-1", json(&session("app-1", "stopped")))
        .on("GET /api/events?session=ses_app-1", Reply::Events(vec![]))
        .on("POST /api/workspaces/cleanup", json(&value!({"dryRun": false, "freedBytes": 0, "trees": []})));
    assert_snapshot!(daemon.ao(&["session", "kill", "slow", "app", "--timeout", "0.3"]), @"
    exit 8
    -- stdout --
    app-1: stopped
    its workspace is already gone
    -- stderr --
    error: `slow` has not ended in time
    hint: it is still being stopped; `ao explain slow` shows what it waits for
    error: not all of 2 sessions were killed
    ");
}

/// acceptance: W3
#[test]
fn a_kill_tells_what_is_kept_and_why() {
    let daemon = StandIn::new();
    daemon
        .on("GET /api/sessions/app", json(&session("app-1", "stopped")))
        .on("GET /api/sessions/ses_app-1", json(&session("app-1", "stopped")))
        .on("GET /api/events?session=ses_app-1", Reply::Events(vec![]))
        .on(
            "POST /api/workspaces/cleanup",
            json(&value!({"dryRun": false, "freedBytes": 0, "trees": [{
                "sessionId": "ses_app-1", "sessionName": "app-1", "projectId": "my-app", "path": tree("app-1").path,
                "bytes": 5000, "ignoredBytes": 0, "decision": "keep", "reasons": ["it is the main worktree"],
            }]})),
        );
    assert_snapshot!(daemon.ao(&["session", "kill", "app"]), @"
    exit 0
    -- stdout --
    app-1: stopped
    SESSION  SIZE    IGNORED  DECISION  WHERE
    app-1    5.0 kB  0 B      kept      /w/my-app/.worktrees/app-1
      it is the main worktree

    freed 0 B
    -- stderr --
    note: its work is kept in /w/my-app/.worktrees/app-1 (branch ao/app-1)
    ");
    assert_eq!(daemon.calls("POST")[0].body["session"], "ses_app-1");
}

#[test]
fn any_call_can_be_made_with_and_without_the_beginning_of_its_path() {
    let daemon = StandIn::new();
    daemon.on("POST /api/sessions/a-b/message", json(&value!({"ok": true})));
    let said = daemon.ao(&["api", "POST", "/sessions/a-b/message", "-d", r#"{"content":"…"}"#]);
    assert_snapshot!(said, @r#"
    exit 0
    -- stdout --
    {"ok":true}
    "#);
    assert_eq!(daemon.calls("POST")[0].body["content"], "…");
    daemon.on("GET /healthz", json(&value!({"status": "ok"})));
    assert_snapshot!(daemon.ao(&["api", "get", "/healthz"]), @r#"
    exit 0
    -- stdout --
    {"status":"ok"}
    "#);
    assert_snapshot!(daemon.ao(&["api", "GET", "/api/nowhere"]), @r#"
    exit 1
    -- stdout --
    {"type":"urn:ao:nothing-here","title":"nobody said what to answer to GET /api/nowhere","status":404}
    -- stderr --
    error: nobody said what to answer to GET /api/nowhere
    "#);
    assert_snapshot!(daemon.ao(&["api", "POST", "/x", "-d", "{"]), @"
    exit 1
    -- stderr --
    error: the body is not valid JSON: EOF while parsing an object at line 1 column 1
    ");
}

#[test]
fn json_is_what_the_daemon_said_with_what_is_new_to_us_too() {
    let daemon = StandIn::new();
    daemon.on("GET /api/sessions", Reply::Json(200, r#"{"sessions":[],"seq":7,"news":1}"#.into()));
    assert_snapshot!(daemon.ao(&["status", "--json"]), @r#"
    exit 0
    -- stdout --
    {"sessions":[],"seq":7,"news":1}
    "#);
}

/// The same name may mean somebody else by the time that a message is handed over again.
#[test]
fn a_message_never_goes_to_a_second_session() {
    let daemon = one_session();
    daemon
        .on("GET /api/sessions/app", json(&session("app-2", "working")))
        .on("POST /api/sessions/ses_app-1/message", Reply::Bytes(vec![]))
        .on("POST /api/sessions/ses_app-1/message", sent(MessageState::Queued, None))
        .on("POST /api/sessions/ses_app-1/message", sent(MessageState::Accepted, None));
    let said = daemon.ao(&["send", "app", "hello"]);
    assert!(said.starts_with("exit 0"), "{said}");
    let calls = daemon.calls("POST");
    assert_eq!(calls.len(), 3, "{calls:?}");
    assert!(calls.iter().all(|call| call.line.contains("/ses_app-1/")), "{calls:?}");
}

#[test]
fn events_up_to_now_are_those_of_the_session_that_was_asked_for() {
    let daemon = StandIn::new();
    let sessions = vec![session("app-1", "idle")];
    daemon
        .on("GET /api/sessions/app", json(&session("app-1", "idle")))
        .on("GET /api/sessions", json(&Sessions { sessions, pulls: vec![], seq: 9 }))
        .on(
            "GET /api/events?after=5",
            Reply::Events(vec![event(6, "app-2"), event(7, "app-1"), event(9, "app-2"), event(10, "app-1")]),
        );
    let said = daemon.ao(&["events", "--session", "app", "--after", "5", "--json"]);
    assert!(
        said.contains(r#""seq":7"#) && !said.contains(r#""seq":6"#) && !said.contains(r#""seq":10"#),
        "{said}"
    );
    assert!(said.starts_with("exit 0"), "{said}");
}

/// A daemon that is replaced in the middle of it ends the stream.
#[test]
fn events_up_to_now_are_all_of_them_though_the_stream_ends_early() {
    let daemon = StandIn::new();
    let sessions = vec![session("app-1", "idle")];
    let half = format!("data: {}\n\n", event(6, "app-1"));
    let half = format!(
        "HTTP/1.1 200 so\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{half}",
        half.len()
    );
    daemon
        .on("GET /api/sessions", json(&Sessions { sessions, pulls: vec![], seq: 7 }))
        .on("GET /api/events?after=5", Reply::Bytes(half.into_bytes()))
        .on("GET /api/events?after=6", Reply::Events(vec![event(7, "app-1")]));
    let said = daemon.ao(&["events", "--after", "5", "--json"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert_eq!(said.matches(r#""seq":6"#).count(), 1, "{said}");
    assert_eq!(said.matches(r#""seq":7"#).count(), 1, "{said}");
}
