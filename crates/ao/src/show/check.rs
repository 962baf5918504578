//! Renders checks and their runs.

use std::collections::BTreeSet;
use std::fmt::Write;

use ao_api::{Check, CheckRun, CheckRunState, Checks};

use super::table::{TableCell, TextTable};
use super::{Canvas, prose, words};
use crate::ui;

/// Returns true if a run in this state has not ended.
pub(crate) fn is_pending(state: CheckRunState) -> bool {
    matches!(state, CheckRunState::Queued | CheckRunState::Running)
}

/// Returns true if a run in this state prevents a merge.
pub(crate) fn is_bad(state: CheckRunState) -> bool {
    matches!(state, CheckRunState::Failed | CheckRunState::Broken | CheckRunState::Cancelled)
}

/// Returns the newest run of each check. Forges list the newest runs first.
pub(crate) fn newest(runs: &[CheckRun]) -> Vec<CheckRun> {
    let mut seen = BTreeSet::new();
    runs.iter().filter(|run| seen.insert(&run.check)).cloned().collect()
}

/// Renders the state of a run with its colour.
pub(super) fn state(state: CheckRunState) -> TableCell {
    let style = match state {
        CheckRunState::Passed => ui::GOOD,
        CheckRunState::Failed | CheckRunState::Broken => ui::ERROR,
        CheckRunState::Running | CheckRunState::Queued => ui::BUSY,
        CheckRunState::Skipped | CheckRunState::Cancelled => ui::FAINT,
    };
    TableCell::styled(state, style)
}

/// Formats the duration of a run so far.
pub(super) fn duration(run: &CheckRun, canvas: Canvas) -> String {
    let Some(began) = run.began_at else { return String::new() };
    let millis = run.ended_at.unwrap_or(canvas.now).as_millisecond() - began.as_millisecond();
    match u64::try_from(millis).unwrap_or(0) {
        millis @ 0..10_000 => format!("{}.{}s", millis / 1000, millis % 1000 / 100),
        millis @ 10_000..60_000 => format!("{}s", millis / 1000),
        millis @ 60_000..3_600_000 => format!("{}m {}s", millis / 60_000, millis % 60_000 / 1000),
        millis => words::span(millis / 1000),
    }
}

/// Renders runs, one per line.
pub fn runs(runs: &[CheckRun], canvas: Canvas) -> String {
    let mut table = TextTable::new(&["RUN", "CHECK", "STATE", "PULL?", "COMMIT?", "TOOK", "AGE?", "WHY"]);
    for run in runs {
        table.row([
            TableCell::styled(&run.id, ui::TITLE),
            TableCell::new(&run.check),
            state(run.state),
            TableCell::new(run.pull.as_deref().unwrap_or_default()),
            TableCell::styled(words::short_commit(&run.head), ui::FAINT),
            TableCell::new(duration(run, canvas)),
            TableCell::new(words::age(run.queued_at, canvas.now)),
            TableCell::new(why(run)),
        ]);
    }
    table.draw(canvas.width)
}

/// Describes how a run ended.
pub(super) fn why(run: &CheckRun) -> String {
    let mut told: Vec<String> = Vec::new();
    if let Some(failure) = &run.failure {
        let first = failure.items.first();
        let what = first.map(|item| item.name.as_deref().unwrap_or(&item.message).to_owned());
        let more = u64::from(failure.count).saturating_sub(1);
        match (what, more) {
            (Some(what), 0) => told.push(what),
            (Some(what), more) => told.push(format!("{what} and {more} more")),
            (None, _) => {
                told.extend(failure.excerpt.lines().find(|line| !line.trim().is_empty()).map(Into::into));
            }
        }
    }
    told.extend(run.why.clone());
    if told.is_empty() {
        let code = run.exit_code.filter(|code| *code != 0);
        told.extend(code.map(|code| format!("exit code {code}")));
    }
    if !run.ahead.is_empty() {
        told.push(format!("in the merge queue, behind {}", run.ahead.join(", ")));
    }
    told.extend(run.same_as.as_ref().map(|run| format!("as in {run}: the same tree and command")));
    if !run.required {
        told.push("not required".to_owned());
    }
    if run.tries > 1 {
        told.push(format!("{} tries", run.tries));
    }
    told.join("; ")
}

/// Renders a failed run, with what is needed to fix it.
pub fn failure(run: &CheckRun, canvas: Canvas) -> String {
    let Some(failure) = &run.failure else { return String::new() };
    let mut drawn = String::new();
    let (bad, faint) = (ui::ERROR, ui::FAINT);
    let _ = writeln!(
        drawn,
        "{bad}{}{bad:#}{}",
        words::plain(&run.check),
        match &failure.step {
            Some(step) => format!(" in {}", words::plain(step)),
            None => String::new(),
        }
    );
    for item in &failure.items {
        let place = match (&item.path, item.line) {
            (Some(path), Some(line)) => format!(" {path}:{line}"),
            (Some(path), None) => format!(" {path}"),
            _ => String::new(),
        };
        let name = item.name.clone().unwrap_or_else(|| item.kind.to_string());
        let _ = writeln!(drawn, "  {}{faint}{}{faint:#}", words::plain(&name), words::plain_line(&place));
        drawn += &prose::prose(&item.message, "    ", 4, canvas.width);
    }
    if failure.items.is_empty() {
        drawn += &prose::prose(&failure.excerpt, "  ", 2, canvas.width);
    }
    if let Some(log) = &run.log {
        let _ = writeln!(drawn, "  {faint}all of it: {}{faint:#}", words::plain(log));
    }
    drawn
}

/// Renders the checks of a project; or proposed ones, with the lines to paste into the configuration.
pub fn checks(checks: &Checks, project: &str, canvas: Canvas) -> String {
    if !checks.checks.is_empty() {
        return table(&checks.checks).draw(canvas.width);
    }
    if checks.proposed.is_empty() {
        return String::new();
    }
    format!("{}\n{}", table(&checks.proposed).draw(canvas.width), snippet(&checks.proposed, project))
}

fn table(checks: &[Check]) -> TextTable {
    let mut table = TextTable::new(&["CHECK", "REQUIRED", "LIMIT?", "PATHS?", "BECAUSE?", "COMMAND"]);
    for check in checks {
        table.row([
            TableCell::styled(&check.name, ui::TITLE),
            TableCell::new(if check.required { "yes" } else { "no" }),
            TableCell::new(words::span(check.timeout_seconds)),
            TableCell::new(check.paths.join(" ")),
            TableCell::new(check.because.as_deref().unwrap_or_default()),
            TableCell::new(&check.command),
        ]);
    }
    table
}

/// Renders checks as configuration.
fn snippet(checks: &[Check], project: &str) -> String {
    // JSON strings are valid YAML strings.
    let quoted = |text: &str| serde_json::Value::from(words::plain(text)).to_string();
    let mut text = format!("projects:\n  {}:\n    checks:\n", quoted(project));
    for check in checks {
        let (name, command) = (quoted(&check.name), quoted(&check.command));
        let _ = writeln!(text, "      - name: {name}\n        command: {command}");
    }
    text
}
