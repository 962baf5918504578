//! What a configuration would have done: in a made-up world, and with what was recorded of a real one.

use std::fs;

use serde_json::Value;

use crate::house::{House, until};
use crate::support::Home;

const CONFIG: &str = "\
defaults: { notifiers: [slack] }
projects: { app: { path: /tmp/app } }
notificationRouting: { urgent: [desktop] }
";

fn summary(told: &Value, of: &str) -> u64 {
    told["summary"][of].as_u64().unwrap_or_else(|| panic!("{of}: {told}"))
}

#[test]
fn a_made_up_world_shows_what_a_configuration_does_and_touches_nothing() {
    let home = Home::new();
    fs::write(home.path().join("off.yaml"), CONFIG).unwrap();
    let on = format!("{CONFIG}reactions: {{ approved-and-green: {{ auto: true, action: merge }} }}\n");
    fs::write(home.path().join("on.yaml"), on).unwrap();
    let told = home.run(&["simulate", "--config", "on.yaml", "--seed", "3"]);
    assert!(told.starts_with("exit 0\n-- stdout --\nWhat it would do"), "{told}");
    for part in
        ["approved-and-green", "ci-failed", "In which order", "goes into the merge queue", "more; `--all`"]
    {
        assert!(told.contains(part), "`{part}` is missing in\n{told}");
    }
    assert_eq!(told, home.run(&["simulate", "--config", "on.yaml", "--seed", "3"]), "a seed is a world");
    let json = |file: &str| -> Value {
        let output = home.ao(&["simulate", "--config", file, "--seed", "3", "--json"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let (on, off) = (json("on.yaml"), json("off.yaml"));
    assert_eq!(summary(&off, "merges"), 0, "merging is off until it is switched on");
    assert!(summary(&on, "merges") > 0);
    // Who is asked to merge is told so, by the channel for that; questions go to another one.
    let by = |told: &Value, channel: &str| told["summary"]["noticesByChannel"][channel].as_u64().unwrap_or(0);
    assert!(by(&off, "slack") > by(&on, "slack"), "{off}");
    let deeds = off["deeds"].as_array().unwrap();
    for urgent in deeds.iter().filter(|deed| deed["level"] == "urgent") {
        assert_eq!(urgent["channels"], serde_json::json!(["desktop"]));
    }
    let mut left: Vec<_> =
        fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["off.yaml", "on.yaml", "tmp"]);
}

/// What happened in a house is played to another configuration than the one it happened under.
#[test]
fn a_record_is_played_to_another_configuration() {
    let house = House::new();
    let check = "    checks: [{ name: words, command: \"! grep -r bad *.txt\" }]";
    house.configure_project(check, "reactions: { ci-failed: { action: record } }\n");
    house.start();
    let prompt =
        "[[tool echo bad > a.txt && git add . && git commit -qm Bad && git push -q && ao pr create]]";
    house.session("Say it", prompt);
    let exported = house.path("events.ndjson");
    until("its check has failed", || {
        fs::write(&exported, house.ao(&["events", "export"]).succeeds().out).unwrap();
        let events = fs::read_to_string(&exported).unwrap();
        events
            .lines()
            .any(|line| line.contains(r#""kind":"incident.recorded""#) && line.contains("ci-failed"))
    });
    let play = |config: &str| -> Value {
        house.configure_project(check, config);
        let events = exported.display().to_string();
        house.ao(&["simulate", "--events", &events, "--json"]).succeeds().json()
    };
    let reactions = |told: &Value| told["summary"]["reactions"].as_array().unwrap().clone();
    let as_it_was = play("reactions: { ci-failed: { action: record } }\n");
    assert_eq!((reactions(&as_it_was), summary(&as_it_was, "messages")), (vec![], 0), "{as_it_was}");
    let told = play("reactions: { ci-failed: { rerun: 0, message: 'Look: {{ errors }}' } }\n");
    assert_eq!(reactions(&told).len(), 1, "{told}\n{}", fs::read_to_string(&exported).unwrap());
    assert_eq!(reactions(&told)[0]["event"], "ci-failed");
    let messages = told["deeds"].as_array().unwrap().iter().filter(|deed| deed["deed"] == "message");
    let messages: Vec<&str> = messages.filter_map(|deed| deed["text"].as_str()).collect();
    assert!(messages.len() == 1 && messages[0].starts_with("Look: "), "{messages:?}");
    let escalated = play("reactions: { ci-failed: { rerun: 0, action: notify } }\n");
    assert_eq!((summary(&escalated, "messages"), summary(&escalated, "notices")), (0, 1), "{escalated}");
}

#[test]
fn what_is_no_record_is_refused_with_the_place() {
    let home = Home::new();
    fs::write(home.path().join("ao.yaml"), CONFIG).unwrap();
    let play = |text: &str| {
        fs::write(home.path().join("events"), text).unwrap();
        home.run(&["simulate", "--config", "ao.yaml", "--events", "events"])
    };
    let told = play("{\"seq\":1}\n");
    assert!(told.starts_with("exit 1") && told.contains("`events`, line 1: it has no `kind`"), "{told}");
    assert!(play("\u{1b}[2J no\n").contains("line 1: it is not valid JSON"));
    assert!(play("").contains("there are no events in `events`"));
    let missing = home.run(&["simulate", "--config", "ao.yaml", "--events", "nowhere"]);
    assert!(missing.starts_with("exit 1") && missing.contains("`nowhere` cannot be read"), "{missing}");
    fs::write(home.path().join("ao.yaml"), "projects: {}\n").unwrap();
    let none = home.run(&["simulate", "--config", "ao.yaml"]);
    assert!(none.starts_with("exit 2") && none.contains("no project"), "{none}");
}
