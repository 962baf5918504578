//! What the words and the condition of a reaction can speak of.

use serde_json::{Value, json};

use crate::decide::agent_of;
use crate::incident::{Incident, IncidentKind, Subject};
use crate::pull::{CheckState, Pull};
use crate::state::State;

/// Everything about one problem by its name. What does not concern it is null, so that a condition can ask for it.
pub fn context(state: &State, incident: &Incident) -> Value {
    let key = &incident.key;
    let pull = match &key.subject {
        Subject::Pull(id) => state.pulls.get(id).map(|pull| &**pull),
        _ => None,
    };
    let project = match &key.subject {
        Subject::Pull(id) => Some(&id.project),
        Subject::Project(id) => Some(id),
        Subject::Session(id) => state.sessions.get(id).map(|session| &session.spec.project),
        Subject::Host => None,
    };
    let session = agent_of(state, &key.subject).map(|session| {
        json!({
            "name": session.spec.name,
            "title": session.spec.title,
            "branch": session.branch(),
            "agent": session.spec.agent.name,
        })
    });
    let check = pull.and_then(|pull| pull.failure(&key.problem)).map(|check| {
        let signature = match &check.state {
            CheckState::Failed { signature, .. } => signature.as_str(),
            _ => "",
        };
        json!({ "name": check.name, "signature": signature, "commit": check.commit.to_string() })
    });
    json!({
        "event": key.kind.word(),
        "label": (key.kind == IncidentKind::LabelAdded).then_some(&key.problem),
        "subject": key.subject.to_string(),
        "project": project.map(|project| json!({ "name": project.to_string() })),
        "session": session,
        "pr": pull.map(pr),
        "check": check,
        "attempt": incident.acted + 1,
    })
}

fn pr(pull: &Pull) -> Value {
    let facts = &pull.facts;
    json!({
        "id": pull.id.to_string(),
        "number": pull.id.number,
        "title": facts.title,
        "url": facts.url,
        "head": facts.head.to_string(),
        "base": facts.base_branch,
        "branch": facts.head_branch,
        "author": facts.author.login,
        "labels": facts.labels,
        "files": facts.size.files,
        "draft": facts.draft,
        "changed": facts.size.added + facts.size.removed,
    })
}
