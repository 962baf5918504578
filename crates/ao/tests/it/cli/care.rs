//! Commands that look after things: what is open, what differs, who is told, and the end of the daemon.

use ao_api::{ChannelTest, Problem, Pulls, Sessions};
use insta::assert_snapshot;
use serde_json::json as value;

use super::standin::{Reply, StandIn, json, problem};
use super::wire::{pull, session, variant};
use crate::support::Home;

/// What the daemon tells of itself.
fn about(url: Option<&str>) -> Reply {
    json(&value!({
        "version": "1", "build": "b", "api": 1, "pid": 1, "startedAt": "2026-03-01T12:00:00Z", "dataDir": "/d",
        "socket": "/d/s", "url": url, "log": "/d/log", "configs": [], "configProblem": null, "liveSessions": 0,
        "queuedSessions": 0, "maxParallelAgents": 5, "seq": 1,
    }))
}

/// acceptance: N2
#[test]
fn each_channel_is_told_of_and_one_that_fails_is_an_error() {
    let daemon = StandIn::new();
    let test = |channel: &str, problem: Option<&str>| ChannelTest {
        channel: channel.into(),
        plugin: "webhook".into(),
        delivered: problem.is_none(),
        target: Some("https://hooks.example/…".into()),
        problem: problem.map(str::to_owned),
    };
    daemon.on("POST /api/notify/test", json(&[test("ops", None), test("team", Some("it answered 404"))]));
    assert_snapshot!(daemon.ao(&["notify", "test"]), @"
    exit 1
    -- stdout --
    CHANNEL  PLUGIN   RESULT     WHERE                    PROBLEM
    ops      webhook  delivered  https://hooks.example/…
    team     webhook  failed     https://hooks.example/…  it answered 404
    -- stderr --
    error: 1 of 2 channels failed
    ");
    daemon.ao(&["notify", "test", "ops"]);
    assert_eq!(daemon.calls("POST").pop().unwrap().body["channels"], value!(["ops"]));
}

#[test]
fn what_differs_from_belief_is_listed_and_fails() {
    let daemon = StandIn::new();
    daemon.on("GET /api/daemon", about(None)).on(
        "GET /api/sessions",
        json(&Sessions { sessions: vec![session("app-1", "stopped")], pulls: vec![], seq: 1 }),
    );
    assert_snapshot!(daemon.ao(&["verify"]), @"
    exit 1
    -- stdout --
    daemon: is another build than this program; `ao start` replaces it, and agents keep running meanwhile
    app-1: its workspace `/w/my-app/.worktrees/app-1` is not there
    -- stderr --
    error: 2 differences from the recorded state of 1 session
    hint: `ao explain SESSION` shows the evidence; `ao doctor` checks the machine
    ");
}

#[test]
fn open_reviews_are_listed_with_whether_the_agent_knows() {
    let daemon = StandIn::new();
    let mut open = session("app-1", "working");
    open.incidents = 2;
    open.pulls = vec!["my-app!7".into()];
    let incident = |kind: &str, asked: &str, acted: u32| {
        value!({"kind": kind, "problem": "p", "detail": "Please name it better", "openedAt": "2026-03-01T11:00:00Z",
            "acted": acted, "asked": asked})
    };
    daemon
        .on(
            "GET /api/sessions",
            json(&Sessions { sessions: vec![open.clone(), session("app-2", "idle")], pulls: vec![], seq: 1 }),
        )
        .on(
            "GET /api/sessions/ses_app-1/explain",
            json(&value!({
                "id": open.id, "name": open.name, "status": open.status, "phase": "running", "rules": [],
                "signals": [], "queue": null, "holds": [], "messages": [], "drift": null, "next": [],
                "incidents": [incident("changes-requested", "agent", 1), incident("agent-stuck", "person", 1),
                    incident("deploy-failed", "agent", 1),
                    incident("ci-failed", "none", 0)],
            })),
        );
    let said = daemon.ao(&["review-check", "--json"]);
    assert!(said.contains("changes-requested") && said.contains("ci-failed"), "{said}");
    assert!(!said.contains("agent-stuck"), "what is wrong with the agent is no review: {said}");
    assert!(!said.contains("deploy-failed"), "nor is an event of the user's own: {said}");
    let said = daemon.ao(&["review-check"]);
    assert!(said.contains("agent, 1×") && said.contains("not yet") && said.contains("my-app!7"), "{said}");
}

/// A list with nothing in it would read as if reviewers had nothing to say.
#[test]
fn without_a_forge_reviews_are_not_said_to_be_done() {
    let daemon = StandIn::new();
    daemon.on(
        "GET /api/sessions",
        json(&Sessions { sessions: vec![session("app-1", "working")], pulls: vec![], seq: 1 }),
    );
    daemon.on("GET /api/pulls?state=open", problem(&Problem::new(422, "no-scm", "there is no forge")));
    assert_snapshot!(daemon.ao(&["review-check"]), @"
    exit 0
    -- stdout --
    there are no open reviews in 0 open pull requests and 1 session
    -- stderr --
    note: pull requests cannot be listed, so only the messages of sessions are known: there is no forge
    ");
    assert!(daemon.ao(&["review-check", "--json"]).contains("there is no forge"));
}

#[test]
fn what_reviewers_still_want_is_listed() {
    let daemon = StandIn::new();
    daemon.on(
        "GET /api/sessions",
        json(&Sessions {
            sessions: vec![session("app-1", "working"), session("app-2", "idle")],
            pulls: vec![],
            seq: 1,
        }),
    );
    let of = |number, review: &str, session: Option<&str>| {
        let mut detail = pull(number);
        detail.pull.review = variant(review);
        detail.pull.session = session.map(str::to_owned);
        detail
    };
    let mut quiet = of(9, "approved", None);
    quiet.threads.iter_mut().for_each(|thread| thread.resolved = true);
    let details = [of(7, "changes_requested", Some("app-1")), of(8, "none", None), quiet];
    let pulls = details.iter().map(|detail| detail.pull.clone()).collect();
    daemon.on("GET /api/pulls?state=open", json(&Pulls { pulls, total: None }));
    for detail in &details {
        daemon.on(&format!("GET /api/pulls/my-app%21{}", detail.pull.number), json(detail));
    }
    let said = daemon.ao(&["review-check"]).replace("\n", " \n");
    let rows: Vec<Vec<&str>> = said.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[1][..6], ["app-1", "my-app!7", "changes", "requested,", "1", "open"], "{said}");
    assert_eq!(rows[2][..5], ["-", "my-app!8", "1", "open", "thread"], "{said}");
    assert_eq!(rows.len(), 3, "what is done with is not listed: {said}");
    let said = daemon.ao(&["review-check", "--json"]);
    assert!(said.contains(r#""changesRequested":true,"openThreads":1"#), "{said}");
}

#[test]
fn whoever_claims_a_pull_request_hears_if_nothing_is_known_of_it() {
    let daemon = StandIn::new();
    let spawned = ao_api::Spawned { session: session("app-1", "queued"), created: true };
    daemon.on("POST /api/sessions", json(&spawned));
    assert_snapshot!(daemon.ao(&["session", "claim-pr", "7", "--project", "my-app"]), @"
    exit 0
    -- stdout --
    app-1: queued, on branch ao/app-1
    -- stderr --
    note: the project's forge does not know pull request 7: only its commits were fetched from the remote
    ");
    daemon.on("GET /api/pulls/7?project=my-app", json(&pull(7)));
    assert_snapshot!(daemon.ao(&["session", "claim-pr", "7", "--project", "my-app"]), @"
    exit 0
    -- stdout --
    app-1: queued, on branch ao/app-1
    ");
    assert_eq!(daemon.calls("POST").pop().unwrap().body["title"], "Remember the user");
}

#[test]
fn a_session_that_is_there_can_claim_a_pull_request() {
    let daemon = StandIn::new();
    let mut detail = pull(7);
    detail.pull.session = Some("app-1".into());
    daemon.on("POST /api/pulls/7/claim?project=my-app", json(&detail));
    assert_snapshot!(daemon.ao(&["session", "claim-pr", "app-1", "7", "--project", "my-app"]), @"
    exit 0
    -- stdout --
    app-1 owns my-app!7 now
    ");
    assert_eq!(daemon.calls("POST").pop().unwrap().body, value!({"session": "app-1"}));
}

#[test]
fn whoever_stops_the_daemon_is_told_what_goes_on() {
    let daemon = StandIn::new();
    // A process that is certainly gone.
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let pid = child.id();
    child.wait().unwrap();
    daemon.on("POST /api/daemon/stop", json(&value!({"pid": pid, "running": ["app-1"], "queued": []})));
    assert_snapshot!(daemon.ao(&["stop"]).replace(&format!("pid {pid}"), "pid [pid]"), @"
    exit 0
    -- stdout --
    stopped the daemon (pid [pid]); 1 agent goes on: app-1; `ao start` finds it again
    ");
}

#[test]
fn without_a_desktop_the_page_of_a_session_is_printed() {
    let daemon = StandIn::new();
    daemon
        .on("GET /api/sessions/app", json(&session("app-1", "idle")))
        .on("GET /api/daemon", about(Some("http://127.0.0.1:3000")))
        .on("POST /api/tokens", json(&value!({"token": "c0de"})));
    assert_snapshot!(daemon.ao(&["open", "app"]), @"
    exit 0
    -- stdout --
    http://127.0.0.1:3000/#code=c0de&session=app-1
    -- stderr --
    note: it is valid for one sign-in within a minute; `ao attach app-1` shows its terminal here
    ");
}

#[test]
fn new_limits_are_handed_over_as_they_were_typed() {
    let daemon = StandIn::new();
    // How it stands is in the answer. To ask again by the same name could be to ask for another.
    daemon.on("POST /api/sessions/app/resume", json(&session("app-1", "working")));
    let said = daemon.ao(&["resume", "app", "--usd", "2.50", "--turns", "40", "--time", "2h"]);
    assert!(said.starts_with("exit 0\n-- stdout --\napp-1: working"), "{said}");
    let asked = &daemon.calls("POST")[0].body;
    assert_eq!(*asked, value!({"usd": 2.5, "tokens": null, "turns": 40, "seconds": 7200}));
    assert!(daemon.ao(&["resume", "app", "--usd", "-1"]).starts_with("exit 2"));
}

#[test]
fn plugins_are_listed_and_those_from_elsewhere_are_said_not_to_be_supported() {
    let home = Home::new();
    let said = home.run(&["plugin", "search", "tmux"]);
    assert!(said.starts_with("exit 0") && said.contains("runtime  tmux"), "{said}");
    assert_snapshot!(home.run(&["plugin", "install", "mine"]), @"
    exit 1
    -- stderr --
    error: `mine` cannot be installed: plugins from elsewhere are not supported yet
    hint: `ao plugin list` shows what is built in
    ");
}
