//! Values that the templates and the conditions of reactions can use.
//!
//! One set of names for both, all of them always there: what is not known is an empty text, a nought, an empty list. So what
//! was found right when the configuration was read cannot fail for want of a name later. What comes from outside is on one
//! line, or quoted by whoever made the details of the problem.

use serde_json::{Map, Value, json};

use crate::incident::{Incident, IncidentKind, ProblemId, Subject};
use crate::outside::one_line;
use crate::pull::{CheckState, Pull};
use crate::session::Session;
use crate::state::State;
use crate::{ProjectId, TaskId};

/// Characters of a name from outside that are used.
const NAME_MOST: usize = 500;
/// Number of names of a list that are used.
const LIST_MOST: usize = 200;

/// Returns the values of an incident, before its reaction acts.
pub fn context(state: &State, incident: &Incident) -> Value {
    let key = &incident.key;
    let pull = match &key.subject {
        Subject::Pull(id) => state.pulls.get(id).map(|pull| &**pull),
        _ => None,
    };
    let session = match &key.subject {
        Subject::Session(id) => state.sessions.get(id),
        _ => pull.and_then(|pull| pull.owner).and_then(|owner| state.sessions.get(&owner)),
    };
    let project = match &key.subject {
        Subject::Project(project) => Some(project),
        Subject::Pull(pull) => Some(&pull.project),
        _ => session.map(|session| &session.spec.project),
    };
    let task = session.and_then(|session| session.spec.task.as_ref());
    let retries = state.reaction(&key.kind, &key.subject).attempts;
    let mut context = json!({
        "event": key.kind.word(),
        "label": match &key.problem {
            ProblemId::Label(label) => name(label),
            _ => String::new(),
        },
        "attempt": incident.acted.saturating_add(1),
        "retries": retries,
        "tried": incident.acted,
        "conflicts": names(pull.and_then(|pull| pull.conflict.as_ref()).into_iter().flat_map(|c| &c.files)),
        "session": session_words(session.map(|session| &**session)),
        "project": project_words(state, project),
        "issue": issue_words(state, task),
        "pr": pull_words(pull),
        "check": check_words(pull, incident),
        "data": data(incident),
    });
    with_detail(&mut context, &key.kind, &incident.detail);
    context
}

/// Replaces the details by what is new since the agent's last message.
pub(super) fn with_detail(context: &mut Value, kind: &IncidentKind, detail: &str) {
    let only = |said: bool| if said { detail } else { "" };
    context["detail"] = json!(detail);
    context["errors"] = json!(only(matches!(kind, IncidentKind::CiFailed | IncidentKind::BaseRed)));
    context["comments"] =
        json!(only(matches!(kind, IncidentKind::ChangesRequested | IncidentKind::BotComments)));
}

/// Returns an example with a value for every name, to validate templates.
pub fn sample() -> Value {
    json!({
        "event": "ci-failed",
        "errors": "> error[E0308]: mismatched types",
        "comments": "src/lib.rs:7, ann (member)\n> please add a test",
        "conflicts": ["src/lib.rs"],
        "detail": "check `build` failed",
        "label": "needs-tests",
        "attempt": 1,
        "retries": 3,
        "tried": 0,
        "session": { "id": "ses_1", "name": "app-1", "title": "Fix the login", "branch": "agent/app-1", "agent": "codex" },
        "project": { "name": "app", "path": "/srv/app", "branch": "main" },
        "issue": { "id": "42", "title": "Login fails", "url": "https://forge.example/issues/42", "labels": ["bug"] },
        "pr": {
            "id": "app!7", "number": 7, "title": "Fix the login", "url": "https://forge.example/pulls/7",
            "head": "c0ffee", "base": "main", "branch": "agent/app-1", "author": "ann", "labels": ["bug"],
            "files": ["src/lib.rs"], "draft": false, "changed": 1, "added": 10, "removed": 2,
        },
        "check": {
            "name": "build", "signature": "E0308", "commit": "c0ffee", "url": "https://ci.example/1",
            "log": "/tmp/build.log",
        },
        "data": {},
    })
}

