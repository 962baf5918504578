//! Converts refusals of the core and of the API to problems.

use ao_api::Problem;
use ao_core::Refusal;
use ao_daemon::looks::LookError;
use ao_daemon::{DaemonError, ErrorKind};
use ao_engine::AskError;
use ao_ports::ServiceError;
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

impl From<ServiceError> for Failure {
    fn from(err: ServiceError) -> Failure {
        forge_problem(&err).into()
    }
}

/// What the engine did not do.
fn engine_problem(err: AskError) -> Problem {
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

/// Returns the problem for what a forge or a tracker did not do.
fn forge_problem(err: &ServiceError) -> Problem {
    let (status, word) = forge_status(err);
    Problem::new(status, word, err.to_string())
}

fn forge_status(err: &ServiceError) -> (u16, &'static str) {
    match err {
        ServiceError::NotFound { .. } => (404, "not-found"),
        ServiceError::Refused { .. } => (422, "refused"),
        ServiceError::Unsupported { .. } => (501, "unsupported"),
        ServiceError::Denied { .. } => (403, "forge-denied"),
        ServiceError::Limited { .. } => (429, FORGE_LIMITED),
        ServiceError::BadWebhook { .. } => (400, "bad-webhook"),
        ServiceError::Failed(_) => (502, "forge-failed"),
    }
}

/// Returns the status and the word of each kind of error of the daemon.
fn daemon_status(kind: &ErrorKind) -> (u16, &'static str) {
    match kind {
        ErrorKind::Config => (422, "bad-config"),
        ErrorKind::BadPath => (400, "bad-config"),
        ErrorKind::Environment | ErrorKind::Failed => (500, "failed"),
        ErrorKind::Store(_) => (503, "not-stored"),
        ErrorKind::Ask(_) => (503, "stopping"),
        ErrorKind::Forge(err) => forge_status(err),
        ErrorKind::NoForge => (422, "no-scm"),
        ErrorKind::NoTracker => (422, "no-tracker"),
        ErrorKind::MissingProgram => (422, "missing-program"),
        ErrorKind::UnknownProject => (404, "unknown-project"),
        ErrorKind::AmbiguousProject => (400, "which-project"),
        ErrorKind::ConfiguredProject => (409, "configured"),
        ErrorKind::ProjectInUse => (409, "project-in-use"),
        ErrorKind::OtherProject => (422, "invalid"),
        ErrorKind::NoRepository => (422, "not-a-repository"),
        ErrorKind::UnbornRepository => (422, "unborn-repository"),
        ErrorKind::BareRepository => (422, "bare-repository"),
        ErrorKind::NothingToDo => (400, "nothing-to-do"),
        ErrorKind::BadIssue => (400, "bad-issue"),
        ErrorKind::UnknownIssue => (404, "unknown-issue"),
        ErrorKind::UnknownAgent => (400, "unknown-agent"),
        ErrorKind::UnfitAgent => (422, "unfit-agent"),
        ErrorKind::UnknownRuntime => (400, "unknown-runtime"),
        ErrorKind::UnfitRuntime => (422, "unfit-runtime"),
        ErrorKind::UnknownWorkspace => (400, "unknown-workspace"),
        ErrorKind::UnfitBranch => (422, "unfit-branch"),
        ErrorKind::PullOver => (409, "pull-over"),
        ErrorKind::NotRunning => (409, "not-running"),
        ErrorKind::NoTerminal => (409, "no-terminal"),
        ErrorKind::NoControl => (409, "no-control"),
        ErrorKind::NoTerminalProgram => (424, "missing-program"),
        ErrorKind::TerminalFailed => (502, "terminal-failed"),
        ErrorKind::TerminalSlow => (504, "terminal-failed"),
        ErrorKind::UnreadableOutput => (500, "unreadable-output"),
        ErrorKind::UnknownBranch => (404, "unknown-branch"),
        ErrorKind::NoDefaultBranch => (422, "no-default-branch"),
        ErrorKind::ForecastSlow => (503, "too-slow"),
        ErrorKind::NotCompared => (500, "not-compared"),
        ErrorKind::UnknownLog => (404, "unknown-log"),
        ErrorKind::HookNotRun => (500, "hook-not-run"),
        ErrorKind::UnknownChannel => (404, "unknown-channel"),
        ErrorKind::BadImport => (422, "bad-import"),
    }
}

impl From<DaemonError> for Failure {
    fn from(err: DaemonError) -> Failure {
        if let ErrorKind::Ask(ask) = err.kind {
            return (*ask).into();
        }
        let (status, word) = daemon_status(&err.kind);
        let mut problem = Problem::new(status, word, err.to_plain());
        problem.detail = err.detail;
        problem.hints = err.hints;
        problem.candidates = err.candidates;
        problem.into()
    }
}

impl From<LookError> for Failure {
    fn from(err: LookError) -> Failure {
        DaemonError::from(err).into()
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

/// Each refusal of the core with its word, its status, and what to do next.
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
        Refusal::NoSuchOption { .. } => (422, "no-such-option"),
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
