//! Agents that report about themselves without a pause.

use crate::house::{House, until};

/// 20,000 lines about what was used up, as fast as a shell prints them.
const USAGE: &str = r#"i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo "{\"ao\":\"spent\",\"micros\":$i,\"turns\":1}"; done"#;

/// The same about what the agent does.
const MOODS: &str =
    r#"i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo '{"ao":"working"}'; echo '{"ao":"idle"}'; done"#;

#[test]
fn what_a_flooding_agent_says_is_summed_up_and_that_is_said_once() {
    let house = House::with("");
    let agent = |name: &str, script: &str| {
        let script = format!("{script}; echo '{{\"ao\":\"idle\"}}'; exec sleep 300");
        format!(
            "  {name}: {}\n",
            serde_json::json!({ "program": "sh", "args": ["-c", script], "prompt": "lines" })
        )
    };
    house.configure(&format!("{}{}", agent("usage", USAGE), agent("moods", MOODS)));
    house.start();
    for name in ["usage", "moods"] {
        house.ao(&["new", "Go", "--agent", name, "--name", name]).succeeds();
    }
    let events = || {
        let told = house.ao(&["events", "export"]).succeeds().out;
        told.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let count = |kind: &str| events().iter().filter(|line| line.contains(&format!("\"{kind}\""))).count();
    until("all of the usage is known", || {
        events().iter().any(|line| line.contains("\"session.spent\"") && line.contains("\"micros\":20000"))
    });
    until("the flood is over", || house.status("moods")["status"]["state"] == "idle");
    until("both floods were said", || {
        events().iter().filter(|line| line.contains("reports about itself without a pause")).count() == 2
    });
    assert!(count("session.spent") <= 60, "{}", count("session.spent"));
    assert!(count("session.signal_seen") <= 400, "{}", count("session.signal_seen"));
}
