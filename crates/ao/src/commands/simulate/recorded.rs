//! A record of what happened, played to the core as facts: what was seen of agents, tasks, accounts and pull requests. What was
//! decided then is left out, because that is what is to be found out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use ao_core::event::AccountEvent;
use ao_core::evidence::{Activity, Reading};
use ao_core::input::SpawnRequest;
use ao_core::project::ProjectEvent;
use ao_core::pull::{PullEvent, PullInput};
use ao_core::session::{Outcome, SessionEvent, SessionInput, SessionSpec};
use ao_core::task::TaskEvent;
use ao_core::{Event, Input, SessionId, Stamped, State, Timestamp, codec};
use camino::Utf8Path;
use serde_json::Value;

use super::deed::Deed;
use super::theatre::Theatre;
use crate::error::{CommandError, Kind};

/// Reads what `ao events export` or `ao events --json` has written.
pub(super) fn read(path: &Utf8Path) -> Result<Vec<Stamped>, CommandError> {
    let file = File::open(path).map_err(|err| {
        CommandError::new(Kind::User, format!("`{path}` cannot be read: {err}"))
            .hint("`ao events export > FILE` writes one")
    })?;
    let mut events = Vec::new();
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        let line =
            line.map_err(|err| CommandError::new(Kind::User, format!("`{path}`, line {number}: {err}")))?;
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |why: String| {
            CommandError::new(Kind::User, format!("`{path}`, line {number}: {why}"))
                .hint("it has to be what `ao events export` or `ao events --json` has written")
        };
        let record: Value =
            serde_json::from_str(&line).map_err(|err| wrong(format!("it is no JSON: {err}")))?;
        // Documents beside the log, such as local issues, follow behind the last event.
        if record.get("shelf").is_some() {
            continue;
        }
        events.push(event(&record).map_err(wrong)?);
    }
    if events.is_empty() {
        return Err(CommandError::new(Kind::User, format!("there are no events in `{path}`"))
            .hint("`ao events export` writes all of them, and `ao events --json` only the latest"));
    }
    Ok(events)
}

fn event(record: &Value) -> Result<Stamped, String> {
    let text = |names: [&str; 2]| names.into_iter().find_map(|name| record[name].as_str());
    let kind = text(["kind", "kind"]).ok_or("it has no `kind`")?;
    let scope = text(["scope", "concerns"]).ok_or("it says not whom it concerns")?;
    let body = record.get("body").or_else(|| record.get("data")).ok_or("it has no `body` or `data`")?;
    let version = match record.get("version") {
        None => codec::VERSION,
        Some(version) => {
            version.as_u64().and_then(|it| u16::try_from(it).ok()).ok_or("its `version` is no number")?
        }
    };
    let at = match &record["at"] {
        Value::Number(millis) => millis.as_i64().map(Timestamp),
        Value::String(time) => time.parse::<jiff::Timestamp>().ok().map(|it| Timestamp(it.as_millisecond())),
        _ => None,
    };
    let at = at.ok_or("its `at` is no time")?;
    let event = codec::decode(kind, version, scope, &body.to_string()).map_err(|err| err.to_string())?;
    Ok(Stamped { at, event })
}

/// Plays a record, and returns what would have been done.
pub(super) fn play(theatre: Theatre, events: Vec<Stamped>) -> Vec<Deed> {
    let mut play = Play { theatre, truth: State::default(), sessions: BTreeMap::new() };
    for stamped in events {
        play.theatre.until(stamped.at);
        play.truth.evolve(&stamped);
        play.fact(&stamped.event);
        while play.theatre.next_event().is_some() {}
    }
    play.theatre.deeds
}

struct Play {
    theatre: Theatre,
    /// What was so, by the record.
    truth: State,
    /// The sessions of the record, with those that play them.
    sessions: BTreeMap<SessionId, SessionId>,
}

impl Play {
    fn fact(&mut self, event: &Event) {
        match event {
            // The configuration that is tried says what holds for the projects that it names.
            Event::Project(id, ProjectEvent::Configured { config })
                if !self.theatre.state.projects.contains_key(id) =>
            {
                self.theatre.configure(id.clone(), (**config).clone());
            }
            Event::Task(task, TaskEvent::Seen { facts }) => {
                self.theatre.take(Input::Task { task: task.clone(), facts: Box::new(facts.clone()) });
            }
            Event::Account(account, AccountEvent::Limited { until }) => {
                self.theatre.take(Input::AccountLimited { account: account.clone(), until: *until });
            }
            Event::Session(id, event) => self.session(*id, event),
            Event::Pull(id, event) => {
                let input = match event {
                    PullEvent::Claimed { session } => {
                        self.sessions.get(session).map(|session| PullInput::Claim { session: *session })
                    }
                    // The last of what one look has found.
                    PullEvent::Seen { .. } => {
                        self.truth.pulls.get(id).map(|pull| PullInput::Seen(Box::new(pull.facts.clone())))
                    }
                    _ => None,
                };
                if let Some(input) = input {
                    self.theatre.take(Input::Pull { pull: id.clone(), input });
                }
            }
            _ => {}
        }
    }

    fn session(&mut self, id: SessionId, event: &SessionEvent) {
        if let SessionEvent::Queued { spec } = event {
            while self.theatre.next_event().is_some() {}
            self.theatre.take(Input::Spawn(Box::new(request(spec))));
            while let Some(stamped) = self.theatre.next_event() {
                if let Event::Session(played, SessionEvent::Queued { .. }) = stamped.event {
                    self.sessions.insert(id, played);
                }
            }
            return;
        }
        let Some(played) = self.sessions.get(&id).copied() else { return };
        let works = self.truth.sessions.get(&id).is_some_and(|it| it.judgement.activity == Activity::Working);
        if works {
            self.theatre.busy.insert(played)
        } else {
            self.theatre.busy.remove(&played)
        };
        match event {
            // What a failed look says is about the look.
            SessionEvent::SignalSeen { signal } if !matches!(signal.reading, Reading::Unreadable { .. }) => {
                self.theatre.shows(played, signal.reading.clone());
            }
            SessionEvent::Ended { outcome: Outcome::Stopped { by, why } } => {
                let (by, why) = (by.clone(), why.clone());
                self.theatre.tell(played, SessionInput::Stop { by, why });
            }
            _ => {}
        }
    }
}

fn request(spec: &SessionSpec) -> SpawnRequest {
    let spec = spec.clone();
    SpawnRequest {
        project: spec.project,
        task: spec.task,
        role: spec.role,
        title: spec.title,
        prompt: spec.prompt,
        name: Some(spec.name),
        branch: Some(spec.branch),
        origin: spec.origin,
        agent: spec.agent,
        runtime: spec.runtime,
        workspace: spec.workspace,
        priority: spec.priority,
        limits: spec.limits,
        trusted: spec.trusted,
    }
}
