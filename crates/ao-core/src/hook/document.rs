//! The input of a hook: one JSON document on its standard input, with the same shape at every hook point.
//!
//! It holds the facts known at that moment and no secrets: no environment, no prompt, no log. Its fields are
//! documented in `docs/hooks.md`. A field may be added, but none changes its meaning without a new version.

use serde_json::{Value, json};

use super::HookPoint;
use crate::outside::cut;
use crate::pull::{CheckFacts, CheckState, Pull, PullState, ReviewFacts};
use crate::session::Session;
use crate::state::State;
use crate::{Commit, ProjectId, PullId, SessionId, Timestamp};

const VERSION: u32 = 1;
/// The number of bytes of one text from outside that a document carries.
const TEXT: usize = 8 * 1024;

/// The subject of a document, besides its project.
#[derive(Debug, Clone, Copy, Default)]
pub struct HookSubject<'a> {
    pub session: Option<SessionId>,
    pub pull: Option<&'a PullId>,
    pub review: Option<&'a ReviewFacts>,
    pub merge: Option<HookLanding<'a>>,
}

/// A merge that is about to be made, or was made.
#[derive(Debug, Clone, Copy)]
pub struct HookLanding<'a> {
    pub head: &'a Commit,
    pub base: Option<&'a Commit>,
    /// The merge commit, once it is made.
    pub commit: Option<&'a Commit>,
}

/// Writes the document for one occasion. `id` identifies the occasion, and is the same if the hook runs again for it.
pub fn document(
    state: &State,
    project: &ProjectId,
    point: HookPoint,
    at: Timestamp,
    id: &str,
    about: HookSubject<'_>,
) -> String {
    let known = state.projects.get(project);
    let pull = about.pull.map(|pull| (pull, state.pulls.get(pull).map(|known| &**known)));
    let owner = pull.and_then(|(_, known)| known?.owner);
    let session = about.session.or(owner).and_then(|id| state.sessions.get(&id));
    let mut document = json!({
        "version": VERSION,
        "id": id,
        "hook": point,
        "at": at,
        "project": {
            "name": project,
            "path": known.map(|known| &known.config.path),
            "defaultBranch": known.map(|known| &known.config.default_branch),
        },
    });
    let mut add = |key: &str, part: Option<Value>| {
        if let Some(part) = part {
            document[key] = part;
        }
    };
    add("session", session.map(|session| session_part(session, at)));
    add("pull", pull.map(|(id, known)| pull_part(id, known)));
    let checks: Option<Vec<Value>> =
        pull.and_then(|(_, known)| Some(known?.facts.checks.iter().map(check_part).collect()));
    add("checks", checks.filter(|checks| !checks.is_empty()).map(Value::Array));
    add("review", about.review.map(review_part));
    add("merge", about.merge.map(merge_part));
    format!("{document:#}\n")
}

fn session_part(session: &Session, at: Timestamp) -> Value {
    let status = session.status(at);
    json!({
        "id": session.id,
        "name": session.spec.name,
        "title": session.spec.title,
        "role": session.spec.role,
        "branch": session.branch(),
        "workspace": session.workspace.path(),
        "agent": session.spec.agent.name,
        "state": status.word,
        "why": status.reason,
        "issue": session.spec.task.as_ref().map(|task| &task.key),
    })
}

/// Describes a pull request; one that was not looked at yet has only its id and number.
fn pull_part(id: &PullId, known: Option<&Pull>) -> Value {
    let Some(Pull { facts, .. }) = known else { return json!({ "id": id, "number": id.number }) };
    let state = match facts.state {
        PullState::Open => "open",
        PullState::Merged { .. } => "merged",
        PullState::Closed => "closed",
    };
    json!({
        "id": id,
        "number": id.number,
        "title": facts.title,
        "url": facts.url,
        "state": state,
        "draft": facts.draft,
        "author": facts.author.login,
        "head": facts.head,
        "headBranch": facts.head_branch,
        "base": facts.base,
        "baseBranch": facts.base_branch,
        "labels": facts.labels,
    })
}

fn check_part(check: &CheckFacts) -> Value {
    let (state, excerpt, log) = match &check.state {
        CheckState::Failed { excerpt, log, .. } => ("failed", Some(excerpt), log.as_ref()),
        CheckState::Broken { why } => ("broken", Some(why), None),
        CheckState::Pending => ("pending", None, None),
        CheckState::Passed => ("passed", None, None),
        CheckState::Skipped => ("skipped", None, None),
    };
    let mut part = json!({ "name": check.name, "state": state, "required": check.required });
    let excerpt = excerpt.map(|text| cut(text, TEXT));
    for (key, text) in [("run", check.run.as_ref()), ("excerpt", excerpt.as_ref()), ("log", log)] {
        if let Some(text) = text {
            part[key] = json!(text);
        }
    }
    part
}

fn review_part(review: &ReviewFacts) -> Value {
    json!({
        "id": review.id,
        "author": review.author.login,
        "standing": review.author.standing,
        "verdict": review.verdict,
        "commit": review.commit,
        "body": cut(&review.body, TEXT),
    })
}

fn merge_part(merge: HookLanding<'_>) -> Value {
    let mut part = json!({ "head": merge.head });
    for (key, commit) in [("base", merge.base), ("commit", merge.commit)] {
        if let Some(commit) = commit {
            part[key] = json!(commit);
        }
    }
    part
}
