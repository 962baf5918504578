//! Work as people read it: whose turn it is, the pull request, its checks, and what to type next.

use anstyle::{AnsiColor, Style};
use ao_api::{Session, Timestamp, WorkState};

use super::words;
use crate::ui;

/// How far a session has come, in words: by its work, or by its process where a daemon tells no more.
pub(super) fn stage(session: &Session) -> String {
    match session.work.stage.as_str() {
        // These say nothing that the state of the process does not say better.
        "" | "working" | "stuck" | "budget" | "limit" | "starting" | "stopping" => {
            words::state(&session.status)
        }
        stage => stage.replace('_', " "),
    }
}

/// The colour of a stage; of what it has none for, that of the state of its process.
pub(super) fn style(work: &WorkState, state: &str) -> Style {
    match (work.turn.as_str(), work.stage.as_str()) {
        ("you", "checks_failed" | "conflict" | "checks_broken" | "decision") => ui::ERROR,
        ("you", "question" | "review" | "merge" | "draft" | "changes_requested") => ui::BUSY,
        ("checks" | "queue", _) => AnsiColor::Green.on_default(),
        _ => words::style(state),
    }
}

/// Since when its work stands where it stands.
pub(super) fn since(session: &Session) -> Timestamp {
    session.work.since.unwrap_or(session.status.since)
}

/// The pull request, as short as it is unambiguous here: `!7`.
pub(super) fn pull(work: &WorkState) -> String {
    work.pull.as_ref().map(|pull| format!("!{}", pull.number)).unwrap_or_default()
}

/// How its checks went: `green`, `red`, `pending` or `no checks`.
pub(super) fn checks(work: &WorkState) -> (String, Style) {
    match work.pull.as_ref().map(|pull| pull.checks.as_str()) {
        None => (String::new(), Style::new()),
        // Of what is over nothing is asked any more.
        Some("none") if work.turn == "done" => (String::new(), Style::new()),
        Some("none") => ("no checks".into(), ui::FAINT),
        Some(word @ "green") => (word.into(), AnsiColor::Green.on_default()),
        Some(word @ "red") => (word.into(), AnsiColor::Red.on_default()),
        Some(word) => (word.into(), AnsiColor::Yellow.on_default()),
    }
}

/// What reviewers say, where the stage does not say so itself.
pub(super) fn review(work: &WorkState) -> String {
    match work.pull.as_ref().map(|pull| pull.review.as_str()) {
        Some("waiting" | "none") | None => String::new(),
        Some("changes_requested") if work.stage == "changes_requested" => String::new(),
        Some(word) => word.replace('_', " "),
    }
}

/// Whose turn it is, in a word.
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

/// The commands that help, the first one first.
pub(super) fn commands(work: &WorkState) -> Option<String> {
    let first = work.command.as_ref()?;
    Some(match &work.then {
        Some(then) => format!("{first}  then  {then}"),
        None => first.clone(),
    })
}

/// How many others wait for it: `blocks 2 others`.
pub(super) fn blocks(work: &WorkState) -> Option<String> {
    match work.unblocks {
        0 => None,
        1 => Some("blocks one other".into()),
        others => Some(format!("blocks {others} others")),
    }
}
