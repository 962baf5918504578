//! Extractors: bodies, queries and sessions, each with a problem that describes a mistake.

use std::sync::Arc;

use ao_api::Problem;
use ao_core::session::Session;
use ao_core::{PullId, TaskId};
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::Method;
use axum::http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use utoipa::IntoParams;

use crate::app::App;
use crate::auth::Caller;
use crate::forge::{issue_meant, pull_meant};
use crate::limits::too_large;
use crate::problem::{Failure, forbidden};
use crate::resolve::resolve;

/// A JSON body.
#[derive(Debug)]
pub(crate) struct Given<T>(pub(crate) T);

/// A JSON body that may be empty, which stands for `{}`.
#[derive(Debug)]
pub(crate) struct Perhaps<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Given<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Given<T>, Failure> {
        parse(&read(request, app).await?).map(Given)
    }
}

impl<T: DeserializeOwned> FromRequest<Arc<App>> for Perhaps<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Perhaps<T>, Failure> {
        let bytes = read(request, app).await?;
        parse(if bytes.is_empty() { b"{}" } else { &bytes }).map(Perhaps)
    }
}

fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, Failure> {
    let unusable = |status, word, why: &dyn std::fmt::Display| {
        Problem::new(status, word, format!("the body of the request cannot be used: {why}"))
            .hint("`GET /api/openapi.json` describes every call")
    };
    // An empty list would be parsed as an object with all fields absent, and would start things that were not
    // requested.
    if json.iter().find(|byte| !byte.is_ascii_whitespace()).is_some_and(|byte| *byte == b'[') {
        return Err(unusable(422, "invalid-body", &"it is a list, and not an object").into());
    }
    serde_json::from_slice(json).map_err(|err| {
        let (status, word) = if err.is_data() { (422, "invalid-body") } else { (400, "malformed-body") };
        unknown_value(&err.to_string()).unwrap_or_else(|| unusable(status, word, &err)).into()
    })
}

/// Returns the problem for a value outside its closed set, with the valid ones. serde has both in its message only.
fn unknown_value(why: &str) -> Option<Problem> {
    let (_, values) = why.split_once("unknown variant `")?;
    let (given, valid) = values.rsplit_once("`, expected ")?;
    let shown: String = given.chars().take(100).collect();
    let candidates = valid.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    Some(Problem::new(422, "invalid", format!("`{shown}` is not a valid value")).candidates(candidates))
}

async fn read(request: Request, app: &Arc<App>) -> Result<Bytes, Failure> {
    match request.into_body().collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(err) => Err(if is_too_long(&err) {
            too_large(app.limits.body)
        } else {
            Problem::new(400, "malformed-body", "the body of the request broke off")
        }
        .into()),
    }
}

fn is_too_long(err: &(dyn std::error::Error + 'static)) -> bool {
    std::iter::successors(Some(err), |err| err.source()).any(|err| err.is::<LengthLimitError>())
}

/// The query of the URL.
#[derive(Debug)]
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<App>> for Asked<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Asked<T>, Failure> {
        let asked = Query::<T>::from_request_parts(parts, app).await;
        asked.map(|Query(asked)| Asked(asked)).map_err(|err: QueryRejection| {
            let why = err.body_text();
            let title = format!("the query of the request cannot be used: {why}");
            unknown_value(&why).unwrap_or_else(|| Problem::new(400, "invalid-query", title)).into()
        })
    }
}

/// The variable part of the path; or several of them, as a tuple.
#[derive(Debug)]
pub(crate) struct Part<T = String>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Arc<App>> for Part<T> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Part<T>, Failure> {
        let part = Path::<T>::from_request_parts(parts, app).await;
        part.map(|Path(part)| Part(part))
            .map_err(|err| Problem::new(400, "invalid-path", err.body_text()).into())
    }
}