/// Returns the data of a user's own event. They are kept in the revision, because other data are news.
fn data(incident: &Incident) -> Value {
    let told = match incident.key.kind {
        IncidentKind::Custom(_) => serde_json::from_str::<Value>(&incident.revision).ok(),
        _ => None,
    };
    match told.as_ref().and_then(|told| told.get("data")) {
        Some(data @ Value::Object(_)) => cleaned(data),
        _ => Value::Object(Map::new()),
    }
}

/// Cleans data, which may come from outside, so that no text contains a line break.
fn cleaned(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(name(text)),
        Value::Array(list) => list.iter().take(LIST_MOST).map(cleaned).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (name(key), cleaned(value))).collect(),
        plain => plain.clone(),
    }
}

fn session_words(session: Option<&Session>) -> Value {
    let said = |get: &dyn Fn(&Session) -> String| session.map(|s| name(&get(s))).unwrap_or_default();
    json!({
        "id": said(&|session| session.id.to_string()),
        "name": said(&|session| session.spec.name.clone()),
        "title": said(&|session| session.spec.title.clone()),
        "branch": said(&|session| session.branch().to_owned()),
        "agent": said(&|session| session.spec.agent.called().to_owned()),
    })
}

fn project_words(state: &State, id: Option<&ProjectId>) -> Value {
    let project = id.and_then(|id| state.projects.get(id));
    json!({
        "name": id.map(ToString::to_string).unwrap_or_default(),
        "path": project.map(|project| name(&project.config.path)).unwrap_or_default(),
        "branch": project.map(|project| name(&project.config.default_branch)).unwrap_or_default(),
    })
}

fn issue_words(state: &State, id: Option<&TaskId>) -> Value {
    let task = id.and_then(|id| state.tasks.get(id));
    json!({
        "id": id.map(|id| name(&id.key)).unwrap_or_default(),
        "title": task.map(|task| name(&task.title)).unwrap_or_default(),
        // Trackers report no URL yet.
        "url": "",
        "labels": names(task.into_iter().flat_map(|task| &task.labels)),
    })
}

fn pull_words(pull: Option<&Pull>) -> Value {
    let facts = pull.map(|pull| &pull.facts);
    let said =
        |get: &dyn Fn(&crate::pull::PullFacts) -> &str| facts.map(|f| name(get(f))).unwrap_or_default();
    json!({
        "id": pull.map(|pull| pull.id.to_string()).unwrap_or_default(),
        "number": pull.map_or(0, |pull| pull.id.number),
        "title": said(&|facts| &facts.title),
        "url": said(&|facts| &facts.url),
        "head": facts.map(|facts| facts.head.to_string()).unwrap_or_default(),
        "base": said(&|facts| &facts.base_branch),
        "branch": said(&|facts| &facts.head_branch),
        "author": said(&|facts| &facts.author.login),
        "labels": names(facts.into_iter().flat_map(|facts| &facts.labels)),
        "files": names(facts.into_iter().flat_map(|facts| &facts.size.files)),
        "draft": facts.is_some_and(|facts| facts.draft),
        "changed": facts.map_or(0, |facts| facts.size.files.len()),
        "added": facts.map_or(0, |facts| facts.size.added),
        "removed": facts.map_or(0, |facts| facts.size.removed),
    })
}

/// Returns the variables of the check that a problem is about.
fn check_words(pull: Option<&Pull>, incident: &Incident) -> Value {
    let found = pull.and_then(|pull| pull.failure(&incident.key.problem));
    let found = found.and_then(|check| match &check.state {
        CheckState::Failed { signature, url, log, .. } => Some((check, signature, url, log)),
        _ => None,
    });
    let said = |text: Option<&str>| text.map(name).unwrap_or_default();
    json!({
        "name": said(found.map(|(check, ..)| check.name.as_str())),
        "signature": said(found.map(|(_, signature, ..)| signature.as_str())),
        "commit": found.map(|(check, ..)| check.commit.to_string()).unwrap_or_default(),
        "url": said(found.map(|(_, _, url, _)| url.as_str())),
        "log": said(found.and_then(|(.., log)| log.as_deref())),
    })
}

fn name(text: &str) -> String {
    one_line(text).chars().take(NAME_MOST).collect()
}

fn names<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    all.take(LIST_MOST).map(|text| name(text)).collect()
}
