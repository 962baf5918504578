//! `ao status --watch`, as a person sees it.

use ao_api::Sessions;
use portable_pty::CommandBuilder;

use super::standin::{Reply, StandIn, event, json};
use super::window::Window;
use super::wire::session;

fn open(daemon: &StandIn, args: &[&str]) -> Window {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_ao"));
    command.args(args);
    command.env_clear();
    command.env("HOME", daemon.home.path());
    command.env("TERM", "xterm");
    command.env("NO_COLOR", "1");
    Window::open(command)
}

#[test]
fn a_change_is_drawn_in_the_same_place_and_ctrl_c_leaves_the_last_picture() {
    let daemon = StandIn::new();
    let all =
        |state: &str| json(&Sessions { sessions: vec![session("app-1", state)], pulls: vec![], seq: 1 });
    daemon
        .on("GET /api/events", Reply::Events(vec![event(2, "app-1")]))
        .on("GET /api/projects", json(&serde_json::json!({"projects": []})))
        .on("GET /api/sessions", all("working"))
        .on("GET /api/sessions", all("needs_input"));
    let mut window = open(&daemon, &["status", "--watch"]);
    let screen = window.until(|screen| screen.contains("question"));
    assert_eq!(screen.matches("app-1  ").count(), 1, "drawn over what was there:\n{screen}");
    assert!(!screen.contains("At work"), "{screen}");
    window.press("\x03");
    assert_eq!(window.code(), 0);
    window.until(|screen| screen.contains("1 session: 1 needs you"));
    assert_eq!(daemon.calls("GET /api/sessions").len(), 2, "asked once, and once after the event");
}

#[test]
fn programs_get_a_line_of_json_for_each_change() {
    let daemon = StandIn::new();
    daemon
        .on("GET /api/sessions/app", json(&session("app-1", "working")))
        .on("GET /api/sessions/app", json(&session("app-2", "working")))
        .on("GET /api/events?session=ses_app-1", Reply::Events(vec![event(2, "app-1")]))
        .on("GET /api/sessions/ses_app-1", json(&session("app-1", "working")))
        .on("GET /api/sessions/ses_app-1", json(&session("app-1", "idle")));
    let mut window = open(&daemon, &["status", "app", "--watch", "--json"]);
    window.until(|screen| {
        let screen = screen.replace('\n', "");
        screen.contains(r#""state":"working""#) && screen.contains(r#""state":"idle""#)
    });
    window.press("\x03");
    assert_eq!(window.code(), 0);
}