/// The project in which a name or a number is searched.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Within {
    /// Only in this project. By default an agent's own; otherwise any.
    pub(crate) project: Option<String>,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct SessionName {
    /// An id, a name, or the beginning of one that no other begins with
    id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct PullName {
    /// `7`, `!7`, `my-app!7`, a branch, or a session that has one pull request
    id: String,
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct IssueName {
    /// `42`, `#42` or `my-app#42`
    id: String,
}

/// A call: the state that all requests share, and the caller.
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) caller: Caller,
}

impl FromRequestParts<Arc<App>> for Call {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Call, Failure> {
        Ok(Call { app: app.clone(), caller: Caller::from_request_parts(parts, app).await? })
    }
}

/// A call about the pull request that the path names.
pub(crate) struct PullCall {
    pub(crate) app: Arc<App>,
    pub(crate) caller: Caller,
    pub(crate) id: PullId,
}

impl FromRequestParts<Arc<App>> for PullCall {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<PullCall, Failure> {
        let Call { app, caller } = Call::from_request_parts(parts, app).await?;
        let Part(PullName { id }) = Part::from_request_parts(parts, &app).await?;
        let Asked(within) = Asked::<Within>::from_request_parts(parts, &app).await?;
        let id = pull_meant(&app, &caller, &id, within.project.as_deref()).await?;
        Ok(PullCall { app, caller, id })
    }
}

/// A call about the issue that the path names.
pub(crate) struct IssueCall {
    pub(crate) app: Arc<App>,
    pub(crate) caller: Caller,
    pub(crate) id: TaskId,
}

impl FromRequestParts<Arc<App>> for IssueCall {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<IssueCall, Failure> {
        let Call { app, caller } = Call::from_request_parts(parts, app).await?;
        let Part(IssueName { id }) = Part::from_request_parts(parts, &app).await?;
        let Asked(within) = Asked::<Within>::from_request_parts(parts, &app).await?;
        let id = issue_meant(&app, &caller, &id, within.project.as_deref()).await?;
        Ok(IssueCall { app, caller, id })
    }
}

/// The caller, as authenticated by the guard.
impl FromRequestParts<Arc<App>> for Caller {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<App>) -> Result<Caller, Failure> {
        parts.extensions.get::<Caller>().cloned().ok_or_else(|| forbidden().into())
    }
}

/// A call about the session that the path names, as of a moment ago, if the caller has the right that the method needs:
/// to read it, or to direct it.
pub(crate) struct SessionCall {
    pub(crate) app: Arc<App>,
    pub(crate) caller: Caller,
    pub(crate) session: Box<Session>,
}

impl FromRequestParts<Arc<App>> for SessionCall {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<SessionCall, Failure> {
        let Call { app, caller } = Call::from_request_parts(parts, app).await?;
        let Part(SessionName { id: meant }) = Part::from_request_parts(parts, &app).await?;
        let looks = matches!(parts.method, Method::GET | Method::HEAD);
        let session = find(&app, caller.clone(), meant, looks).await?;
        Ok(SessionCall { app, caller, session })
    }
}

/// Finds a session among those that the caller may read, or direct.
pub(crate) async fn find(
    app: &Arc<App>,
    caller: Caller,
    meant: String,
    looks: bool,
) -> Result<Box<Session>, Failure> {
    let may = move |caller: &Caller, session: &Session| match looks {
        true => caller.may_see(session),
        false => caller.may_direct(session),
    };
    find_among(app, caller, meant, may).await
}

/// Finds a session among those that the caller has any right to.
pub(crate) async fn find_among(
    app: &Arc<App>,
    caller: Caller,
    meant: String,
    may: impl Fn(&Caller, &Session) -> bool + Send + 'static,
) -> Result<Box<Session>, Failure> {
    app.handle
        .view(move |state| {
            let sessions = state.sessions.values().map(|session| &**session);
            let within: Vec<&Session> = sessions.filter(|session| may(&caller, session)).collect();
            let found = resolve(&within, &meant).map(|session| Box::new(session.clone()));
            // An agent must not learn which other sessions exist.
            found.map_err(|problem| if caller == Caller::Owner { problem } else { forbidden().into() })
        })
        .await?
}
