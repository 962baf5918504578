//! How many at a time, and what waits.

use std::fs;

use crate::house::{House, until};

/// acceptance: L6
#[test]
fn never_more_than_the_cap_run_and_the_queue_is_visible_and_survives_a_restart() {
    let house = House::with("lifecycle: { maxParallelAgents: 4 }\n");
    house.start();
    let issues: Vec<String> = (1..=20).map(|issue| issue.to_string()).collect();
    let mut args = vec!["batch-spawn"];
    args.extend(issues.iter().map(String::as_str));
    house.ao(&args).succeeds();
    let states = || {
        let listed = house.ao(&["list", "--json"]).succeeds().json();
        let sessions = listed["sessions"].as_array().unwrap().clone();
        let state = |session: &serde_json::Value| session["status"]["state"].as_str().unwrap().to_owned();
        sessions.iter().map(state).collect::<Vec<_>>()
    };
    let queued = |states: &[String]| states.iter().filter(|state| *state == "queued").count();
    until("four run", || states().iter().filter(|state| *state == "idle").count() == 4);
    assert_eq!((states().len(), queued(&states())), (20, 16));
    assert!(house.agents().len() <= 4 * 2, "each is a program and what it may have started");
    let waiting = house.ao(&["status", "--json"]).succeeds().json();
    let waiting =
        waiting["sessions"].as_array().unwrap().iter().find(|session| session["status"]["state"] == "queued");
    let waiting = waiting.unwrap()["name"].as_str().unwrap().to_owned();
    house.ao(&["explain", &waiting]).succeeds().says("4");

    house.ao(&["stop"]).succeeds();
    house.start();
    assert_eq!(queued(&states()), 16);
    // Whoever ends makes room for exactly one.
    let running = house.ao(&["list", "--json"]).succeeds().json();
    let running =
        running["sessions"].as_array().unwrap().iter().find(|session| session["status"]["state"] == "idle");
    let running = running.unwrap()["name"].as_str().unwrap().to_owned();
    house.ao(&["stop", &running]).succeeds();
    until("the next one runs", || queued(&states()) == 15);
}

/// acceptance: L6
#[test]
fn with_too_little_free_memory_a_session_waits() {
    let house = House::with("lifecycle: { minFreeMemory: 900TB }\n");
    house.start();
    let session = house.session("Say hello", "[[say hello]]");
    house.ao(&["why", &session]).succeeds().says("memory");
    assert_eq!(house.state(&session), "queued");
    house.configure("lifecycle: { minFreeMemory: 1MB }\n");
    let _ = fs::metadata(house.config_file()).unwrap();
    house.wait_for(&session, "idle");
}
