//! Hooks, through the program itself: each point once with its document, objections with their reasons, and nothing lost or
//! left when the daemon dies or a hook hangs.

use std::fs;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::fleet::processes_with;
use crate::house::{House, until};

/// Writes down what it is told, a file for each time.
const RECORD: &str = r#"cat > "$HOME/tmp/told.$$" && mv "$HOME/tmp/told.$$" "$HOME/told/$AO_HOOK.$$""#;
const POINTS: [&str; 9] = [
    "before-assign",
    "workspace-created",
    "session-started",
    "pr-created",
    "checks-completed",
    "review-received",
    "before-merge",
    "merged",
    "session-ended",
];
const FEATURE: &str = "[[tool echo good > feature.txt && git add . && git commit -qm Feature && git push -q && \
                       until ao pr create; do sleep 0.1; done]]";

fn house_with(hooks: &str, project: &str) -> House {
    let house = House::new();
    fs::create_dir(house.path("told")).unwrap();
    house.configure_project(project, hooks);
    house
}

/// What the hooks of a point were told so far.
fn told(house: &House, point: &str) -> Vec<Value> {
    let files = fs::read_dir(house.path("told")).unwrap().map(|entry| entry.unwrap().path());
    let of_point = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.strip_prefix(point).is_some_and(|rest| rest.starts_with('.'))
    };
    files.filter(of_point).map(|path| serde_json::from_slice(&fs::read(path).unwrap()).unwrap()).collect()
}

fn pull_of(house: &House) -> Value {
    let mut found = None;
    until("there is a pull request", || {
        let pulls = house.ao(&["pr", "list", "--state", "all", "--json"]).succeeds().json();
        found = pulls["pulls"].as_array().unwrap().first().cloned();
        found.is_some()
    });
    found.unwrap()
}

#[test]
fn every_point_has_its_hook_run_once_with_what_is_known_there() {
    let hooks: String = POINTS.iter().map(|point| format!("  {point}: '{RECORD}'\n")).collect();
    let house = house_with(&format!("hooks:\n{hooks}"), "    checks: ['true']");
    house.start();
    let session = house.session("Feature", FEATURE);
    pull_of(&house);
    until("the checks have ended", || !told(&house, "checks-completed").is_empty());
    house.ao(&["pr", "approve", "1"]).succeeds();
    until("the review was told", || !told(&house, "review-received").is_empty());
    house.ao(&["pr", "merge", "1", "--squash"]).succeeds();
    until("the session has ended", || !told(&house, "session-ended").is_empty());
    until("the merge was told", || !told(&house, "merged").is_empty());

    for point in POINTS {
        let documents = told(&house, point);
        assert_eq!(documents.len(), 1, "{point}: {documents:?}");
        let document = &documents[0];
        assert_eq!((&document["version"], &document["hook"]), (&1.into(), &point.into()));
        assert_eq!(document["project"]["name"], "my-app");
        assert_eq!(document["project"]["path"], house.repository().display().to_string());
        assert_eq!(document["session"]["name"], session, "{point}: {document}");
        assert!(!document.to_string().contains("[[tool"), "{point}: a prompt is nobody's business");
    }
    let of = |point: &str| told(&house, point).remove(0);
    assert!(of("workspace-created")["session"]["workspace"].as_str().unwrap().contains(".worktrees"));
    assert_eq!(of("pr-created")["pull"]["number"], 1);
    assert_eq!(of("checks-completed")["checks"][0]["state"], "passed");
    assert!(of("checks-completed")["checks"][0]["run"].as_str().unwrap().starts_with("run_"));
    assert_eq!(of("review-received")["review"]["verdict"], "approved");
    let merge = &of("before-merge")["merge"];
    assert!(merge["head"].is_string() && merge["base"].is_string(), "{merge}");
    assert!(of("merged")["merge"]["commit"].is_string());
    assert_eq!(of("session-ended")["session"]["state"], "merged");
}

