//! Converts refusals of the core and of the API to problems.

use ao_api::Problem;
use ao_core::Refusal;
use ao_daemon::looks::LookError;
use ao_daemon::{DaemonError, ErrorKind};
use ao_engine::AskError;
use ao_ports::ServiceError;
use axum::Json;
use axum::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;

/// A problem as the error of a handler.
#[derive(Debug, Clone)]
pub(crate) struct Failure(pub(crate) Box<Problem>);

/// The result of a handler: a body, or the problem.
pub(crate) type Reply<T> = Result<Json<T>, Failure>;

/// The result of a handler that chooses the status itself.
pub(crate) type CodedReply<T> = Result<(StatusCode, Json<T>), Failure>;

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
        match &err {
            AskError::Refused(refusal) => of_refusal(refusal).into(),
            AskError::NotStored(cause) => {
                let mut problem = Problem::new(503, "not-stored", err.to_string());
                problem.detail = Some(cause.to_string());
                problem.into()
            }
            AskError::Stopped => stopping().into(),
        }
    }
}

impl From<ServiceError> for Failure {
    fn from(err: ServiceError) -> Failure {
        let (status, word) = forge_status(&err);
        Problem { hints: not_found_hint(&err), ..Problem::new(status, word, err.to_string()) }.into()
    }
}

/// Suggests how to find what a forge or a tracker does not have.
fn not_found_hint(err: &ServiceError) -> Vec<String> {
    let ServiceError::NotFound { what } = err else { return vec![] };
    let kinds = [
        ("pull request", "`ao pr list --state all` lists the pull requests"),
        ("issue", "`ao issue list --state all` lists the issues"),
        ("run", "`ao check list` lists the latest runs"),
        ("comment", "`ao pr show PR --all` lists comments and threads with their ids"),
        ("thread", "`ao pr show PR --all` lists comments and threads with their ids"),
    ];
    let named = kinds.iter().find(|(kind, _)| what.trim_start_matches("the ").starts_with(kind));
    named.map(|(_, hint)| (*hint).to_owned()).into_iter().collect()
}

fn forge_status(err: &ServiceError) -> (u16, &'static str) {
    match err {
        ServiceError::NotFound { .. } => (404, "not-found"),
        ServiceError::Refused { .. } => (422, "refused"),
        ServiceError::Unsupported { .. } => (501, "unsupported"),
        ServiceError::Denied { .. } => (403, "forge-denied"),
        ServiceError::Limited { .. } => (429, FORGE_LIMITED),
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
        problem.hints = match &err.kind {
            ErrorKind::Forge(forge) if err.hints.is_empty() => not_found_hint(forge),
            _ => err.hints,
        };
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
        .hint("a program that an agent started has the agent's rights, whatever token it sends; ask the person who runs the daemon")
}

/// Each refusal of the core with its word, its status, and what to do next.
fn of_refusal(refusal: &Refusal) -> Problem {
    let (status, word, hints) = match refusal {
        Refusal::UnknownSession(_) => {
            (404, "unknown-session", vec!["`ao list` lists the sessions".to_owned()])
        }
        Refusal::UnknownProject(_) => (
            404,
            "unknown-project",
            vec!["`ao status` lists the projects; `ao add-project PATH` adds one".to_owned()],
        ),
        Refusal::UnknownPull(_) => {
            (404, "unknown-pull", vec!["`ao pr list --state all` lists the pull requests".to_owned()])
        }
        Refusal::TaskTaken { name, .. } => (409, "task-taken", vec![format!("`ao status {name}` shows it")]),
        Refusal::HasOrchestrator { name, .. } => {
            (409, "has-orchestrator", vec![format!("`ao status {name}` shows it")])
        }
        Refusal::TaskClosed { task } => {
            (409, "task-closed", vec![format!("`ao issue reopen {task}` opens it again, if work is left")])
        }
        Refusal::UntrustedTask { task, .. } => {
            let key = &task.key;
            let hint = format!(
                "read it with `ao issue show {key}`; if you trust it, run `ao spawn {key} --trust` (`\"trust\": true`)"
            );
            (403, "untrusted-issue", vec![hint])
        }
        Refusal::AlreadyMerged { .. } => {
            (409, "already-merged", vec!["`ao new` or `ao spawn` starts new work".to_owned()])
        }
        Refusal::BranchTaken { name, .. } => {
            let hint = format!("choose another branch, or end that session first: `ao stop {name}`");
            (409, "branch-taken", vec![hint])
        }
        Refusal::Ended { name, restorable: true, .. } => {
            (409, "session-ended", vec![format!("`ao session restore {name}` brings it back")])
        }
        Refusal::Ended { restorable: false, .. } => {
            let hint = "it cannot come back; `ao new` or `ao spawn` starts another one";
            (409, "session-ended", vec![hint.to_owned()])
        }
        Refusal::NotNow { name, .. } => {
            (409, "not-now", vec![format!("`ao explain {name}` shows the evidence")])
        }
        Refusal::OtherQuestion { name, open, .. } => {
            let hint = format!(
                "nothing was answered; read the question, then run `ao answer {name} … --ask {open}`"
            );
            (409, "other-question", vec![hint])
        }
        Refusal::NoSuchOption { .. } | Refusal::NoLastingOption { .. } => (422, "no-such-option", vec![]),
        Refusal::UnknownAsk { name, .. } => {
            (404, "unknown-ask", vec![format!("`ao asks {name}` lists what it asks")])
        }
        Refusal::AskAnswered { .. } => (409, "already-answered", vec![]),
        Refusal::Budget { retype, .. } => (409, "budget-spent", vec![format!("`{retype}`")]),
        Refusal::Limited { name, .. } => {
            let hint = "no command lifts a provider's limit; agents of other accounts continue";
            (
                409,
                "rate-limited",
                vec![hint.to_owned(), format!("`ao explain {name}` shows what it waits for")],
            )
        }
        Refusal::Stale { .. } => (409, "stale", vec![]),
        Refusal::NotRunning { .. } => (409, "not-running", vec![]),
        Refusal::ProjectInUse { project, .. } => {
            let hint =
                format!("`ao stop --project {project} --all`, then `ao session cleanup --project {project}`");
            (409, "project-in-use", vec![hint])
        }
        Refusal::Invalid { .. } => (422, "invalid", vec![]),
    };
    let session_id = match refusal {
        Refusal::TaskTaken { session, .. }
        | Refusal::HasOrchestrator { session, .. }
        | Refusal::BranchTaken { session, .. }
        | Refusal::Ended { session, .. }
        | Refusal::Budget { session, .. } => Some(session.to_string()),
        _ => None,
    };
    Problem { hints, session_id, ..Problem::new(status, word, refusal.to_string()) }
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
