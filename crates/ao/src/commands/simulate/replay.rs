//! Replays recorded events to the core as facts: readings of agents, tasks, accounts and pull requests. Past
//! decisions are left out, because the configuration is to make them anew.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};

use ao_core::event::AccountEvent;
use ao_core::evidence::{AgentActivity, Reading};
use ao_core::input::SpawnRequest;
use ao_core::project::ProjectEvent;
use ao_core::pull::{PullEvent, PullInput};
use ao_core::session::{SessionEvent, SessionInput, SessionOutcome, SessionSpec};
use ao_core::task::TaskEvent;
use ao_core::{Event, Input, SessionId, StampedEvent, State, Timestamp, codec};
use camino::Utf8Path;
use serde_json::Value;

use super::action::SimulatedAction;
use super::simulation::Simulation;
use crate::error::CommandError;

/// Recorded events.
pub(super) struct Record {
    pub(super) events: Vec<StampedEvent>,
    /// The first gap, as a sentence.
    pub(super) gap: Option<String>,
}

/// Reads the output of `ao events export` or `ao events --json`.
pub(super) fn read(path: &Utf8Path) -> Result<Record, CommandError> {
    let file = File::open(path).map_err(|err| {
        CommandError::user(format!("`{path}` cannot be read: {err}"))
            .hint("`ao events export > FILE` writes one")
    })?;
    let mut events = Vec::new();
    let (mut gap, mut last) = (None, 0);
    for (number, line) in (1..).zip(BufReader::new(file).lines()) {
        let line = line.map_err(|err| CommandError::user(format!("`{path}`, line {number}: {err}")))?;
        if line.trim().is_empty() {
            continue;
        }
        let wrong = |why: String| {
            CommandError::user(format!("`{path}`, line {number}: {why}"))
                .hint("the file must be the output of `ao events export` or `ao events --json`")
        };
        let record: Value =
            serde_json::from_str(&line).map_err(|err| wrong(format!("it is not valid JSON: {err}")))?;
        // Documents beside the log, such as local issues, follow the last event.
        if record.get("shelf").is_some() {
            continue;
        }
        events.push(event(&record).map_err(wrong)?);
        let seq = record["seq"].as_u64().unwrap_or(last + 1);
        gap = gap.or_else(|| gap_before(path, last, seq));
        last = seq;
    }
    if events.is_empty() {
        return Err(CommandError::user(format!("there are no events in `{path}`"))
            .hint("`ao events export` writes all of them, and `ao events --json` only the latest"));
    }
    Ok(Record { events, gap })
}

/// Describes the events that are missing between two numbers.
fn gap_before(path: &Utf8Path, last: u64, seq: u64) -> Option<String> {
    let what = match last {
        _ if seq == last + 1 => return None,
        0 => format!("`{path}` begins with event {seq}"),
        _ => format!("in `{path}`, event {seq} follows event {last}"),
    };
    Some(format!(
        "{what}, so the simulation knows nothing of the sessions, issues and pull requests in between"
    ))
}

fn event(record: &Value) -> Result<StampedEvent, String> {
    let text = |names: [&str; 2]| names.into_iter().find_map(|name| record[name].as_str());
    let kind = text(["kind", "kind"]).ok_or("it has no `kind`")?;
    let scope = text(["scope", "concerns"]).ok_or("it has no subject")?;
    let body = record.get("body").or_else(|| record.get("data")).ok_or("it has no `body` or `data`")?;
    let version = match record.get("version") {
        None => codec::VERSION,
        Some(version) => {
            version.as_u64().and_then(|it| u16::try_from(it).ok()).ok_or("its `version` is not a number")?
        }
    };
    let at = match &record["at"] {
        Value::Number(millis) => millis.as_i64().map(Timestamp),
        Value::String(time) => time.parse::<jiff::Timestamp>().ok().map(|it| Timestamp(it.as_millisecond())),
        _ => None,
    };
    let at = at.ok_or("its `at` is not a time")?;
    let event = codec::decode(kind, version, scope, &body.to_string()).map_err(|err| err.to_string())?;
    Ok(StampedEvent { at, event })
}

/// Replays recorded events and returns what would have been done.
pub(super) fn play(
    simulation: Simulation,
    events: Vec<StampedEvent>,
) -> Result<Vec<SimulatedAction>, CommandError> {
    let mut play = RecordReplay { simulation, truth: State::default(), sessions: BTreeMap::new() };
    for stamped in events {
        // Sessions that start meanwhile are noticed at their own time, not with the next fact.
        while let Some(due) = play.simulation.state.next_due().filter(|due| *due < stamped.at)
            && !play.simulation.is_endless()
        {
            play.simulation.until(due);
            play.hear();
        }
        play.simulation.until(stamped.at);
        play.truth.evolve(&stamped);
        play.fact(&stamped.event);
        play.hear();
        if play.simulation.is_endless() {
            break;
        }
    }
    play.simulation.ended()
}

struct RecordReplay {
    simulation: Simulation,
    /// The state according to the record.
    truth: State,
    /// Sessions of the record, and the simulated sessions in their place.
    sessions: BTreeMap<SessionId, SessionId>,
}

impl RecordReplay {
    /// Lets a session that started only here work, until the record shows its agent.
    fn hear(&mut self) {
        while let Some(stamped) = self.simulation.next_event() {
            if let Event::Session(id, SessionEvent::Accepted { .. }) = stamped.event
                && !self.sessions.values().any(|played| *played == id)
            {
                self.simulation.busy.insert(id);
                self.simulation.shows(id, Reading::Working { doing: "its task".into() });
            }
        }
    }

