//! What a configuration would have done with what was recorded.

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
    let none = home.run(&["simulate", "--config", "ao.yaml"]);
    assert!(none.starts_with("exit 1") && none.contains("`ao events export > events.ndjson`"), "{none}");
}

#[test]
fn a_partial_record_and_a_configuration_that_cannot_work_are_reported() {
    let home = Home::new();
    let event = |seq: u64| {
        let body = serde_json::json!({ "limited": { "until": 9 } });
        let event = serde_json::json!({
            "seq": seq, "at": seq, "kind": "account.limited", "version": 1, "scope": "scripted", "body": body,
        });
        format!("{event}\n")
    };
    let play = |config: &str, seqs: &[u64]| {
        fs::write(home.path().join("ao.yaml"), config).unwrap();
        fs::write(home.path().join("events"), seqs.iter().map(|seq| event(*seq)).collect::<String>())
            .unwrap();
        home.run(&["simulate", "--config", "ao.yaml", "--events", "events"])
    };
    let plain = "defaults: { notifiers: [] }\nprojects: { app: { path: /tmp/app } }\n";
    assert!(!play(plain, &[1, 2]).contains("warning"), "{}", play(plain, &[1, 2]));
    assert!(play(plain, &[41, 42]).contains("warning: `events` begins with event 41, so "));
    assert!(play(plain, &[1, 2, 5]).contains("warning: in `events`, event 5 follows event 2, so "));
    assert!(play(CONFIG, &[1]).contains("the notifier `slack` cannot send"));
    let told = play("defaults: { runtime: docker }\nprojects: { app: { path: /tmp/app } }\n", &[1]);
    assert!(told.starts_with("exit 2") && told.contains("the runtime `docker` is not available"), "{told}");
}
