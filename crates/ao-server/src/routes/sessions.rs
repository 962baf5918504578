//! Sessions: lists, details and new ones.

use ao_api::{
    AgentRole, Explanation, NewSession, OriginalState, Problem, ReportedState, Session, SessionStatus,
    Sessions, Spawned,
};
use ao_core::input::SpawnRequest;
use ao_core::session::{ClassicState, SessionRole, StatusWord};
use ao_core::work::WorkView;
use ao_core::{Input, ProjectId, Refusal, SessionId, Timestamp};
use ao_daemon::spawn::SpawnDraft;
use ao_engine::AskError;
use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::app::App;
use crate::auth::{AgentAct, Caller};
use crate::extract::{Asked, Call, Given, SessionCall, SessionName};
use crate::problem::{CodedReply, Failure, Reply, forbidden};
use crate::to_api::{self, same_name};

/// A filter for sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only those of this project.
    project: Option<String>,
    /// Only those in this state, such as `working`; or `waiting` or `error`, which stand for several states each.
    state: Option<String>,
    /// `false` leaves out those that have ended. By default they are listed while they are in memory, which is a day.
    all: Option<bool>,
}

/// Lists sessions, the newest first.
#[utoipa::path(get, path = "/api/sessions", tag = "sessions", params(Which), responses((status = 200, body = Sessions)))]
pub(super) async fn list(Call { app, caller }: Call, Asked(which): Asked<Which>) -> Reply<Sessions> {
    if let Some(state) = &which.state {
        known_state(state)?;
    }
    let now = app.clock.now();
    let listed = app.handle.view_at(move |state, seq| {
        let view = WorkView::of(state, now);
        let mut chosen: Vec<_> = state
            .sessions
            .values()
            .filter(|session| caller.may_see(session))
            .filter(|session| which.all != Some(false) || session.is_live())
            .filter(|session| which.project.as_deref().is_none_or(|id| session.spec.project.as_str() == id))
            .filter(|session| {
                let asked = which.state.as_ref();
                asked.is_none_or(|asked| session.status(now).word.is_meant_by(asked))
            })
            .map(|session| to_api::session(&view, session))
            .collect();
        chosen.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        let meant = |project: &ProjectId| which.project.as_deref().is_none_or(|id| project.as_str() == id);
        // A filter by state is about sessions.
        let loose = view.without_session().filter(|_| which.state.is_none());
        let loose =
            loose.filter(|pull| meant(&pull.id.project) && caller.may(AgentAct::Read(&pull.id.project)));
        let pulls = loose.map(|pull| to_api::pull_work(state, &view, pull)).collect();
        Sessions { sessions: chosen, pulls, seq }
    });
    Ok(Json(listed.await?))
}

/// Spawns a session. If the issue has a session already, or the project has an orchestrator, that one is returned
/// instead.
#[utoipa::path(
    post, path = "/api/sessions", tag = "sessions", request_body = NewSession,
    responses(
        (status = 201, description = "A new session", body = Spawned),
        (status = 200, description = "The session that the issue has already", body = Spawned),
    ),
)]
pub(super) async fn spawn(
    Call { app, caller }: Call,
    Given(mut wish): Given<NewSession>,
) -> CodedReply<Spawned> {
    if let Caller::Session(agent) = &caller {
        // Issues of outsiders are approved by people only; an agent may have been talked into it.
        if wish.trust {
            return Err(Problem::new(403, "forbidden", "an agent cannot vouch for what an outsider wrote")
                .hint("a person can: `ao spawn ISSUE --trust`")
                .into());
        }
        if wish.force {
            return Err(Problem::new(
                403,
                "forbidden",
                "an agent cannot start work on an issue that was not read",
            )
            .hint("a person can: `ao spawn ISSUE --force`")
            .into());
        }
        wish.project_id.get_or_insert_with(|| agent.project.to_string());
    }
    let order = app.daemon.spawn.order(draft(wish)).await?;
    if let Caller::Session(agent) = &caller
        && (order.project != agent.project || order.role == SessionRole::Orchestrator)
    {
        return Err(forbidden().into());
    }
    begin(&app, order).await
}

/// Returns what the daemon is asked for.
fn draft(new: NewSession) -> SpawnDraft {
    SpawnDraft {
        project: new.project_id,
        issue: new.issue,
        title: new.title,
        prompt: new.prompt,
        name: new.name,
        branch: new.branch,
        agent: new.agent,
        model: new.model,
        runtime: new.runtime,
        workspace: new.workspace,
        claim_pr: new.claim_pr,
        role: new.role.map(|role| same_name!(role, AgentRole => SessionRole: Worker, Orchestrator, Reviewer)),
        priority: new.priority,
        trust: new.trust,
        force: new.force,
    }
}

