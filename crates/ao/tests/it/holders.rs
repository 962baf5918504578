//! What holds an agent's terminal is killed, and the agent lives on.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process};

use crate::fleet::processes_with;
use crate::house::{House, until};

/// A house whose agents go on without their terminals, as programs do that ignore the hang-up.
fn house() -> House {
    let house = House::new();
    let usual = house.usual_config("my-app");
    let program = format!("\"program\":\"{}\"", ao_testkit::scripted::program().display());
    assert!(usual.contains(&program), "{usual}");
    let script = house.path("outlives");
    let text =
        format!("#!/bin/sh\ntrap '' HUP\nexec '{}' \"$@\"\n", ao_testkit::scripted::program().display());
    fs::write(&script, text).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    let config = usual.replacen(&program, &format!("\"program\":\"{}\"", script.display()), 1).replacen(
        "\"SCRIPTED_HOME\":",
        "\"SCRIPTED_SCRIPT\":\"outlive-terminal\",\"SCRIPTED_HOME\":",
        1,
    );
    fs::write(house.config_file(), config).unwrap();
    house.start();
    house
}

/// The process that holds the only agent: the agent's parent.
fn holder(agent: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{agent}/stat")).unwrap();
    let parent = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap();
    let name = fs::read_to_string(format!("/proc/{parent}/cmdline")).unwrap();
    assert!(name.contains("shim"), "{name}");
    parent.parse().unwrap()
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_session_whose_holder_was_killed_is_begun_again_and_hears_what_was_said_to_it() {
    let house = house();
    let session = house.session("Wait", "[[say hello]]");
    house.wait_for(&session, "idle");
    let conversation = house.status(&session)["agent"]["conversation"].clone();
    let before = house.agents();
    assert_eq!(before.len(), 1, "{before:?}");
    kill(holder(before[0]));
    // It is said at once, and not taken for an agent that is well.
    until("the loss is noticed", || house.ao(&["events"]).succeeds().out.contains("held its agent is gone"));
    house.ao(&["send", &session, "the check is red"]).succeeds();
    assert_eq!(house.turns(&session), ["[[say hello]]", "the check is red"]);
    house.wait_for(&session, "idle");
    assert_eq!(house.status(&session)["agent"]["conversation"], conversation, "it goes on where it was");
    let after = house.agents();
    assert!(after.len() == 1 && after != before, "one agent, and another one: {before:?} {after:?}");
    house.ao(&["verify"]).succeeds();
    house.ao(&["stop", &session]).succeeds();
    until("nothing of it is left", || {
        processes_with(&format!("SCRIPTED_HOME={}", house.path("agents").display())).is_empty()
    });
}

/// The daemon was not there when it happened.
#[test]
fn a_daemon_that_starts_finds_agents_whose_holders_are_gone() {
    let house = house();
    let session = house.session("Wait", "[[say hello]]");
    house.wait_for(&session, "idle");
    let before = house.agents();
    let holder = holder(before[0]);
    kill(house.daemon_pid());
    kill(holder);
    until("the daemon is gone", || house.ao(&["start", "--port", "0"]).code == 0);
    until("it is begun again", || {
        let now = house.agents();
        now.len() == 1 && now != before
    });
    house.ao(&["send", &session, "are you there?"]).succeeds();
    assert_eq!(house.turns(&session), ["[[say hello]]", "are you there?"]);
    house.ao(&["stop", &session]).succeeds();
}
