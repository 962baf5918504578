//! Describes work: whose turn it is, the pull request, its checks, and the next command.

use anstyle::{AnsiColor, Style};
use ao_api::{
    ChecksColor, NextParty, ProgressStage, ReviewProgress, Session, SessionState, Timestamp, WorkState,
};

use super::words;
use crate::ui;

/// Describes the stage of a session: by its work, or by its process where that says more.
pub(super) fn stage(session: &Session) -> String {
    use ProgressStage::{Budget, Limit, Starting, Stopping, Stuck, Unknown, Working};
    match session.work.stage {
        // The state of the process describes these better.
        Unknown | Working | Stuck | Budget | Limit | Starting | Stopping => words::state(&session.status),
        stage => words::spaced(stage),
    }
}

/// Returns the colour of a stage, or of the process's state.
pub(super) fn style(work: &WorkState, state: Option<SessionState>) -> Style {
    use ProgressStage as Stage;
    match (work.turn, work.stage) {
        (NextParty::You, Stage::ChecksFailed | Stage::Conflict | Stage::ChecksBroken | Stage::Decision) => {
            ui::ERROR
        }
        (
            NextParty::You,
            Stage::Question | Stage::Review | Stage::Merge | Stage::Draft | Stage::ChangesRequested,
        ) => ui::BUSY,
        (NextParty::Checks | NextParty::Queue, _) => AnsiColor::Green.on_default(),
        _ => state.map_or(ui::FAINT, words::style),
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
    let Some(pull) = &work.pull else { return (String::new(), Style::new()) };
    let style = match pull.checks {
        // Finished work needs no checks.
        ChecksColor::None if work.turn == NextParty::Done => return (String::new(), Style::new()),
        ChecksColor::None => return ("no checks".into(), ui::FAINT),
        ChecksColor::Green => AnsiColor::Green.on_default(),
        ChecksColor::Red => AnsiColor::Red.on_default(),
        ChecksColor::Pending | ChecksColor::Blocked | ChecksColor::Unknown => AnsiColor::Yellow.on_default(),
    };
    (pull.checks.to_string(), style)
}

/// Describes the reviews, unless the stage does.
pub(super) fn review(work: &WorkState) -> String {
    match work.pull.as_ref().map(|pull| pull.review) {
        None | Some(ReviewProgress::Waiting | ReviewProgress::None) => String::new(),
        Some(ReviewProgress::ChangesRequested) if work.stage == ProgressStage::ChangesRequested => {
            String::new()
        }
        Some(review) => words::spaced(review),
    }
}

/// Describes whose turn it is.
pub(super) fn turn(work: &WorkState) -> &'static str {
    match work.turn {
        NextParty::You => "yours",
        NextParty::Agent => "agent's",
        NextParty::Checks => "checks'",
        NextParty::Queue => "queue's",
        NextParty::Wait => "waits",
        NextParty::Done | NextParty::Unknown => "",
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
