//! Describes work: whose turn it is, the pull request, its checks, and the next command.

use anstyle::{AnsiColor, Style};
use ao_api::{Session, Timestamp, WorkState};

use super::words;
use crate::ui;

/// Describes the stage of a session: by its work, or by its process for an older daemon.
pub(super) fn stage(session: &Session) -> String {
    match session.work.stage.as_str() {
        // The state of the process describes these better.
        "" | "working" | "stuck" | "budget" | "limit" | "starting" | "stopping" => {
            words::state(&session.status)
        }
        stage => stage.replace('_', " "),
    }
}

/// Returns the colour of a stage, or of the process's state.
pub(super) fn style(work: &WorkState, state: &str) -> Style {
    match (work.turn.as_str(), work.stage.as_str()) {
        ("you", "checks_failed" | "conflict" | "checks_broken" | "decision") => ui::ERROR,
        ("you", "question" | "review" | "merge" | "draft" | "changes_requested") => ui::BUSY,
        ("checks" | "queue", _) => AnsiColor::Green.on_default(),
        _ => words::style(state),
    }
}

/// Returns the time since which its work is in this stage.
pub(super) fn since(session: &Session) -> Timestamp {
    session.work.since.unwrap_or(session.status.since)
}

/// Returns the pull request in its shortest unambiguous form: `!7`.
pub(super) fn pull(work: &WorkState) -> String {
    work.pull.as_ref().map(|pull| format!("!{}", pull.number)).unwrap_or_default()
}

/// Describes the result of its checks: `green`, `red`, `pending` or `no checks`.
pub(super) fn checks(work: &WorkState) -> (String, Style) {
    match work.pull.as_ref().map(|pull| pull.checks.as_str()) {
        None => (String::new(), Style::new()),
        // Finished work needs no checks.
        Some("none") if work.turn == "done" => (String::new(), Style::new()),
        Some("none") => ("no checks".into(), ui::FAINT),
        Some(word @ "green") => (word.into(), AnsiColor::Green.on_default()),
        Some(word @ "red") => (word.into(), AnsiColor::Red.on_default()),
        Some(word) => (word.into(), AnsiColor::Yellow.on_default()),
    }
}

/// Describes the reviews, unless the stage does.
pub(super) fn review(work: &WorkState) -> String {
    match work.pull.as_ref().map(|pull| pull.review.as_str()) {
        Some("waiting" | "none") | None => String::new(),
        Some("changes_requested") if work.stage == "changes_requested" => String::new(),
        Some(word) => word.replace('_', " "),
    }
}

/// Describes whose turn it is.
pub(super) fn turn(work: &WorkState) -> &str {
    match work.turn.as_str() {
        "you" => "yours",
        "agent" => "agent's",
        "checks" => "checks'",
        "queue" => "queue's",
        "wait" => "waits",
        "done" => "",
        other => other,
    }
}

/// Lists the commands that help, best first.
pub(super) fn commands(work: &WorkState) -> Option<String> {
    let first = work.command.as_ref()?;
    Some(match &work.then {
        Some(then) => format!("{first}  then  {then}"),
        None => first.clone(),
    })
}

/// Counts the sessions that wait for it: `blocks 2 others`.
pub(super) fn blocks(work: &WorkState) -> Option<String> {
    match work.unblocks {
        0 => None,
        1 => Some("blocks one other".into()),
        others => Some(format!("blocks {others} others")),
    }
}
