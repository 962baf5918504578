//! Waiting for a state.

use std::time::{Duration, Instant};

use ao_api::Problem;
use ao_api::client::Client;
use insta::assert_snapshot;

use super::standin::{Reply, StandIn, event, json, problem};
use super::wire::session;

const EVENTS: &str = "GET /api/events?session=ses_app-1";
const NAMED: &str = "GET /api/sessions/app";
const BY_ID: &str = "GET /api/sessions/ses_app-1";

/// acceptance: N2
#[test]
fn a_state_that_is_there_already_is_not_waited_for() {
    let daemon = StandIn::new();
    daemon.on(EVENTS, Reply::Events(vec![]));
    daemon.on(NAMED, json(&session("app-1", "idle"))).on(BY_ID, json(&session("app-1", "idle")));
    let began = Instant::now();
    let said = daemon.ao(&["wait", "app", "--for", "idle", "--timeout", "30"]);
    assert!(said.starts_with("exit 0\n-- stdout --\napp-1: idle for "), "{said}");
    assert!(began.elapsed() < Duration::from_secs(10));
}

/// acceptance: N2
#[test]
fn a_state_is_seen_when_it_comes_and_not_before() {
    let daemon = StandIn::new();
    daemon
        .on(EVENTS, Reply::Events(vec![event(1, "app-1")]))
        .on(NAMED, json(&session("app-1", "working")))
        .on(BY_ID, json(&session("app-1", "working")))
        .on(BY_ID, json(&session("app-1", "needs_input")));
    let said = daemon.ao(&["wait", "app", "--for", "idle,needs_input", "--timeout", "30s"]);
    assert!(said.starts_with("exit 0\n-- stdout --\napp-1: needs_input for "), "{said}");
    assert_eq!(daemon.calls(BY_ID).len(), 2, "asked once before and once after the event");
}

/// acceptance: N2
#[test]
fn each_way_not_to_get_there_has_its_own_exit_code() {
    let daemon = StandIn::new();
    daemon.on(EVENTS, Reply::Events(vec![]));
    daemon.on(NAMED, json(&session("app-1", "working"))).on(BY_ID, json(&session("app-1", "working")));
    let said = daemon.ao(&["wait", "app", "--for", "idle", "--timeout", "0.3"]);
    assert!(
        said.starts_with("exit 8\n-- stderr --\nerror: idle was not reached in time; app-1: working for "),
        "{said}"
    );

    let daemon = StandIn::new();
    daemon.on(EVENTS, Reply::Events(vec![]));
    daemon.on(NAMED, json(&session("app-1", "stopped"))).on(BY_ID, json(&session("app-1", "stopped")));
    let said = daemon.ao(&["wait", "app", "--for", "idle"]);
    assert!(said.starts_with("exit 1\n"), "{said}");
    assert!(said.contains("error: `app-1` is stopped, so idle cannot come"), "{said}");

    let daemon = StandIn::new();
    let unknown = Problem::new(404, "unknown-session", "there is no session `app`");
    daemon.on(NAMED, problem(&unknown));
    assert_snapshot!(daemon.ao(&["wait", "app", "--for", "idle"]), @"
    exit 5
    -- stderr --
    error: there is no session `app`
    ");
}

#[test]
fn a_daemon_that_never_answers_does_not_outlast_the_limit() {
    let daemon = StandIn::new();
    daemon.on(NAMED, Reply::Silence);
    let said = daemon.ao(&["wait", "app", "--for", "idle", "--timeout", "0.3"]);
    assert!(said.starts_with("exit 8\n"), "{said}");

    let daemon = StandIn::new();
    daemon.on(NAMED, json(&session("app-1", "working"))).on(EVENTS, Reply::Silence);
    let said = daemon.ao(&["wait", "app", "--for", "idle", "--timeout", "0.3"]);
    assert!(said.starts_with("exit 8\n"), "{said}");
}

#[test]
fn a_stream_that_ends_is_taken_up_again() {
    let daemon = StandIn::new();
    let ends = b"HTTP/1.1 200 so\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\n\r\n".to_vec();
    daemon
        .on(EVENTS, Reply::Bytes(ends))
        .on(EVENTS, Reply::Events(vec![]))
        .on(NAMED, json(&session("app-1", "working")))
        .on(BY_ID, json(&session("app-1", "working")))
        .on(BY_ID, json(&session("app-1", "idle")));
    let said = daemon.ao(&["wait", "app", "--for", "idle", "--timeout", "30"]);
    assert!(said.starts_with("exit 0\n"), "{said}");
}

/// A session that has ended no longer comes before older ones whose names begin the same way.
#[test]
fn a_name_is_asked_for_once_and_may_mean_several_afterwards() {
    let daemon = StandIn::new();
    let ambiguous = Problem::new(409, "ambiguous-session", "`app` could be any of 2 sessions");
    daemon
        .on(EVENTS, Reply::Events(vec![event(1, "app-1")]))
        .on(NAMED, json(&session("app-1", "working")))
        .on(NAMED, problem(&ambiguous))
        .on(BY_ID, json(&session("app-1", "working")))
        .on(BY_ID, json(&session("app-1", "stopped")));
    let said = daemon.ao(&["wait", "app", "--for", "stopped", "--timeout", "30"]);
    assert!(said.starts_with("exit 0\n-- stdout --\napp-1: stopped"), "{said}");
}

#[test]
fn a_name_that_no_address_can_hold_is_unknown_like_any_other() {
    let daemon = StandIn::new();
    let unknown = Problem::new(404, "unknown-session", "there is no session `no such`");
    daemon.on("GET /api/sessions/no%20such", problem(&unknown));
    let said = daemon.ao(&["wait", "no such", "--for", "idle", "--timeout", "30"]);
    assert!(said.starts_with("exit 5\n"), "{said}");
}

#[tokio::test]
async fn a_name_in_a_question_stays_a_name() {
    let daemon = StandIn::new();
    daemon.on("GET /api/events?after=7&session=a%26after%3D0", Reply::Events(vec![event(8, "a")]));
    let client = Client::socket(daemon.home.path().join(".local/share/ao/ao.sock"));
    let mut events = client.events(Some(7), Some("a&after=0")).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().seq, 8);
    // Not the terminal of `a`, which a `/` or a `?` in the name would make of it.
    let refused = client.terminal("a/terminal?x", "columns=80&rows=24").await.unwrap_err();
    assert!(refused.to_string().contains("/api/sessions/a%2Fterminal%3Fx/terminal?columns=80"), "{refused}");
}
