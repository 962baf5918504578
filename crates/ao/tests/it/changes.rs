//! Changes of the configuration and of the projects while a daemon runs.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use crate::fleet::make_repository;
use crate::house::{House, Ran, until};

#[test]
fn a_daemon_takes_up_what_is_set() {
    let house = House::new();
    house.start();
    let ran = house.ao(&["config", "set", "projects.my-app.maxParallelAgents", "1"]).succeeds();
    assert!(ran.out.contains("The daemon has applied it"), "{}", ran.out);
    let projects = house.ao(&["api", "GET", "/projects"]).succeeds().json();
    assert_eq!(projects["projects"][0]["maxParallelAgents"], 1, "{projects}");

    let before = fs::read_to_string(house.config_file()).unwrap();
    house.ao(&["config", "set", "projects.my-app.maxParallelAgents", "many"]).exits(2);
    assert_eq!(fs::read_to_string(house.config_file()).unwrap(), before);

    let told =
        house.ao(&["config", "set", "--json", "projects.my-app.maxParallelAgents", "2"]).succeeds().json();
    assert_eq!(told["changed"], true);
    assert!(told["daemon"]["configs"].is_array(), "{told}");
}

#[test]
fn a_project_joins_the_daemon_and_leaves_it_only_without_live_sessions() {
    let house = House::new();
    house.start();
    let docs = house.path("docs");
    make_repository(&docs);
    house.ao(&["add-project", "../docs"]).succeeds().says("Added docs").says("The daemon has applied it");
    let names = |house: &House| -> Vec<String> {
        let known = house.ao(&["api", "GET", "/projects"]).succeeds().json();
        let projects = known["projects"].as_array().unwrap().iter();
        let mut names: Vec<String> =
            projects.map(|project| project["id"].as_str().unwrap().to_owned()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&house), ["docs", "my-app"]);

    let session = house.session("Say hello", "[[say hello]]");
    let before = fs::read_to_string(house.config_file()).unwrap();
    house.ao(&["remove-project", "my-app"]).exits(1).says("ao stop --project my-app --all");
    assert_eq!(fs::read_to_string(house.config_file()).unwrap(), before);

    house.ao(&["remove-project", "docs"]).succeeds().says("Removed docs from");
    assert_eq!(names(&house), ["my-app"]);
    assert!(docs.join(".git").is_dir(), "nothing is deleted");
    house.wait_for(&session, "idle");
}

#[test]
fn a_repository_with_a_file_of_its_own_is_told_to_the_daemon() {
    let house = House::new();
    house.start();
    let other = house.path("other");
    make_repository(&other);
    let own = other.join("agent-orchestrator.yaml");
    fs::write(&own, house.usual_config("other")).unwrap();
    house.ao(&["add-project", "../other"]).succeeds().says("The daemon now manages other");
    let text = fs::read_to_string(&own).unwrap();
    house.ao(&["remove-project", "other"]).succeeds().says("no longer manages other");
    assert_eq!(fs::read_to_string(&own).unwrap(), text, "it belongs to the repository");
    house.ao(&["remove-project", "other"]).exits(5).says("there is no project `other`");
}

#[test]
fn the_address_of_the_dashboard_signs_in_once() {
    let house = House::new();
    house.start();
    let url = house.daemon()["url"].as_str().unwrap().to_owned();
    let shown = house.ao(&["dashboard", "--no-open"]).succeeds().out;
    let code = shown.trim_end().strip_prefix(&format!("{url}/#code=")).expect(&shown);
    assert!(code.len() >= 16, "{shown}");
    let other = house.ao(&["dashboard", "--json"]).succeeds().json();
    assert_eq!(other["opened"], false, "there is no desktop here");
    assert_ne!(other["url"], shown.trim_end(), "each code is a new one");
}

#[test]
fn on_a_desktop_the_browser_gets_the_code_and_the_terminal_does_not() {
    let house = House::new();
    house.start();
    let bin = house.path("bin");
    fs::create_dir(&bin).unwrap();
    let opener = bin.join("xdg-open");
    fs::write(&opener, format!("#!/bin/sh\necho \"$1\" > {}\n", house.path("opened").display())).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = house.command(&house.repository(), &["dashboard"]);
    command.env("PATH", &bin).env("DISPLAY", ":0");
    let ran = Ran::of(command.output().unwrap()).succeeds().says("Opened http://127.0.0.1:");
    assert!(!ran.out.contains("code=") && !ran.err.contains("code="), "{ran:?}");
    let opened = fs::read_to_string(house.path("opened")).unwrap();
    assert!(opened.contains("/#code="), "{opened}");
}

#[test]
fn a_service_does_not_start_a_second_daemon_beside_the_one_that_runs() {
    let house = House::new();
    house.start();
    let bin = house.path("bin");
    fs::create_dir(&bin).unwrap();
    let manager = bin.join("systemctl");
    fs::write(&manager, format!("#!/bin/sh\necho \"$@\" >> {}\n", house.path("asked").display())).unwrap();
    fs::set_permissions(&manager, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = house.command(&house.repository(), &["service", "install"]);
    Ran::of(command.env("PATH", &bin).output().unwrap())
        .succeeds()
        .says("ao stop && systemctl --user start ao");
    let asked = fs::read_to_string(house.path("asked")).unwrap();
    assert!(asked.contains("enable ao.service") && !asked.contains("--now"), "{asked}");
}

#[test]
fn the_doctor_knows_the_daemon_that_runs() {
    let house = House::new();
    house.start();
    let told = house.ao(&["doctor", "--json"]).json();
    let checks = told["checks"].as_array().unwrap();
    let daemon = checks.iter().find(|check| check["id"] == "daemon").unwrap();
    assert_eq!(daemon["level"], "ok", "{daemon}");
    let pid = house.daemon_pid();
    assert!(daemon["what"].as_str().unwrap().contains(&pid.to_string()), "{daemon}");
}

#[test]
fn the_doctor_finds_agents_that_go_on_without_a_daemon() {
    let house = House::new();
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.wait_for(&session, "idle");
    house.ao(&["stop"]).succeeds();
    let found = |house: &House| {
        let told = house.ao(&["doctor", "--json"]).json();
        let checks = told["checks"].as_array().unwrap().clone();
        checks.into_iter().find(|check| check["id"] == "agents")
    };
    let alone = found(&house).expect("the agent goes on");
    assert_eq!(alone["fix"], "ao start", "{alone}");
    house.start();
    assert_eq!(found(&house), None);
}

#[test]
fn a_clone_that_is_interrupted_leaves_nothing() {
    let house = House::new();
    let here = house.path("here");
    fs::create_dir(&here).unwrap();
    // A server that takes the call and never answers.
    let server = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("git://127.0.0.1:{}/owner/app", server.local_addr().unwrap().port());
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let mut command = house.command(&here, &["start", &url]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (_connection, _) = server.accept().unwrap();
        until("the clone has begun", || here.read_dir().unwrap().next().is_some());
        kill_process(Pid::from_child(&child), signal).unwrap();
        Ran::of(child.wait_with_output().unwrap()).exits(code).says("nothing was left behind");
        assert_eq!(here.read_dir().unwrap().count(), 0, "nothing half made");
    }
}