#[test]
fn an_objection_before_a_start_holds_the_session_until_it_is_resumed() {
    let gate =
        r#"test -f "$HOME/ok" || { printf 'checking\n\033[31mno licence is free\033[0m\n' >&2; exit 3; }"#;
    let house = house_with(&format!("hooks: {{ before_assign: {} }}\n", serde_json::json!(gate)), "");
    house.start();
    let session = house.session("Feature", "hello");
    until("it is held", || house.state(&session) == "paused");
    let why = house.ao(&["why", &session]).succeeds().out;
    assert!(why.contains("the hook `before-assign` objects: no licence is free"), "{why}");
    assert_eq!(house.agents(), Vec::<i32>::new());

    house.ao(&["resume", &session]).succeeds();
    until("it is asked again, and held again", || {
        let logs = house.ao(&["hooks", "logs", "--json"]).succeeds().json();
        logs["logs"].as_array().unwrap().len() == 2 && house.state(&session) == "paused"
    });
    fs::write(house.path("ok"), "").unwrap();
    house.ao(&["resume", &session]).succeeds();
    house.wait_for(&session, "idle");
}

#[test]
fn an_objection_before_a_merge_keeps_it_from_merging_with_its_reason() {
    let gate = r#"test -f "$HOME/ok" || { echo "code freeze until Monday" >&2; exit 1; }"#;
    let hooks = format!(
        "hooks: {{ before-merge: {} }}\nreactions: {{ approved-and-green: {{ auto: true, action: merge }} }}\n",
        serde_json::json!(gate)
    );
    let house = house_with(&hooks, "    checks: ['true']");
    house.start();
    house.session("Feature", FEATURE);
    pull_of(&house);
    until("its checks pass", || pull_of(&house)["checks"] == "passed");
    // By the merge queue, which a reaction puts it into.
    house.ao(&["pr", "approve", "1"]).succeeds();
    until("the queue has asked", || {
        let logs = house.ao(&["hooks", "logs", "--json"]).succeeds().json();
        logs["logs"]
            .as_array()
            .unwrap()
            .iter()
            .any(|log| log["ended"].as_str().is_some_and(|it| it.contains("code 1")))
    });
    // And by hand.
    let refused = house.ao(&["pr", "merge", "1", "--squash"]).exits(20);
    assert!(
        refused.err.contains("the hook `before-merge` objects: code freeze until Monday"),
        "{}",
        refused.err
    );
    let anyway = house.ao(&["pr", "merge", "1", "--squash", "--anyway"]).exits(20);
    assert!(anyway.err.contains("code freeze"), "{}", anyway.err);
    assert_eq!(pull_of(&house)["state"], "open");

    fs::write(house.path("ok"), "").unwrap();
    house.ao(&["pr", "merge", "1", "--squash"]).succeeds();
    assert_eq!(pull_of(&house)["state"], "merged");
}

#[test]
fn a_daemon_that_is_killed_while_a_hook_runs_asks_it_again_and_starts_the_session_once() {
    let gate = r#"echo asked >> "$HOME/asked"; while [ ! -f "$HOME/go" ]; do sleep 0.05; done"#;
    let hooks =
        format!("hooks:\n  before-assign: {}\n  session-started: '{RECORD}'\n", serde_json::json!(gate));
    let house = house_with(&hooks, "");
    house.start();
    house.session("Feature", "hello");
    let asked = || fs::read_to_string(house.path("asked")).unwrap_or_default().lines().count();
    until("the hook is asked", || asked() == 1);
    let daemon = Pid::from_raw(house.daemon_pid()).unwrap();
    kill_process(daemon, Signal::KILL).unwrap();
    // The dead one may be found for a moment yet.
    until("another daemon starts", || house.ao(&["start", "--port", "0"]).code == 0);
    until("it is asked again", || asked() == 2);
    let marked = format!("AO_JOB={}#job_1", house.path("data").display());
    let shells = || {
        let running = |pid: &i32| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            // Not the process that keeps it.
            line.contains("echo asked") && !line.contains("\0keeper\0")
        };
        processes_with(&marked).into_iter().filter(running).count()
    };
    assert_eq!(shells(), 1, "the one that the dead daemon has left is gone");
    assert_eq!(house.agents(), Vec::<i32>::new());
    fs::write(house.path("go"), "").unwrap();
    until("the session has started", || !told(&house, "session-started").is_empty());
    let sessions = house.ao(&["list", "--json"]).succeeds().json();
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "{sessions}");
    until("its agent runs", || house.agents().len() == 1);
    assert_eq!((asked(), told(&house, "session-started").len()), (2, 1));
}

