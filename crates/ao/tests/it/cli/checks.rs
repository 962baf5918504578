//! `ao check` and `ao pr checks`, with somebody in the daemon's place.

use ao_api::{Check, CheckLog, CheckRun, CheckRuns, Checks, Problem, PullChecks};
use insta::assert_snapshot;
use serde_json::json as value;

use super::standin::{StandIn, json, problem};
use super::wire::{check_run, pull};

fn log(text: &str, next: u64, ended: bool) -> super::standin::Reply {
    json(&CheckLog { text: text.into(), next, ended })
}

fn log_line(run: &str, from: u64, wait: bool) -> String {
    format!("GET /api/checks/{run}/log?from={from}&limit=1048576&wait={wait}")
}

fn begin(daemon: &StandIn, runs: Vec<CheckRun>) {
    daemon.on("POST /api/checks", json(&CheckRuns { runs }));
}

/// The parts of what was said that do not tell how long ago something was.
fn without_ages(said: &str) -> String {
    let age = |word: &&str| word.ends_with('d') && word[..word.len() - 1].parse::<u32>().is_ok();
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').map(|word| if age(&word) { "[age]" } else { word }).collect();
        words.join(" ")
    };
    said.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_output_of_one_run_is_followed_to_its_end() {
    let daemon = StandIn::new();
    begin(&daemon, vec![check_run("run_1", "test", "queued")]);
    daemon.on(&log_line("run_1", 0, true), problem(&Problem::new(404, "unknown-log", "not begun")));
    daemon.on(&log_line("run_1", 0, true), log("one\ntw", 6, false));
    daemon.on(&log_line("run_1", 6, true), log("o\nthree", 13, true));
    daemon.on(&log_line("run_1", 13, true), log("", 13, true));
    daemon.on("GET /api/checks/run_1", json(&check_run("run_1", "test", "running")));
    daemon.on("GET /api/checks/run_1", json(&check_run("run_1", "test", "passed")));
    assert_snapshot!(without_ages(&daemon.ao(&["check", "run", "my-app!7", "--only", "test", "--again"])), @"
    exit 0
    -- stdout --
    one
    two
    three

    RUN    CHECK  STATE   PULL      COMMIT        TOOK  AGE
    run_1  test   passed  my-app!7  4f1c2d3e5a6b  42s   [age]
    ");
    assert_eq!(
        daemon.calls("POST").pop().unwrap().body,
        value!({"projectId": null, "pull": "my-app!7", "revision": null, "checks": ["test"], "again": true})
    );
}

#[test]
fn the_output_of_several_runs_is_told_apart_and_one_that_failed_is_an_error() {
    let daemon = StandIn::new();
    begin(
        &daemon,
        vec![
            check_run("run_1", "test", "running"),
            check_run("run_2", "lint", "queued"),
            check_run("run_3", "docs", "skipped"),
        ],
    );
    for (run, check, state) in [("run_1", "test", "failed"), ("run_2", "lint", "passed")] {
        daemon.on(&log_line(run, 0, true), log(&format!("{check}: \x1b[1mhi\x1b[0m\n"), 9, true));
        daemon.on(&log_line(run, 9, true), log("", 9, true));
        daemon.on(&format!("GET /api/checks/{run}"), json(&check_run(run, check, state)));
    }
    let said = daemon.ao(&["check", "run", "my-app!7"]);
    assert!(said.starts_with("exit 18"), "{said}");
    assert!(said.contains("test │ test: hi") && said.contains("lint │ lint: hi"), "{said}");
    assert!(said.contains("error: 1 of 3 checks failed: `test`"), "{said}");
    let said = daemon.ao(&["check", "run", "my-app!7", "--json"]);
    assert!(said.contains("-- stdout --\n{\"runs\":[{\"id\":\"run_1\""), "only data: {said}");
}

#[test]
fn whoever_does_not_wait_is_told_what_was_begun() {
    let daemon = StandIn::new();
    begin(&daemon, vec![check_run("run_1", "test", "queued")]);
    let said = daemon.ao(&["check", "run", "--revision", "HEAD", "--no-follow", "-p", "my-app"]);
    assert!(said.starts_with("exit 0") && said.contains("queued"), "{said}");
    let daemon = StandIn::new();
    begin(&daemon, vec![]);
    assert_snapshot!(daemon.ao(&["check", "run", "my-app!7"]), @"
    exit 1
    -- stderr --
    error: there is nothing to run: the project has no such checks
    hint: `ao check list` lists configured and proposed checks
    ");
}

#[test]
fn checks_that_could_be_are_proposed_with_the_lines_to_paste() {
    let daemon = StandIn::new();
    let check = |because: Option<&str>| Check {
        name: "test".into(),
        command: "cargo test --workspace # \"all\"".into(),
        required: true,
        timeout_seconds: 1800,
        paths: vec![],
        because: because.map(str::to_owned),
    };
    let proposed = vec![check(Some("Cargo.toml"))];
    daemon.on("GET /api/projects/my-app/checks", json(&Checks { checks: vec![], proposed }));
    daemon.on("GET /api/checks?project=my-app&limit=20", json(&CheckRuns { runs: vec![] }));
    assert_snapshot!(daemon.ao(&["check", "list", "-p", "my-app"]), @r#"
    exit 0
    -- stdout --
    CHECK  REQUIRED  LIMIT  BECAUSE     COMMAND
    test   yes       30m    Cargo.toml  cargo test --workspace # "all"

    projects:
      "my-app":
        checks:
          - name: "test"
            command: "cargo test --workspace # \"all\""
    -- stderr --
    note: no checks are configured for `my-app`; paste the lines above to configure these. They never run by themselves
    "#);
    assert!(daemon.calls("POST").is_empty(), "nothing is run unasked");
    let daemon = StandIn::new();
    daemon
        .on("GET /api/projects/my-app/checks", json(&Checks { checks: vec![check(None)], proposed: vec![] }));
    let runs = vec![check_run("run_1", "test", "failed")];
    daemon.on("GET /api/checks?project=my-app&pull=my-app%217&limit=20", json(&CheckRuns { runs }));
    assert_snapshot!(without_ages(&daemon.ao(&["check", "list", "--pull", "my-app!7"])), @r#"
    exit 0
    -- stdout --
    CHECK  REQUIRED  LIMIT  COMMAND
    test   yes       30m    cargo test --workspace # "all"

    RUN    CHECK  STATE   PULL      COMMIT        TOOK  AGE   WHY
    run_1  test   failed  my-app!7  4f1c2d3e5a6b  42s   [age]  login::remembers and 2 more
    "#);
}

#[test]
fn the_checks_of_a_pull_request_decide_the_exit_code() {
    let daemon = StandIn::new();
    let with = |states: &[&str]| {
        let mut detail = pull(7);
        let names = ["lint", "test", "docs"];
        let run = |(at, state): (usize, &&str)| check_run(&format!("run_{at}"), names[at], state);
        detail.check_runs = states.iter().enumerate().map(run).collect();
        detail.pull.checks = if states.is_empty() { PullChecks::None } else { PullChecks::Pending };
        json(&detail)
    };
    let ends_with = |states: &[&str]| {
        let daemon = StandIn::new();
        daemon.on("GET /api/pulls/my-app%217", with(states));
        daemon.ao(&["pr", "checks", "my-app!7"]).lines().next().unwrap().to_owned()
    };
    assert_eq!(ends_with(&["passed", "skipped"]), "exit 0");
    assert_eq!(ends_with(&["passed", "failed", "running"]), "exit 18");
    assert_eq!(ends_with(&["passed", "running"]), "exit 19");
    assert_eq!(ends_with(&[]), "exit 0");
    daemon.on("GET /api/pulls/my-app%217", with(&["passed", "failed"]));
    assert_snapshot!(without_ages(&daemon.ao(&["pr", "checks", "my-app!7"])), @"
    exit 18
    -- stdout --
    RUN    CHECK  STATE   PULL      COMMIT        TOOK  AGE   WHY
    run_0  lint   passed  my-app!7  4f1c2d3e5a6b  42s   [age]
    run_1  test   failed  my-app!7  4f1c2d3e5a6b  42s   [age]  login::remembers and 2 more

    test in unit tests
      login::remembers src/login.rs:12
        left: 1
        right: ^[[31m2
    -- stderr --
    error: 1 of 2 checks failed: `test`
    hint: `ao check logs run_1` shows its whole output
    ");
}

#[test]
fn a_check_that_was_run_again_counts_once_with_its_newest_run() {
    for (states, ending) in
        [(["passed", "failed"], "exit 0"), (["failed", "failed"], "error: 1 of 1 check failed: `test`")]
    {
        let daemon = StandIn::new();
        let mut detail = pull(7);
        let run = |(at, state): (usize, &str)| check_run(&format!("run_{}", 2 - at), "test", state);
        detail.check_runs = states.into_iter().enumerate().map(run).collect();
        daemon.on("GET /api/pulls/my-app%217", json(&detail));
        let said = daemon.ao(&["pr", "checks", "my-app!7"]);
        assert!(said.contains(ending) && said.contains("run_2") && !said.contains("run_1"), "{said}");
    }
}

#[test]
fn whoever_watches_is_told_what_changes_until_it_is_over() {
    let daemon = StandIn::new();
    let with = |state: &str| {
        let mut detail = pull(7);
        detail.check_runs = vec![check_run("run_1", "test", state)];
        json(&detail)
    };
    for state in ["queued", "running", "passed"] {
        daemon.on("GET /api/pulls/my-app%217", with(state));
    }
    daemon.on("GET /api/events", super::standin::Reply::Events(vec![super::standin::event(1, "x")]));
    let said = daemon.ao(&["pr", "checks", "my-app!7", "--watch"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(said.ends_with("note: test: queued\nnote: test: running\nnote: test: passed"), "{said}");
}

#[test]
fn logs_are_found_by_run_and_by_check() {
    let daemon = StandIn::new();
    let mut same = check_run("run_5", "test", "passed");
    same.same_as = Some("run_1".into());
    daemon.on("GET /api/checks/test", problem(&Problem::new(404, "unknown-run", "there is no run `test`")));
    daemon.on("GET /api/checks/nope", problem(&Problem::new(404, "unknown-run", "there is no run `nope`")));
    let of = |check: &str| format!("GET /api/checks?project=my-app&pull=7&check={check}&limit=1");
    daemon.on(&of("test"), json(&CheckRuns { runs: vec![same.clone()] }));
    daemon.on(&of("nope"), json(&CheckRuns { runs: vec![] }));
    daemon.on("GET /api/checks?project=my-app&pull=7", json(&CheckRuns { runs: vec![same] }));
    daemon.on(&log_line("run_1", 0, false), log("raw \x1b[1m bytes\n", 16, true));
    daemon.on(&log_line("run_1", 16, false), log("", 16, true));
    let said = daemon.ao(&["check", "logs", "test", "--pull", "7", "-p", "my-app"]);
    assert_eq!(said, "exit 0\n-- stdout --\nraw \x1b[1m bytes", "a file gets all that there is");
    assert_snapshot!(daemon.ao(&["check", "logs", "nope", "--pull", "7", "-p", "my-app"]), @"
    exit 5
    -- stderr --
    error: there is no run `nope`, and no check of that name has run in this project
    hint: checks that have run: `test`
    ");
}

#[test]
fn a_check_is_run_once_more_on_what_it_ran_on() {
    let daemon = StandIn::new();
    let mut before = check_run("run_1", "test", "failed");
    before.pull = None;
    daemon.on("GET /api/checks/run_1", json(&before));
    begin(&daemon, vec![check_run("run_2", "test", "passed")]);
    let said = daemon.ao(&["check", "rerun", "run_1"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert_eq!(
        daemon.calls("POST").pop().unwrap().body,
        value!({"projectId": "my-app", "pull": null, "revision": "4f1c2d3e5a6b7c8d9e0f", "checks": ["test"],
            "again": true})
    );
}
