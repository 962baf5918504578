//! Renders issues: in a list, and in full.

use std::fmt::Write;

use anstyle::Style;
use ao_api::{ImportOutcome, Imported, Issue, OpenState};

use super::prose::prose;
use super::pull::author;
use super::table::{TableCell, TextTable};
use super::{Canvas, words};
use crate::ui;

pub fn issues(issues: &[Issue], canvas: Canvas) -> String {
    // The project is shown only if there are several.
    let one = issues.windows(2).all(|pair| pair[0].project_id == pair[1].project_id);
    let mut table = TextTable::new(&[
        "ISSUE",
        "STATE",
        "PRIORITY?",
        "SESSION",
        "ASSIGNEE?",
        "AGE",
        "LABELS?",
        "BLOCKED BY?",
        "TITLE",
    ]);
    for issue in issues {
        let id = if one { format!("#{}", issue.key) } else { issue.id.clone() };
        let priority = if issue.priority == 0 { String::new() } else { issue.priority.to_string() };
        table.row([
            TableCell::styled(id, ui::TITLE),
            state(issue),
            TableCell::new(priority),
            TableCell::new(issue.session.as_deref().unwrap_or_default()),
            TableCell::new(issue.assignee.as_deref().unwrap_or_default()),
            TableCell::new(words::age(issue.updated_at, canvas.now)),
            TableCell::new(issue.labels.join(" ")),
            TableCell::new(issue.blocked_by.join(" ")),
            TableCell::new(&issue.title),
        ]);
    }
    table.draw(canvas.width)
}

fn state(issue: &Issue) -> TableCell {
    match issue.state {
        OpenState::Open if !issue.blocked_by.is_empty() => TableCell::styled("blocked", ui::BUSY),
        state => TableCell::styled(state, style(state)),
    }
}

fn style(state: OpenState) -> Style {
    match state {
        OpenState::Open => ui::HINT,
        OpenState::Closed => ui::FAINT,
    }
}

pub fn issue(issue: &Issue, canvas: Canvas) -> String {
    let (title, faint) = (ui::TITLE, ui::FAINT);
    let mut drawn = format!("{title}{} {}{title:#}\n", words::plain(&issue.id), words::plain(&issue.title));
    let by = issue.author.as_ref().map_or_else(String::new, |by| format!("by {}, ", author(by)));
    let age = words::age(issue.created_at, canvas.now);
    let (state, style) = (issue.state, style(issue.state));
    let _ = writeln!(drawn, "  {style}{state}{style:#}  {faint}{by}{age} ago{faint:#}");
    let mut fact = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = writeln!(drawn, "  {faint}{name}{faint:#} {}", words::plain(value));
        }
    };
    fact("session", issue.session.as_deref().unwrap_or_default());
    fact("assignee", issue.assignee.as_deref().unwrap_or_default());
    fact("labels", &issue.labels.join(", "));
    if issue.priority != 0 {
        fact("priority", &issue.priority.to_string());
    }
    fact("blocked by", &issue.blocked_by.join(", "));
    fact("address", issue.url.as_deref().unwrap_or_default());
    if !issue.body.trim().is_empty() {
        let _ = write!(drawn, "\n{}", prose(&issue.body, "  ", 2, canvas.width));
    }
    for comment in &issue.comments {
        let age = words::age(comment.at, canvas.now);
        let _ = writeln!(drawn, "\n  {title}{}{title:#}{faint}, {age} ago{faint:#}", author(&comment.author));
        drawn.push_str(&prose(&comment.body, "    ", 4, canvas.width));
    }
    drawn
}

/// Renders imported issues, or those of a dry run.
pub fn imported(imported: &Imported, canvas: Canvas) -> String {
    let mut table = TextTable::new(&["RESULT", "ISSUE", "TITLE"]);
    for issue in &imported.issues {
        let style = if issue.result == ImportOutcome::Known { ui::FAINT } else { ui::GOOD };
        table.row([
            TableCell::styled(words::spaced(issue.result), style),
            TableCell::or_dash(issue.id.as_deref()),
            TableCell::new(&issue.title),
        ]);
    }
    table.draw(canvas.width)
}
