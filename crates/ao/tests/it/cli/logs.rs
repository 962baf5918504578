//! What a session has put out: all of it, its end, and what comes.

use insta::assert_snapshot;
use serde_json::json as value;

use super::standin::{Reply, StandIn, event, json};
use super::wire::session;

const OUTPUT: &str = "GET /api/sessions/ses_app-1/output";
const BY_ID: &str = "GET /api/sessions/ses_app-1";
const EVENTS: &str = "GET /api/events?session=ses_app-1";

/// Somebody who is called `app-1` and can be meant by `app`, but only once.
fn daemon(state: &str) -> StandIn {
    let daemon = StandIn::new();
    daemon
        .on("GET /api/sessions/app", json(&session("app-1", state)))
        .on("GET /api/sessions/app", json(&session("app-2", state)));
    daemon
}

fn piece(from: u64, next: u64, text: &str, ended: bool) -> Reply {
    json(&value!({"from": from, "next": next, "text": text, "ended": ended}))
}

fn path(from: u64, wait: bool) -> String {
    format!("{OUTPUT}?from={from}&limit=1048576&wait={wait}")
}

#[test]
fn output_is_read_to_its_end() {
    let daemon = daemon("working");
    daemon
        .on(&path(0, false), piece(0, 4, "a\nb\n", false))
        .on(&path(4, false), piece(4, 6, "c\n", false))
        .on(&path(6, false), piece(6, 6, "", false));
    assert_snapshot!(daemon.ao(&["logs", "app"]), @"
    exit 0
    -- stdout --
    a
    b
    c
    ");
}

#[test]
fn of_the_last_lines_only_the_end_is_asked_for() {
    let daemon = daemon("working");
    daemon.on(&format!("{OUTPUT}?tail=65536"), piece(900_000, 965_536, "rest of a line\nb\nc\n", false));
    assert_snapshot!(daemon.ao(&["logs", "app", "--tail", "2"]), @"
    exit 0
    -- stdout --
    b
    c
    ");
    assert_eq!(daemon.calls(OUTPUT).len(), 1);
}

#[test]
fn more_of_the_end_is_asked_for_if_the_lines_are_long() {
    let daemon = daemon("working");
    daemon
        .on(&format!("{OUTPUT}?tail=65536"), piece(900_000, 965_536, "rest of b\nc\n", false))
        .on(&path(965_536 - 524_288, false), piece(441_248, 960_000, "a\nall of b and the ", false))
        .on(&path(960_000, false), piece(960_000, 965_536, "rest of b\nc\n", false));
    assert_snapshot!(daemon.ao(&["logs", "app", "--tail", "2"]), @"
    exit 0
    -- stdout --
    all of b and the rest of b
    c
    ");
}

#[test]
fn what_comes_behind_the_last_lines_is_followed() {
    let daemon = daemon("working");
    daemon
        .on(&format!("{OUTPUT}?tail=65536"), piece(0, 6, "a\nb\nc\n", false))
        .on(&path(6, true), piece(6, 8, "d\n", true))
        .on(&path(8, true), piece(8, 8, "", true));
    assert_snapshot!(daemon.ao(&["logs", "app", "--tail", "1", "-f"]), @"
    exit 0
    -- stdout --
    c
    d
    ");
}

#[test]
fn output_of_a_session_that_waits_is_not_asked_for_in_a_circle() {
    let daemon = daemon("queued");
    daemon
        .on(&path(0, true), piece(0, 0, "", false))
        .on(&path(0, true), piece(0, 0, "", false))
        .on(&path(0, true), piece(0, 3, "hi\n", true))
        .on(&path(3, true), piece(3, 3, "", true))
        .on(EVENTS, Reply::Events(vec![event(1, "app-1")]))
        .on(BY_ID, json(&session("app-1", "queued")));
    assert_snapshot!(daemon.ao(&["logs", "app", "-f"]), @"
    exit 0
    -- stdout --
    hi
    ");
    assert_eq!(daemon.calls(OUTPUT).len(), 4, "asked, listened, asked again, and then after the event alone");
}

#[test]
fn nothing_is_followed_for_ever_that_only_a_person_can_bring_about() {
    let daemon = daemon("setup_failed");
    daemon.on(&path(0, true), piece(0, 0, "", false)).on(BY_ID, json(&session("app-1", "setup_failed")));
    assert_snapshot!(daemon.ao(&["logs", "app", "-f"]), @"
    exit 0
    -- stderr --
    note: the set-up of `app-1` failed, so nothing runs; `ao logs app-1 --setup` shows why
    ");
    assert_eq!(daemon.calls(OUTPUT).len(), 2, "once more after it was seen to rest");
}
