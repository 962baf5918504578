//! The input of a hook: one JSON document on its standard input, with the same shape at every hook point.
//!
//! It holds the facts known at that moment and no secrets: no environment, no prompt, no log. Its fields are
//! documented in `docs/hooks.md`. A field may be added, but none changes its meaning without a new version.

use serde::Serialize;

use super::HookPoint;
use crate::outside::cut;
use crate::pull::{AuthorStanding, CheckState, Pull, PullState, ReviewFacts, ReviewVerdict};
use crate::session::{Session, SessionRole, StatusWord};
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
#[derive(Debug, Clone, Copy, Serialize)]
pub struct HookLanding<'a> {
    pub head: &'a Commit,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<&'a Commit>,
    /// The merge commit, once it is made.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    let document = Document {
        version: VERSION,
        id,
        hook: point,
        at,
        project: ProjectPart {
            name: project,
            path: known.map(|known| known.config.path.as_str()),
            default_branch: known.map(|known| known.config.default_branch.as_str()),
        },
        session: session.map(|session| SessionPart::of(session, at)),
        pull: pull.map(|(id, known)| PullPart::of(id, known)),
        checks: pull.and_then(|(_, known)| known).map(checks).unwrap_or_default(),
        review: about.review.map(ReviewPart::of),
        merge: about.merge,
    };
    let mut text = serde_json::to_string_pretty(&document).expect("a document is plain data");
    text.push('\n');
    text
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    version: u32,
    id: &'a str,
    hook: HookPoint,
    at: Timestamp,
    project: ProjectPart<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pull: Option<PullPart<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    checks: Vec<CheckPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    review: Option<ReviewPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    merge: Option<HookLanding<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProjectPart<'a> {
    name: &'a ProjectId,
    path: Option<&'a str>,
    default_branch: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionPart<'a> {
    id: SessionId,
    name: &'a str,
    title: &'a str,
    role: SessionRole,
    branch: &'a str,
    workspace: Option<&'a str>,
    agent: &'a str,
    state: StatusWord,
    why: String,
    issue: Option<&'a str>,
}

impl SessionPart<'_> {
    fn of(session: &Session, at: Timestamp) -> SessionPart<'_> {
        let status = session.status(at);
        SessionPart {
            id: session.id,
            name: &session.spec.name,
            title: &session.spec.title,
            role: session.spec.role,
            branch: session.branch(),
            workspace: session.workspace.path(),
            agent: &session.spec.agent.name,
            state: status.word,
            why: status.reason,
            issue: session.spec.task.as_ref().map(|task| task.key.as_str()),
        }
    }
}

/// A pull request; only its number if it is over and was not ours.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PullPart<'a> {
    id: &'a PullId,
    number: u64,
    #[serde(flatten)]
    known: Option<PullFactsPart<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PullFactsPart<'a> {
    title: &'a str,
    url: &'a str,
    state: &'static str,
    draft: bool,
    author: &'a str,
    head: &'a Commit,
    head_branch: &'a str,
    base: &'a Commit,
    base_branch: &'a str,
    labels: Vec<&'a str>,
}

impl PullPart<'_> {
    fn of<'a>(id: &'a PullId, known: Option<&'a Pull>) -> PullPart<'a> {
        let known = known.map(|pull| PullFactsPart {
            title: &pull.facts.title,
            url: &pull.facts.url,
            state: match pull.facts.state {
                PullState::Open => "open",
                PullState::Merged { .. } => "merged",
                PullState::Closed => "closed",
            },
            draft: pull.facts.draft,
            author: &pull.facts.author.login,
            head: &pull.facts.head,
            head_branch: &pull.facts.head_branch,
            base: &pull.facts.base,
            base_branch: &pull.facts.base_branch,
            labels: pull.facts.labels.iter().map(String::as_str).collect(),
        });
        PullPart { id, number: id.number, known }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CheckPart<'a> {
    name: &'a str,
    state: &'static str,
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    excerpt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    log: Option<&'a str>,
}

fn checks(pull: &Pull) -> Vec<CheckPart<'_>> {
    let part = |check: &'_ crate::pull::CheckFacts| match &check.state {
        CheckState::Failed { excerpt, .. } => ("failed", Some(cut(excerpt, TEXT))),
        CheckState::Broken { why } => ("broken", Some(cut(why, TEXT))),
        CheckState::Pending => ("pending", None),
        CheckState::Passed => ("passed", None),
        CheckState::Skipped => ("skipped", None),
    };
    pull.facts
        .checks
        .iter()
        .map(|check| {
            let (state, excerpt) = part(check);
            let log = match &check.state {
                CheckState::Failed { log, .. } => log.as_deref(),
                _ => None,
            };
            CheckPart {
                name: &check.name,
                state,
                required: check.required,
                run: check.run.as_deref(),
                excerpt,
                log,
            }
        })
        .collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReviewPart<'a> {
    id: &'a str,
    author: &'a str,
    standing: AuthorStanding,
    verdict: ReviewVerdict,
    commit: &'a Commit,
    body: String,
}

impl ReviewPart<'_> {
    fn of(review: &ReviewFacts) -> ReviewPart<'_> {
        ReviewPart {
            id: &review.id,
            author: &review.author.login,
            standing: review.author.standing,
            verdict: review.verdict,
            commit: &review.commit,
            body: cut(&review.body, TEXT),
        }
    }
}
