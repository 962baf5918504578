//! Converts refusals of the core and of the API to problems.

use ao_api::Problem;
use ao_core::Refusal;
use ao_engine::AskError;
use ao_ports::{ScmError, TrackerError};
use axum::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;

/// A problem as the error of a handler.
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

impl From<TrackerError> for Failure {
    fn from(err: TrackerError) -> Failure {
        forge_problem(&err).into()
    }
}

/// Converts an error of the engine.
pub fn engine_problem(err: AskError) -> Problem {
    match err {
        AskError::Refused(refusal) => of_refusal(&refusal),
        AskError::NotStored(cause) => {
            let mut problem = Problem::new(503, "not-stored", err_title(&AskError::NotStored(cause.clone())));
            problem.detail = Some(cause.to_string());
            problem
        }
        AskError::Stopped => stopping(),
    }
}

/// Converts an error of a forge or a tracker. All handlers use it, so that the messages are the same.
pub fn forge_problem(err: &TrackerError) -> Problem {
    let (status, word) = match err {
        TrackerError::NotFound { .. } => (404, "not-found"),
        TrackerError::Refused { .. } => (422, "refused"),
        TrackerError::Unsupported { .. } => (501, "unsupported"),
        TrackerError::Denied { .. } => (403, "forge-denied"),
        TrackerError::Limited { .. } => (429, FORGE_LIMITED),
        TrackerError::BadWebhook { .. } => (400, "bad-webhook"),
        TrackerError::Failed(_) => (502, "forge-failed"),
    };
    Problem::new(status, word, err.to_string())
}

impl From<ScmError> for Failure {
    fn from(err: ScmError) -> Failure {
        match err {
            ScmError::Forge(err) => err.into(),
            ScmError::Failed(why) => Problem::new(502, "forge-failed", why).into(),
        }
    }
}

/// Not our own limit, so it does not end within a second.
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

fn err_title(err: &AskError) -> String {
    err.to_string()
}

/// Returns slug, status and hints of each refusal of the core.
fn of_refusal(refusal: &Refusal) -> Problem {
    let (status, word) = match refusal {
        Refusal::UnknownSession(_) => (404, "unknown-session"),
        Refusal::UnknownProject(_) => (404, "unknown-project"),
        Refusal::UnknownPull(_) => (404, "unknown-pull"),
        Refusal::TaskTaken { .. } => (409, "task-taken"),
        Refusal::HasOrchestrator { .. } => (409, "has-orchestrator"),
        Refusal::TaskClosed { .. } => (409, "task-closed"),
        Refusal::UntrustedTask { .. } => (403, "untrusted-issue"),
        Refusal::AlreadyMerged { .. } => (409, "already-merged"),
        Refusal::BranchTaken { .. } => (409, "branch-taken"),
        Refusal::Ended { .. } => (409, "session-ended"),
        Refusal::NotNow { .. } => (409, "not-now"),
        Refusal::OtherQuestion { .. } => (409, "other-question"),
        Refusal::Budget { .. } => (409, "budget-spent"),
        Refusal::Limited { .. } => (409, "rate-limited"),
        Refusal::Stale { .. } => (409, "stale"),
        Refusal::NotRunning { .. } => (409, "not-running"),
        Refusal::ProjectInUse { .. } => (409, "project-in-use"),
        Refusal::Invalid { .. } => (422, "invalid"),
    };
    let mut problem = Problem::new(status, word, refusal.to_string());
    match refusal {
        Refusal::UnknownSession(_) => problem = problem.hint("`ao list` shows the sessions there are"),
        Refusal::UnknownProject(_) => {
            problem = problem.hint("`ao add-project PATH` takes a repository into care");
        }
        Refusal::TaskTaken { session, name, .. } | Refusal::HasOrchestrator { session, name, .. } => {
            problem = problem.hint(format!("`ao status {name}` shows it"));
            problem.session_id = Some(session.to_string());
        }
        Refusal::UntrustedTask { task, .. } => {
            problem = problem.hint(format!(
                "read it with `ao issue show {}`; if you answer for it, `ao spawn {} --trust`, or `\"trust\": true`",
                task.key, task.key
            ));
        }
        Refusal::BranchTaken { session, name, .. } => {
            problem =
                problem.hint(format!("choose another branch, or end that session first: `ao stop {name}`"));
            problem.session_id = Some(session.to_string());
        }
        Refusal::Ended { session, name, restorable, .. } => {
            problem = problem.hint(match restorable {
                true => format!("`ao session restore {name}` brings it back"),
                false => "it cannot come back; `ao new` or `ao spawn` starts another one".to_owned(),
            });
            problem.session_id = Some(session.to_string());
        }
        Refusal::Budget { session, retype, .. } => {
            problem = problem.hint(format!("`{retype}`"));
            problem.session_id = Some(session.to_string());
        }
        Refusal::Limited { name, .. } => {
            problem = problem
                .hint("no command lifts a provider's limit; agents of other accounts go on meanwhile")
                .hint(format!("`ao explain {name}` shows what it waits for"));
        }
        Refusal::NotNow { name, .. } => {
            problem = problem.hint(format!("`ao explain {name}` says why it is so"));
        }
        Refusal::OtherQuestion { name, open, .. } => {
            problem = problem.hint(format!(
                "nothing was answered; read it, and then `ao answer {name} … --question {open}`"
            ));
        }
        Refusal::ProjectInUse { project, .. } => {
            problem = problem.hint(format!(
                "`ao stop --project {project} --all`, then `ao session cleanup --project {project}`"
            ));
        }
        _ => {}
    }
    problem
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
