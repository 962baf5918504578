//! Problems of the API for what the engine, a forge or a tracker did not do.

use ao_api::Problem;
use ao_core::Refusal;
use ao_engine::AskError;
use ao_ports::TrackerError;

/// What the engine did not do.
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

/// What a forge or a tracker did not do. There is one place for it, so that all of them are refused in the same words.
pub fn forge_problem(err: &TrackerError) -> Problem {
    let (status, word) = match err {
        TrackerError::NotFound { .. } => (404, "not-found"),
        TrackerError::Refused { .. } => (422, "refused"),
        TrackerError::Unsupported { .. } => (501, "unsupported"),
        TrackerError::Denied { .. } => (403, "forge-denied"),
        TrackerError::Limited { .. } => (429, "forge-limited"),
        TrackerError::BadWebhook { .. } => (400, "bad-webhook"),
        TrackerError::Failed(_) => (502, "forge-failed"),
    };
    Problem::new(status, word, err.to_string())
}

fn stopping() -> Problem {
    Problem::new(503, "stopping", "ao is shutting down")
}

fn err_title(err: &AskError) -> String {
    err.to_string()
}

/// Each refusal of the core with its word, its status, and what to do next.
pub fn of_refusal(refusal: &Refusal) -> Problem {
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
