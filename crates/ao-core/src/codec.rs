//! Encoding of events for the log, and decoding of every released version.
//!
//! A stored event is its kind (`session.queued`), the version of its body, whom it concerns, and the body as JSON. When
//! the shape of a body changes, [`VERSION`] goes up, [`UPCASTS`] gets the step from the version before, and a fixture of
//! the old version stays in the tests for good.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::event::Event;
use crate::incident::{IncidentEvent, IncidentKey};

/// The version that this program writes.
pub const VERSION: u16 = 1;

/// Converts a body of one version to the next.
type BodyUpcast = fn(kind: &str, body: Value) -> Value;

/// The step from version `i + 1` to version `i + 2`. The first release has no earlier versions.
const UPCASTS: [BodyUpcast; VERSION as usize - 1] = [];

/// An event as stored in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedEvent {
    pub kind: String,
    pub version: u16,
    pub scope: String,
    pub body: String,
}

/// An error while reading a stored event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error(
        "the event `{kind}` has version {version}, and this ao reads versions up to {VERSION}; install a newer ao"
    )]
    Newer { kind: String, version: u16 },
    #[error("the event `{kind}` is of a kind that this ao does not know; install a newer ao")]
    UnknownKind { kind: String },
    #[error("the event `{kind}` of `{scope}` cannot be read: {detail}")]
    Malformed { kind: String, scope: String, detail: String },
}

/// Encodes an event for the log.
pub fn encode(event: &Event) -> EncodedEvent {
    let (aggregate, body) = match event {
        Event::Host(event) => ("host", json(event)),
        Event::Account(_, event) => ("account", json(event)),
        Event::Project(_, event) => ("project", json(event)),
        Event::Task(_, event) => ("task", json(event)),
        Event::Session(_, event) => ("session", json(event)),
        Event::Pull(_, event) => ("pull", json(event)),
        Event::Queue(_, event) => ("queue", json(event)),
        Event::Incident(key, event) => ("incident", json(&(event, key))),
        Event::Notice(_, event) => ("notice", json(event)),
        Event::Job(_, event) => ("job", json(event)),
        Event::Budget(_, event) => ("budget", json(event)),
    };
    EncodedEvent {
        kind: format!("{aggregate}.{}", variant(&body)),
        version: VERSION,
        scope: event.concerns(),
        body,
    }
}

/// Reads an event of any released version.
pub fn decode(kind: &str, version: u16, scope: &str, body: &str) -> Result<Event, DecodeError> {
    let malformed =
        |detail: String| DecodeError::Malformed { kind: kind.into(), scope: scope.into(), detail };
    if version > VERSION {
        return Err(DecodeError::Newer { kind: kind.into(), version });
    }
    if version == 0 {
        return Err(malformed("versions begin with 1".into()));
    }
    let upcast;
    let body = if version == VERSION {
        body
    } else {
        let mut value: Value = serde_json::from_str(body).map_err(|err| malformed(err.to_string()))?;
        for step in &UPCASTS[usize::from(version) - 1..] {
            value = step(kind, value);
        }
        upcast = value.to_string();
        &upcast
    };
    fn read<T: DeserializeOwned>(body: &str) -> Result<T, String> {
        serde_json::from_str(body).map_err(|err| err.to_string())
    }
    let aggregate = kind.split_once('.').map_or(kind, |(aggregate, _)| aggregate);
    let event = match aggregate {
        "host" => read(body).map(Event::Host),
        "account" => read(body).map(|event| Event::Account(scope.to_owned(), event)),
        "project" => read(body).map(|event| Event::Project(crate::ProjectId::new(scope), event)),
        "queue" => read(body).map(|event| Event::Queue(crate::ProjectId::new(scope), event)),
        "task" => read(body).and_then(|event| Ok(Event::Task(parse(scope)?, event))),
        "session" => read(body).and_then(|event| Ok(Event::Session(parse(scope)?, event))),
        "pull" => read(body).and_then(|event| Ok(Event::Pull(parse(scope)?, event))),
        "budget" => read(body).and_then(|event| Ok(Event::Budget(parse(scope)?, event))),
        "job" => read(body).and_then(|event| Ok(Event::Job(parse(scope)?, event))),
        "notice" => read(body).and_then(|event| Ok(Event::Notice(parse(scope)?, event))),
        "incident" => {
            read::<(IncidentEvent, IncidentKey)>(body).map(|(event, key)| Event::Incident(key, event))
        }
        _ => return Err(DecodeError::UnknownKind { kind: kind.into() }),
    };
    event.map_err(malformed)
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("events are plain data with string keys")
}

fn parse<T: std::str::FromStr<Err = crate::BadId>>(scope: &str) -> Result<T, String> {
    scope.parse().map_err(|err: crate::BadId| err.to_string())
}

/// Returns the name of the variant: the first key in an externally tagged body, so that the two cannot differ.
fn variant(body: &str) -> &str {
    body.split('"').nth(1).unwrap_or_default()
}
