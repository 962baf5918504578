//! What is answered when something is not done: refusals of the core and of our own become problems here.

use ao_api::Problem;
use ao_core::Refusal;
use ao_daemon::looks::LookError;
use ao_daemon::{engine_problem, forge_problem, look_problem, of_refusal};
use ao_engine::AskError;
use ao_ports::{ScmError, TrackerError};
use axum::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;

/// A problem on its way out.
#[derive(Debug, Clone)]
pub(crate) struct Failure(pub(crate) Box<Problem>);

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Failure {
        Failure(Box::new(problem))
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        of_refusal(&refusal).into()
    }
}

impl From<AskError> for Failure {
    fn from(err: AskError) -> Failure {
        engine_problem(err).into()
    }
}

impl From<LookError> for Failure {
    fn from(err: LookError) -> Failure {
        look_problem(err).into()
    }
}

impl From<TrackerError> for Failure {
    fn from(err: TrackerError) -> Failure {
        forge_problem(&err).into()
    }
}

impl From<ScmError> for Failure {
    fn from(err: ScmError) -> Failure {
        match err {
            ScmError::Forge(err) => err.into(),
            ScmError::Failed(why) => Problem::new(502, "forge-failed", why).into(),
        }
    }
}

/// Not our own limit, so it is not over in a second.
const FORGE_LIMITED: &str = "forge-limited";

impl IntoResponse for Failure {
    fn into_response(self) -> axum::response::Response {
        let Failure(problem) = self;
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&problem).expect("a problem is plain data");
        let mut response = Response::new(body.into());
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if matches!(problem.status, 429 | 503) && problem.word() != FORGE_LIMITED {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

pub(crate) fn stopping() -> Problem {
    Problem::new(503, "stopping", "ao is shutting down")
}

pub(crate) fn forbidden() -> Problem {
    Problem::new(403, "forbidden", "an agent may not do that")
        .hint("a program that an agent has started is good for the agent's own session, whatever token it shows; ask the person who runs the daemon")
}

#[cfg(test)]
mod tests {
    use ao_core::{ProjectId, SessionId, TaskId};

    use super::*;

    #[test]
    fn a_refusal_says_what_to_do_next_and_who_stands_in_the_way() {
        let task = TaskId { project: ProjectId::new("my-app"), key: "42".into() };
        let name = "app-42".to_owned();
        let Failure(problem) = Refusal::TaskTaken { task, session: SessionId(0x4f), name }.into();
        assert_eq!((problem.status, problem.word()), (409, "task-taken"));
        assert_eq!(problem.session_id.as_deref(), Some("ses_4f"));
        assert_eq!(problem.title, "my-app#42 already has the session `app-42`");
        assert_eq!(problem.hints, ["`ao status app-42` shows it"]);
        let ended = |restorable| {
            let (name, outcome) = ("app-1".to_owned(), "stopped by you".to_owned());
            let Failure(ended) = Refusal::Ended { session: SessionId(1), name, outcome, restorable }.into();
            ended.hints.concat()
        };
        assert_eq!(ended(true), "`ao session restore app-1` brings it back");
        assert!(!ended(false).contains("restore"));
    }

    #[test]
    fn who_is_to_come_again_is_told_when() {
        let response = Failure::from(AskError::Stopped).into_response();
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()["retry-after"], "1");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
    }
}
