//! Agents that are spoken to by the protocol of their maker, over the end of the daemon and of their own process.

use ao_testkit::scripted;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::house::{House, until};

/// The conversation of every agent that the test kit has for a protocol.
const CONVERSATION: &str = "talk";

fn goes_on_after_crashes(protocol: &str) {
    let house = House::new();
    let args = ["--speak", protocol];
    let manifest = json!({
        "program": scripted::program(), "args": args, "resume": args, "protocol": protocol,
        "env": { "SCRIPTED_HOME": house.path("agents") },
    });
    house.configure_project("", &format!("  spoken: {manifest}\n"));
    house.start();
    let turns = || scripted::AgentHome::new(house.path("agents")).turns(CONVERSATION);
    let prompt = "[[ask May I?]]";
    house.ao(&["new", "Talk", "--name", "talk", "--agent", "spoken", "--prompt", prompt]).succeeds();
    house.wait_for("talk", "needs_input");

    // The ask is answered to the next daemon, and the process is the same.
    kill(house.daemon_pid());
    house.start();
    house.wait_for("talk", "needs_input");
    house.ao(&["answer", "talk", "yes"]).succeeds();
    house.wait_for("talk", "idle");
    house.ao(&["send", "talk", "second"]).succeeds();
    until("it has taken the message", || turns().len() == 2);
    house.wait_for("talk", "idle");

    for agent in house.agents() {
        kill(agent);
    }
    house.ao(&["send", "talk", "third"]).succeeds();
    until("the next process has taken the message", || turns().iter().any(|turn| turn.contains("third")));
    house.wait_for("talk", "idle");
    let turns = turns();
    for text in [prompt, "second", "third"] {
        let times = turns.iter().filter(|turn| turn.contains(text)).count();
        assert_eq!(times, 1, "{text}: {turns:?}");
    }
}

fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn an_agent_of_stream_json_goes_on_after_crashes() {
    goes_on_after_crashes("claude");
}

#[test]
fn an_agent_of_the_app_server_goes_on_after_crashes() {
    goes_on_after_crashes("codex");
}

#[test]
fn an_agent_of_acp_goes_on_after_crashes() {
    goes_on_after_crashes("acp");
}
