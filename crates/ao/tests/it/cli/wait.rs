//! Waiting for a state.

use std::time::{Duration, Instant};

use ao_api::Problem;
use insta::assert_snapshot;

use super::standin::{Reply, StandIn, event, json, problem};
use super::wire::session;

const EVENTS: &str = "GET /api/events?session=app";

/// acceptance: N2
#[test]
fn a_state_that_is_there_already_is_not_waited_for() {
    let daemon = StandIn::new();
    daemon.on(EVENTS, Reply::Events(vec![])).on("GET /api/sessions/app", json(&session("app-1", "idle")));
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
        .on("GET /api/sessions/app", json(&session("app-1", "working")))
        .on("GET /api/sessions/app", json(&session("app-1", "needs_input")));
    let said = daemon.ao(&["wait", "app", "--for", "idle,needs_input", "--timeout", "30s"]);
    assert!(said.starts_with("exit 0\n-- stdout --\napp-1: needs_input for "), "{said}");
    assert_eq!(daemon.calls("GET /api/sessions/app").len(), 2, "asked once before and once after the event");
}

/// acceptance: N2
#[test]
fn each_way_not_to_get_there_has_its_own_exit_code() {
    let daemon = StandIn::new();
    daemon.on(EVENTS, Reply::Events(vec![])).on("GET /api/sessions/app", json(&session("app-1", "working")));
    let said = daemon.ao(&["wait", "app", "--for", "idle", "--timeout", "0.3"]);
    assert!(
        said.starts_with("exit 8\n-- stderr --\nerror: idle did not come in time; app-1: working for "),
        "{said}"
    );

    let daemon = StandIn::new();
    daemon.on(EVENTS, Reply::Events(vec![])).on("GET /api/sessions/app", json(&session("app-1", "stopped")));
    let said = daemon.ao(&["wait", "app", "--for", "idle"]);
    assert!(said.starts_with("exit 1\n"), "{said}");
    assert!(said.contains("error: `app-1` is stopped, so idle cannot come"), "{said}");

    let daemon = StandIn::new();
    let unknown = Problem::new(404, "unknown-session", "there is no session `app`");
    daemon.on(EVENTS, problem(&unknown)).on("GET /api/sessions/app", problem(&unknown));
    assert_snapshot!(daemon.ao(&["wait", "app", "--for", "idle"]), @"
    exit 5
    -- stderr --
    error: there is no session `app`
    ");
}

#[test]
fn a_daemon_that_never_answers_does_not_outlast_the_limit() {
    let daemon = StandIn::new();
    daemon.on(EVENTS, Reply::Silence);
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
        .on("GET /api/sessions/app", json(&session("app-1", "working")))
        .on("GET /api/sessions/app", json(&session("app-1", "idle")));
    let said = daemon.ao(&["wait", "app", "--for", "idle", "--timeout", "30"]);
    assert!(said.starts_with("exit 0\n"), "{said}");
}