#[test]
fn a_hook_that_hangs_is_ended_with_everything_that_it_has_started() {
    // One that leaves the group and the session of its shell.
    let hangs = "setsid sh -c 'trap \"\" TERM; sleep 600' & sleep 600";
    let hook = serde_json::json!([{ "run": hangs, "timeout": "1s" }]);
    let house = house_with(&format!("hooks: {{ beforeAssign: {hook} }}\n"), "");
    house.start();
    let session = house.session("Feature", "hello");
    let marked = format!("AO_JOB={}#job_1", house.path("data").display());
    until("it runs, with its grandchild", || processes_with(&marked).len() >= 3);
    until("it is given up", || house.state(&session) == "paused");
    let why = house.ao(&["why", &session]).succeeds().out;
    assert!(why.contains("no answer within 1 s"), "{why}");
    assert_eq!(processes_with(&marked), Vec::<i32>::new());
}

#[test]
fn a_secret_that_a_hook_prints_is_neither_in_its_log_nor_in_its_reason() {
    let prints = r#"echo "out $TOKEN"; echo "the token is $TOKEN" >&2; exit 1"#;
    let house = house_with(
        &format!("hooks: {{ before-assign: {} }}\n", serde_json::json!(prints)),
        "    env: { secrets: { TOKEN: { file: ../token.txt } } }",
    );
    fs::write(house.path("token.txt"), "hunter2hunter2\n").unwrap();
    house.start();
    let session = house.session("Feature", "hello");
    until("it is held", || house.state(&session) == "paused");
    let why = house.ao(&["why", &session]).succeeds().out;
    assert!(why.contains("the token is [secret TOKEN]") && !why.contains("hunter2"), "{why}");
    let log = house.ao(&["hooks", "logs", "before-assign"]).succeeds().out;
    assert!(log.contains("out [secret TOKEN]") && log.contains("ended with code 1"), "{log}");
    assert!(!log.contains("hunter2"), "{log}");
}

#[test]
fn hooks_are_listed_tried_and_their_logs_read() {
    let house = house_with(
        "hooks:\n  merged: ['cat >/dev/null; echo first', { run: 'echo $AO_PROJECT >&2; exit 4', timeout: 5s }]\n",
        "    hooks: { merged: 'echo own' }",
    );
    house.start();
    let listed = house.ao(&["hooks", "list", "--json"]).succeeds().json();
    let commands: Vec<_> =
        listed["hooks"].as_array().unwrap().iter().map(|hook| hook["command"].as_str().unwrap()).collect();
    assert_eq!(commands, ["cat >/dev/null; echo first", "echo $AO_PROJECT >&2; exit 4", "echo own"]);
    house.ao(&["hooks", "list"]).succeeds().says("merged");
    // Where they may not object, all of them run.
    let tested = house.ao(&["hooks", "test", "merged"]).exits(1);
    assert!(
        tested.out.contains("really run") && tested.out.contains("ended with code 4: my-app"),
        "{}",
        tested.out
    );
    assert!(tested.out.contains("`echo own` succeeded"), "{}", tested.out);
    let logs = house.ao(&["hooks", "logs", "--json"]).succeeds().json();
    assert_eq!(logs["logs"].as_array().unwrap().len(), 3);
    let first = logs["logs"][2]["id"].as_str().unwrap();
    house.ao(&["hooks", "logs", first]).succeeds().says("first");
    house.ao(&["hooks", "test", "session-ended"]).exits(1).says("no hook is configured at `session-ended`");
    house.ao(&["hooks", "logs", "nope"]).says("there is no one log `nope`");
}
