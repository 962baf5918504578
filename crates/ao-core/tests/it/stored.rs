//! What was stored is read for ever.

use std::collections::BTreeSet;

use ao_core::budget::BudgetEvent;
use ao_core::codec::{DecodeError, VERSION, decode, encode};
use ao_core::event::{AccountEvent, HostEvent};
use ao_core::incident::IncidentEvent;
use ao_core::job::JobEvent;
use ao_core::notice::NoticeEvent;
use ao_core::project::ProjectEvent;
use ao_core::pull::PullEvent;
use ao_core::queue::QueueEvent;
use ao_core::session::SessionEvent;
use ao_core::task::TaskEvent;
use ao_core::{StampedEvent, State, Timestamp};

#[test]
fn a_newer_version_is_named_and_not_guessed_at() {
    let newer = decode("session.queued", VERSION + 1, "ses_1", "{}").unwrap_err();
    assert_eq!(newer, DecodeError::Newer { kind: "session.queued".into(), version: VERSION + 1 });
    let unknown = decode("weather.changed", VERSION, "ses_1", "{}").unwrap_err();
    assert_eq!(unknown, DecodeError::UnknownKind { kind: "weather.changed".into() });
    assert!(decode("session.queued", VERSION, "ses_1", "{").is_err());
    assert!(decode("session.look_wanted", VERSION, "not an id", "{\"look_wanted\":{}}").is_err());
    assert!(decode("session.look_wanted", 0, "ses_1", "{\"look_wanted\":{}}").is_err());
}

/// The names of all variants of an event, by the word of its own decoder: a new one cannot be forgotten here.
fn variants<T: serde::de::DeserializeOwned>() -> Vec<String> {
    let err = serde_json::from_str::<T>(r#"{"no such variant":{}}"#).err().expect("there is no such variant");
    let told = err.to_string();
    let list = told.split_once("expected ").expect("the decoder lists what it knows").1;
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn kinds() -> BTreeSet<String> {
    let all = [
        ("host", variants::<HostEvent>()),
        ("account", variants::<AccountEvent>()),
        ("project", variants::<ProjectEvent>()),
        ("task", variants::<TaskEvent>()),
        ("session", variants::<SessionEvent>()),
        ("pull", variants::<PullEvent>()),
        ("queue", variants::<QueueEvent>()),
        ("incident", variants::<IncidentEvent>()),
        ("notice", variants::<NoticeEvent>()),
        ("job", variants::<JobEvent>()),
        ("budget", variants::<BudgetEvent>()),
    ];
    all.into_iter()
        .flat_map(|(aggregate, names)| names.into_iter().map(move |name| format!("{aggregate}.{name}")))
        .collect()
}

/// One stored event a line, in the format of `ao events export`.
#[derive(serde::Deserialize)]
struct Line {
    at: i64,
    kind: String,
    version: u16,
    scope: String,
    body: serde_json::Value,
}

fn fixture(version: u16) -> Vec<Line> {
    let path = format!("{}/tests/fixtures/events-v{version}.jsonl", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|err| {
        panic!("{path}: {err}; every released version keeps its fixture, see CONTRIBUTING.md")
    });
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a fixture line is an exported event"))
        .collect()
}

#[test]
fn every_event_of_every_released_version_still_loads() {
    let mut state = State::default();
    for version in 1..=VERSION {
        for line in fixture(version) {
            assert_eq!(line.version, version);
            let event = decode(&line.kind, line.version, &line.scope, &line.body.to_string())
                .unwrap_or_else(|err| panic!("{err}"));
            state.evolve(&StampedEvent { at: Timestamp(line.at), event });
        }
    }
    assert_eq!(State::from_snapshot(&state.to_snapshot()).unwrap(), state);
}

#[test]
fn every_kind_that_is_written_today_has_its_fixture_and_keeps_its_shape() {
    let mut seen = BTreeSet::new();
    for line in fixture(VERSION) {
        let event = decode(&line.kind, line.version, &line.scope, &line.body.to_string()).unwrap();
        let stored = encode(&event);
        let body: serde_json::Value = serde_json::from_str(&stored.body).unwrap();
        // What it says is what it was: a field that is renamed or dropped would show here.
        assert_eq!((stored.kind, stored.scope, body), (line.kind.clone(), line.scope, line.body));
        seen.insert(line.kind);
    }
    let missing: Vec<_> = kinds().difference(&seen).cloned().collect();
    assert!(
        missing.is_empty(),
        "add one line of each to tests/fixtures/events-v{VERSION}.jsonl: {missing:?}"
    );
    let unknown: Vec<_> = seen.difference(&kinds()).cloned().collect();
    assert!(unknown.is_empty(), "nothing writes these any more: {unknown:?}");
}