/// Starts a session, or returns the existing one in its place.
pub(super) async fn begin(app: &App, order: SpawnRequest) -> CodedReply<Spawned> {
    let (id, created) = match app.handle.ask(Input::Spawn(Box::new(order))).await {
        Ok(receipt) => {
            let made = receipt.events.iter().find_map(|stamped| stamped.event.session());
            let made = made.ok_or_else(|| Problem::new(500, "bug", "a session was made and not told of"))?;
            (made, true)
        }
        Err(AskError::Refused(
            Refusal::TaskTaken { session, .. } | Refusal::HasOrchestrator { session, .. },
        )) => (session, false),
        Err(other) => return Err(other.into()),
    };
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    let session = look(app, id).await?;
    Ok((status, Json(Spawned { session, created })))
}

/// Returns one session.
#[utoipa::path(
    get, path = "/api/sessions/{id}", tag = "sessions",
    params(SessionName),
    responses((status = 200, body = Session)),
)]
pub(super) async fn show(SessionCall { app, session, .. }: SessionCall) -> Reply<Session> {
    Ok(Json(look(&app, session.id).await?))
}

/// The vocabulary of states.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct StateWords {
    /// `classic` returns `state` as one of the four that clients of the original know: `working`, `waiting`, `idle` or
    /// `error`. By default, or with `full`, it is one of all states.
    states: Option<String>,
}

/// Returns the state of a session in short.
#[utoipa::path(
    get, path = "/api/sessions/{id}/status", tag = "sessions",
    params(SessionName, StateWords),
    responses((status = 200, body = SessionStatus)),
)]
pub(super) async fn status(
    SessionCall { app, session, .. }: SessionCall,
    Asked(words): Asked<StateWords>,
) -> Reply<SessionStatus> {
    let classic = match words.states.as_deref() {
        None | Some("full") => false,
        Some("classic") => true,
        Some(other) => {
            let shown: String = other.chars().take(100).collect();
            return Err(Problem::new(400, "unknown-states", format!("there are no states `{shown}`"))
                .hint("leave `states` out for all states, or ask for the four that the original has")
                .candidates(vec!["full".into(), "classic".into()])
                .into());
        }
    };
    let session = look(&app, session.id).await?;
    let word = StatusWord::ALL.into_iter().find(|word| to_api::state_of(*word) == session.status.state);
    let mut status = to_api::status(session);
    if let Some(state) = word.filter(|_| classic).map(StatusWord::classic) {
        let state = same_name!(state, ClassicState => OriginalState: Working, Waiting, Idle, Error);
        status.state = ReportedState::Original(state);
    }
    Ok(Json(status))
}

/// Explains the state of a session.
#[utoipa::path(
    get, path = "/api/sessions/{id}/explain", tag = "sessions",
    params(SessionName),
    responses((status = 200, body = Explanation)),
)]
pub(super) async fn explain(SessionCall { app, session, .. }: SessionCall) -> Reply<Explanation> {
    Ok(Json(view(&app, session.id, to_api::explanation).await?))
}

/// Returns a session as it is now.
pub(super) async fn look(app: &App, id: SessionId) -> Result<Session, Failure> {
    view(app, id, |state, session, now| to_api::session(&WorkView::of(state, now), session)).await
}

/// Looks at a session as it is now.
pub(super) async fn view<T: Send + 'static>(
    app: &App,
    id: SessionId,
    look: impl FnOnce(&ao_core::State, &ao_core::session::Session, Timestamp) -> T + Send + 'static,
) -> Result<T, Failure> {
    let now = app.clock.now();
    let seen = app.handle.view(move |state| Some(look(state, state.sessions.get(&id)?, now)));
    seen.await?.ok_or_else(|| gone().into())
}

pub(super) fn gone() -> Problem {
    Problem::new(404, "unknown-session", "the session is no longer in memory")
        .hint("`ao list` lists the sessions")
}

fn known_state(state: &str) -> Result<(), Failure> {
    if StatusWord::ALL.iter().any(|known| known.is_meant_by(state)) {
        return Ok(());
    }
    let shown: String = state.chars().take(100).collect();
    let mut problem = Problem::new(400, "unknown-state", format!("there is no state `{shown}`"));
    problem.candidates = StatusWord::ALL.map(|word| word.to_string()).to_vec();
    problem.candidates.extend(["waiting".into(), "error".into()]);
    Err(problem.into())
}
