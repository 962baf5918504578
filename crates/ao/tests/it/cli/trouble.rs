//! No daemon, one that refuses, one that talks nonsense, one that breaks off.

use ao_api::Problem;
use insta::assert_snapshot;

use super::standin::{Reply, StandIn, problem};
use crate::support::Home;

#[test]
fn without_a_daemon_one_is_told_how_to_start_it() {
    assert_snapshot!(Home::new().run(&["status"]), @"
    exit 6
    -- stderr --
    error: no daemon answers at [home]/.local/share/ao/ao.sock
      because: No such file or directory (os error 2)
    hint: start it with `ao start`
    ");
    assert_snapshot!(Home::new().run(&["stop"]), @"
    exit 0
    -- stdout --
    no daemon runs
    ");
}

#[test]
fn a_socket_that_nobody_listens_on_is_no_daemon_either() {
    let home = Home::new();
    let data = home.path().join("data");
    std::fs::create_dir(&data).unwrap();
    drop(std::os::unix::net::UnixListener::bind(data.join("ao.sock")).unwrap());
    assert_snapshot!(home.run(&["list", "--data-dir", "data"]), @"
    exit 6
    -- stderr --
    error: no daemon answers at [home]/data/ao.sock
      because: Connection refused (os error 111)
    hint: start it with `ao start`
    ");
}

#[test]
fn an_unknown_session_has_an_exit_code_of_its_own_and_names_those_that_are_near() {
    let daemon = StandIn::new();
    let mut unknown = Problem::new(404, "unknown-session", "there is no session `ap`");
    unknown.candidates = vec!["app-1".into(), "app-2".into()];
    daemon.on("GET /api/sessions/ap", problem(&unknown));
    assert_snapshot!(daemon.ao(&["status", "ap"]), @"
    exit 5
    -- stderr --
    error: there is no session `ap`; did you mean `app-1` or `app-2`?
    ");
}

#[test]
fn what_is_forbidden_has_one_too() {
    let daemon = StandIn::new();
    daemon.on(
        "POST /api/sessions/a/pause",
        problem(&Problem::new(403, "forbidden", "an agent may not do that")),
    );
    assert_snapshot!(daemon.ao(&["pause", "a"]), @"
    exit 17
    -- stderr --
    error: an agent may not do that
    ");
}

#[test]
fn an_answer_that_makes_no_sense_is_taken_for_another_version() {
    let daemon = StandIn::new();
    daemon.on("GET /api/sessions", Reply::Json(200, r#"{"agents":[]}"#.into()));
    assert_snapshot!(daemon.ao(&["list"]), @"
    exit 15
    -- stderr --
    error: the daemon sent an unexpected response; it may be another version
      because: missing field `sessions` at line 1 column 13
    hint: `ao start` replaces a daemon of another version; agents keep running meanwhile
    ");
}

#[test]
fn an_answer_that_breaks_off_is_said_to() {
    let daemon = StandIn::new();
    let half =
        b"HTTP/1.1 200 so\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"sess".to_vec();
    daemon.on("GET /api/sessions", Reply::Bytes(half));
    let said = daemon.ao(&["status"]);
    assert!(
        said.starts_with("exit 3\n-- stderr --\nerror: the connection to the daemon broke\n  because: "),
        "{said}"
    );
}

#[test]
fn an_error_page_of_somebody_else_is_shown_as_it_came() {
    let daemon = StandIn::new();
    let page = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 9\r\n\r\nnot today".to_vec();
    daemon.on("GET /api/sessions", Reply::Bytes(page));
    assert_snapshot!(daemon.ao(&["status"]), @"
    exit 3
    -- stderr --
    error: the daemon answered 502 not today
    ");
}
