//! How many at a time, and what waits.

use std::collections::BTreeSet;

use crate::house::{House, until};

/// acceptance: L6
#[test]
fn never_more_than_the_cap_run_and_the_queue_is_visible_and_survives_a_restart() {
    let house = House::with("lifecycle: { maxParallelAgents: 4 }\n");
    house.start();
    let issues: Vec<String> = (1..=20).map(|issue| issue.to_string()).collect();
    for issue in &issues {
        house.ao(&["issue", "add", &format!("Issue {issue}")]).succeeds();
    }
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
    until("four run", || {
        assert!(agents(&house) <= 4, "more than four agents at once");
        states().iter().filter(|state| *state == "idle").count() == 4
    });
    assert_eq!((states().len(), queued(&states())), (20, 16));
    let waiting = house.ao(&["status", "--json"]).succeeds().json();
    let waiting =
        waiting["sessions"].as_array().unwrap().iter().find(|session| session["status"]["state"] == "queued");
    let waiting = waiting.unwrap()["name"].as_str().unwrap().to_owned();
    house.ao(&["explain", &waiting]).succeeds().says("all 4 agent slots are in use");

    house.ao(&["stop"]).succeeds();
    house.start();
    assert_eq!(queued(&states()), 16);
    // Whoever ends makes room for exactly one.
    let running = house.ao(&["list", "--json"]).succeeds().json();
    let running =
        running["sessions"].as_array().unwrap().iter().find(|session| session["status"]["state"] == "idle");
    let running = running.unwrap()["name"].as_str().unwrap().to_owned();
    house.ao(&["stop", &running]).succeeds();
    until("the next one runs", || {
        assert!(agents(&house) <= 4, "more than four agents at once");
        let states = states();
        queued(&states) == 15 && states.iter().filter(|state| *state == "idle").count() == 4
    });
    assert_eq!(most_at_once(&house), 4);
}

/// How many agents run, without what they have started themselves.
fn agents(house: &House) -> usize {
    let pids = house.agents();
    let parent = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<i32>().ok()
    };
    // One whose parent cannot be told has just gone.
    pids.iter().filter_map(parent).filter(|parent| !pids.contains(parent)).count()
}

/// How many sessions had a slot at once at most, by what was written down, so that no moment is missed.
fn most_at_once(house: &House) -> usize {
    let told = house.ao(&["events", "--after", "0", "--json"]).succeeds().out;
    let mut with_slot = BTreeSet::new();
    let mut most = 0;
    for line in told.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        let session = event["sessionId"].as_str().unwrap_or_default().to_owned();
        match event["kind"].as_str().unwrap() {
            "session.admitted" => drop(with_slot.insert(session)),
            "session.ended" | "session.exited" | "session.requeued" => drop(with_slot.remove(&session)),
            _ => {}
        }
        most = most.max(with_slot.len());
    }
    most
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
    house.wait_for(&session, "idle");
}
