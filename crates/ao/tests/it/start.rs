//! One daemon: started, joined, replaced, stopped; and what is said when it cannot be.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::thread;

use crate::fleet::git;
use crate::house::{House, Ran, bare_copy, daemons_of, until};

fn daemons(house: &House) -> usize {
    daemons_of(&house.path("data")).len()
}

/// acceptance: L3
#[test]
fn five_starts_at_once_make_one_daemon_and_one_orchestrator() {
    let house = House::new();
    house.configure("");
    let text = fs::read_to_string(house.config_file()).unwrap();
    fs::write(house.config_file(), text.replace("enabled: false", "enabled: true")).unwrap();
    let started: Vec<Ran> = thread::scope(|scope| {
        let starts: Vec<_> =
            (0..5).map(|_| scope.spawn(|| house.ao(&["start", "--port", "0", "--json"]))).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let started: Vec<_> = started.into_iter().map(|ran| ran.succeeds().json()).collect();
    let new = started.iter().filter(|start| start["started"] == true).count();
    assert_eq!((new, daemons(&house)), (1, 1));
    let orchestrators: Vec<_> = started.iter().map(|start| start["orchestrator"]["id"].clone()).collect();
    assert!(
        orchestrators[0].is_string() && orchestrators.iter().all(|id| *id == orchestrators[0]),
        "{orchestrators:?}"
    );
    let sessions = house.ao(&["list", "--json"]).succeeds().json();
    assert_eq!(sessions["sessions"].as_array().map(Vec::len), Some(1));
}

/// acceptance: L3
#[test]
fn five_starts_at_once_in_a_new_repository_make_one_configuration() {
    let house = House::bare();
    crate::fleet::make_repository(&house.repository());
    let started: Vec<Ran> = thread::scope(|scope| {
        let starts: Vec<_> = (0..5)
            .map(|_| scope.spawn(|| house.ao(&["start", "--port", "0", "--no-orchestrator", "--json"])))
            .collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let started: Vec<_> = started.into_iter().map(|ran| ran.succeeds().json()).collect();
    assert_eq!(started.iter().filter(|start| start["started"] == true).count(), 1);
    let files: Vec<_> = started.iter().map(|start| start["config"].as_str().unwrap()).collect();
    assert!(files.iter().all(|file| *file == house.config_file().to_str().unwrap()), "{files:?}");
    assert_eq!(daemons(&house), 1);
}

#[test]
fn no_daemon_is_started_from_within_an_agent() {
    let house = House::new();
    for args in [&["start", "--port", "0"][..], &["daemon", "--port", "0"]] {
        let mut command = house.command(&house.repository(), args);
        command.env("AO_SESSION", "ses_1").env("AO_ATTEMPT", "1").env("AO_TOKEN", "00");
        Ran::of(command.output().unwrap()).exits(17).says("AO_SESSION").says("your own shell");
    }
    assert_eq!(daemons(&house), 0);
    assert!(!house.path("data").exists(), "nothing is made");
}

/// acceptance: L3
#[test]
fn twenty_spawns_of_one_issue_over_cli_and_http_make_one_session() {
    let house = House::new();
    house.write_issues(&[42]);
    house.start();
    let url = house.daemon()["url"].as_str().unwrap().to_owned();
    let spawned: Vec<serde_json::Value> = thread::scope(|scope| {
        let over_cli =
            (0..10).map(|_| scope.spawn(|| house.ao(&["spawn", "42", "--json"]).succeeds().json()));
        let over_http = (0..10).map(|_| {
            scope.spawn(|| {
                let body = r#"{"projectId":"my-app","issue":"42"}"#;
                let address = format!("{url}/api/sessions");
                Ran::of(curl(&["-X", "POST", "-H", "content-type: application/json", "-d", body, &address]))
                    .succeeds()
                    .json()
            })
        });
        let all: Vec<_> = over_cli.chain(over_http).collect();
        all.into_iter().map(|spawn| spawn.join().unwrap()).collect()
    });
    let ids: Vec<_> = spawned.iter().map(|spawn| spawn["session"]["id"].as_str().unwrap()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(spawned.iter().filter(|spawn| spawn["created"] == true).count(), 1);
    let told = house.ao(&["spawn", "42"]).succeeds();
    assert!(told.out.contains("app-42"), "{}", told.out);
}

/// `curl` as a person calls it: the same user, and no browser.
fn curl(args: &[&str]) -> std::process::Output {
    std::process::Command::new("curl")
        .args(["--silent", "--show-error"])
        .args(args)
        .output()
        .expect("curl runs")
}

#[test]
fn a_start_in_a_new_repository_writes_its_configuration_and_says_where_things_are() {
    let house = House::bare();
    crate::fleet::make_repository(&house.repository());
    let told = house.ao(&["start", "--port", "0", "--no-orchestrator"]).succeeds();
    assert!(house.config_file().exists());
    for word in ["dashboard", "http://127.0.0.1:", "my-app", "daemon.log"] {
        assert!(told.out.contains(word), "{word}: {}", told.out);
    }
    house.ao(&["start"]).succeeds().says("The daemon runs");
}

#[test]
fn the_first_daemon_listens_where_its_configuration_says() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let house = House::with(&format!("port: {free}\n"));
    house.ao(&["start"]).succeeds();
    assert_eq!(house.daemon()["url"], format!("http://127.0.0.1:{free}"));
}

#[test]
fn a_url_is_cloned_and_a_second_project_joins_the_daemon() {
    let house = House::new();
    house.start();
    let forge = house.path("forge.git");
    bare_copy(&house.repository(), &forge);
    let url = format!("file://{}", forge.display());
    house.ao_in(&house.path("tmp"), &["start", &url, "--no-orchestrator"]).succeeds();
    assert!(house.path("tmp/forge/agent-orchestrator.yaml").exists());
    let other = house.path("docs");
    crate::fleet::make_repository(&other);
    house.ao_in(&house.path("tmp"), &["start", &other.display().to_string(), "--no-orchestrator"]).succeeds();
    let projects = house.ao(&["api", "GET", "/projects"]).succeeds().json();
    let names: Vec<_> =
        projects["projects"].as_array().unwrap().iter().map(|project| project["id"].clone()).collect();
    assert_eq!(names, ["docs", "forge", "my-app"]);
    assert_eq!(daemons(&house), 1);
}

#[test]
fn a_stop_says_what_goes_on_and_the_next_start_finds_it() {
    let house = House::new();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    let agents = house.agents();
    house.ao(&["stop"]).succeeds().says(&session);
    until("the daemon ends", || daemons(&house) == 0);
    assert_eq!(house.agents(), agents, "agents go on");
    house.ao(&["status"]).exits(6).says("ao start");
    house.start();
    house.wait_for(&session, "idle");
    assert_eq!(house.agents(), agents);
    house.ao(&["send", &session, "and again"]).succeeds();
    assert_eq!(house.turns(&session), ["[[say hello]]", "and again"]);
}

#[test]
fn a_daemon_of_another_build_is_replaced_while_its_agents_go_on() {
    let house = House::new();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    let (agents, before) = (house.agents(), house.daemon_pid());
    let mut command = std::process::Command::new(installed_anew(&house));
    command.args(["start", "--port", "0", "--json"]).current_dir(house.repository());
    house.surround(&mut command);
    let started = Ran::of(command.output().unwrap()).succeeds().json();
    assert_eq!(started["replaced"], true);
    assert_ne!(house.daemon_pid(), before);
    assert_eq!(daemons(&house), 1);
    assert_eq!(house.agents(), agents);
    house.ao(&["send", &session, "and again"]).succeeds();
}

#[test]
fn a_daemon_that_is_replaced_keeps_its_port() {
    let house = House::new();
    house.start();
    let before = house.daemon();
    let mut command = std::process::Command::new(installed_anew(&house));
    command.args(["start", "--json"]).current_dir(house.repository());
    house.surround(&mut command);
    let started = Ran::of(command.output().unwrap()).succeeds().json();
    assert_eq!((&started["replaced"], &started["daemon"]["url"]), (&true.into(), &before["url"]));
    assert_ne!(started["daemon"]["pid"], before["pid"]);
}

#[test]
fn a_daemon_that_is_a_service_is_replaced_by_its_manager() {
    let house = House::new();
    house.start();
    let main = house.path("main.pid");
    fs::write(&main, house.daemon_pid().to_string()).unwrap();
    let other = installed_anew(&house);
    // A manager that knows one service.
    let systemctl = house.path("bin/systemctl");
    fs::create_dir(house.path("bin")).unwrap();
    let script = r#"#!/bin/sh
        case "$2" in
            show) cat "$HOME/main.pid" ;;
            restart)
                echo "$@" >> "$HOME/asked"
                kill "$(cat "$HOME/main.pid")"
                "$HOME/ao" daemon --data-dir "$HOME/data" --port 0 </dev/null >/dev/null 2>&1 &
                echo $! > "$HOME/main.pid" ;;
        esac"#;
    fs::write(&systemctl, script).unwrap();
    fs::set_permissions(&systemctl, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = std::process::Command::new(&other);
    command.args(["start", "--json"]).current_dir(house.repository());
    house.surround(&mut command);
    let path = format!("{}:{}", house.path("bin").display(), std::env::var("PATH").unwrap());
    let started = Ran::of(command.env("PATH", path).output().unwrap()).succeeds().json();
    assert_eq!(started["replaced"], true);
    assert_eq!(fs::read_to_string(house.path("asked")).unwrap(), "--user restart ao.service\n");
    assert_eq!(started["daemon"]["pid"].to_string(), fs::read_to_string(&main).unwrap().trim());
    assert_eq!(daemons(&house), 1);
}

/// The same program, installed anew: another build, as far as one can tell.
fn installed_anew(house: &House) -> PathBuf {
    let other = house.path("ao");
    fs::copy(env!("CARGO_BIN_EXE_ao"), &other).unwrap();
    other
}

#[test]
fn what_cannot_be_started_is_said_with_its_own_code_and_leaves_nothing() {
    let house = House::bare();
    let empty = house.path("empty");
    fs::create_dir(&empty).unwrap();
    let unborn = house.path("unborn");
    fs::create_dir(&unborn).unwrap();
    git(&unborn, &["init", "--quiet"]);
    let bare = house.path("bare.git");
    fs::create_dir(&bare).unwrap();
    git(&bare, &["init", "--quiet", "--bare"]);
    for (folder, code) in [(&empty, 10), (&unborn, 11), (&bare, 12)] {
        let before = fs::read_dir(folder).unwrap().count();
        let ran = house.ao_in(folder, &["start", "--port", "0"]).exits(code);
        assert!(ran.err.contains("hint:"), "{}", ran.err);
        assert_eq!(fs::read_dir(folder).unwrap().count(), before, "nothing is left in {}", folder.display());
    }
    assert_eq!(daemons(&house), 0);

    crate::fleet::make_repository(&house.repository());
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    house.ao(&["start", "--port", &port]).exits(14).says(&port);
    assert_eq!(daemons(&house), 0);

    fs::write(house.config_file(), "defaults:\n  runtim: tmux\n").unwrap();
    house.ao(&["start", "--port", "0"]).exits(2).says("runtime").says("agent-orchestrator.yaml:2:3");
    assert_eq!(daemons(&house), 0);
}

#[test]
fn a_bad_edit_keeps_what_was_in_force_and_is_told_of() {
    let house = House::new();
    house.start();
    let good = fs::read_to_string(house.config_file()).unwrap();
    fs::write(house.config_file(), format!("{good}lifecycle: {{ maxParallelAgents: 3 }}\n")).unwrap();
    until("the edit is in force", || house.daemon()["maxParallelAgents"] == 3);
    fs::write(house.config_file(), format!("{good}lifecycle: {{ maxParallelAgent: 4 }}\n")).unwrap();
    until("the bad edit is told of", || house.daemon()["configProblem"].is_string());
    assert_eq!(house.daemon()["maxParallelAgents"], 3);
    assert!(house.daemon()["configProblem"].as_str().unwrap().contains("maxParallelAgents"));
    fs::write(house.config_file(), format!("{good}lifecycle: {{ maxParallelAgents: 4 }}\n")).unwrap();
    until("the next edit is in force", || house.daemon()["maxParallelAgents"] == 4);
    assert!(house.daemon()["configProblem"].is_null());
}