    fn fact(&mut self, event: &Event) {
        match event {
            // The tested configuration applies to the projects that it names.
            Event::Project(id, ProjectEvent::Configured { config })
                if !self.simulation.state.projects.contains_key(id) =>
            {
                self.simulation.configure(id.clone(), (**config).clone());
            }
            Event::Task(task, TaskEvent::Seen { facts }) => {
                self.simulation.take(Input::Task { task: task.clone(), facts: Box::new(facts.clone()) });
            }
            Event::Account(account, AccountEvent::Limited { until }) => {
                self.simulation.take(Input::AccountLimited { account: account.clone(), until: *until });
            }
            Event::Session(id, event) => self.session(*id, event),
            Event::Pull(id, event) => {
                let input = match event {
                    PullEvent::Claimed { session } => {
                        self.sessions.get(session).map(|session| PullInput::Claim { session: *session })
                    }
                    // The last event of one look.
                    PullEvent::Seen { .. } => {
                        self.truth.pulls.get(id).map(|pull| PullInput::Seen(Box::new(pull.facts.clone())))
                    }
                    _ => None,
                };
                if let Some(input) = input {
                    self.simulation.take(Input::Pull { pull: id.clone(), input });
                }
            }
            _ => {}
        }
    }

    fn session(&mut self, id: SessionId, event: &SessionEvent) {
        if let SessionEvent::Queued { spec } = event {
            self.hear();
            // With the tested configuration, it may have started earlier.
            let begun = spec.task.as_ref().and_then(|task| self.simulation.state.live_session_of(task));
            if let Some(begun) = begun {
                self.sessions.insert(id, begun);
                return;
            }
            self.simulation.take(Input::Spawn(Box::new(request(spec))));
            while let Some(stamped) = self.simulation.next_event() {
                if let Event::Session(played, SessionEvent::Queued { .. }) = stamped.event {
                    self.sessions.insert(id, played);
                }
            }
            return;
        }
        let Some(played) = self.sessions.get(&id).copied() else { return };
        let works =
            self.truth.sessions.get(&id).is_some_and(|it| it.judgement.activity == AgentActivity::Working);
        if works {
            self.simulation.busy.insert(played)
        } else {
            self.simulation.busy.remove(&played)
        };
        match event {
            // A failed look is about the look, not about the agent.
            SessionEvent::SignalSeen { signal } if !matches!(signal.reading, Reading::Unreadable { .. }) => {
                self.simulation.shows(played, signal.reading.clone());
            }
            SessionEvent::Ended { outcome: SessionOutcome::Stopped { by, why } } => {
                let (by, why) = (by.clone(), why.clone());
                self.simulation.apply(played, SessionInput::Stop { by, why });
            }
            _ => {}
        }
    }
}

fn request(spec: &SessionSpec) -> SpawnRequest {
    spec.clone().named(Some(spec.name.clone()), Some(spec.branch.clone()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use ao_core::task::TaskFacts;
    use ao_core::{ProjectId, TaskId};

    use super::*;
    use crate::commands::simulate::action::ActionKind;
    use crate::commands::simulate::{MORNING, config};

    /// A person begins the only issue an hour after it was written, and its agent asks something.
    fn record() -> Vec<StampedEvent> {
        let mut simulation = Simulation::new(&config("projects: { app: { path: /tmp/app } }"), MORNING);
        let task = TaskId { project: ProjectId::new("app"), key: "1".into() };
        let facts = TaskFacts {
            observed: MORNING,
            title: "Say goodbye".into(),
            labels: BTreeSet::new(),
            priority: 0,
            blocked_by: BTreeSet::new(),
            closed: false,
            trusted: true,
            branch: None,
            author: None,
        };
        simulation.take(Input::Task { task: task.clone(), facts: Box::new(facts) });
        simulation.until(MORNING + Duration::from_secs(3600));
        let request = simulation.crew.request(&simulation.state, &task, None);
        simulation.take(Input::Spawn(Box::new(request)));
        let session = simulation.state.live_session_of(&task).expect("it was begun");
        simulation.until(MORNING + Duration::from_secs(3660));
        simulation.shows(session, Reading::Asking { question: "May I?".into() });
        std::iter::from_fn(|| simulation.next_event()).collect()
    }

    #[test]
    fn an_issue_that_would_have_begun_by_itself_has_one_session_and_its_agent_does_what_it_did() {
        let begun = |deed: &&SimulatedAction| matches!(&deed.what, ActionKind::Job { order } if order.starts_with("starts the task"));
        let asked = |deed: &&SimulatedAction| matches!(&deed.what, ActionKind::Notice { level, text, .. } if level == "urgent" && text.contains("May I?"));
        for (auto, times) in [(false, 0), (true, 1)] {
            let yaml = format!("projects: {{ app: {{ path: /tmp/app, autoAssign: {auto} }} }}");
            let deeds = play(Simulation::new(&config(&yaml), MORNING), record()).expect("it ends");
            assert_eq!(deeds.iter().filter(begun).count(), times, "{deeds:#?}");
            assert_eq!(deeds.iter().filter(asked).count(), 1, "{deeds:#?}");
            let idle = |deed: &&SimulatedAction| matches!(&deed.what, ActionKind::Reaction { event, .. } if event == "agent-idle");
            assert_eq!(deeds.iter().filter(idle).count(), 0, "nobody knows that it stood still: {deeds:#?}");
        }
    }
}
