//! Renders the evidence for a session's state: each signal, each rule, and the winner.

use std::fmt::Write;

use ao_api::{Explanation, Message, MessageState, Status};

use super::table::{TableCell, TextTable};
use super::{Canvas, fleet, words};
use crate::ui;

/// Renders the whole explanation.
pub fn explanation(explanation: &Explanation, canvas: Canvas) -> String {
    let mut drawn = String::new();
    let _ = writeln!(drawn, "{}", why(&explanation.name, &explanation.status, canvas));
    if let Some(drift) = &explanation.drift {
        let style = ui::ERROR;
        let _ = writeln!(drawn, "{style}drift:{style:#} {}", words::plain(drift));
    }
    let mut section = |title: &str, table: TextTable| {
        if !table.is_empty() {
            let style = ui::TITLE;
            let _ = write!(drawn, "\n{style}{title}{style:#}\n{}", table.draw(canvas.width));
        }
    };
    section("Signals", signals(explanation));
    let deciding = explanation.rules.iter().any(|rule| rule.won);
    let title = if deciding { "Rules" } else { "Rules, if it ran" };
    section(title, rules(explanation));
    if !deciding {
        let mut phase = table();
        phase.line(TableCell::new(format!("`{}` overrides all evidence", explanation.phase)));
        section("What decides", phase);
    }
    section("Queue", queue(explanation));
    section("Held back", holds(explanation, canvas));
    section("Open problems", incidents(explanation, canvas));
    section("Pending messages", messages(&explanation.messages, canvas));
    let mut next = table();
    for command in &explanation.next {
        next.line(TableCell::new(command));
    }
    section("Next steps", next);
    drawn
}

/// Renders the explanation in one line.
pub fn why(name: &str, status: &Status, canvas: Canvas) -> String {
    let title = ui::TITLE;
    let style = words::style(status.state);
    let state = words::state(status);
    let age = words::age(status.since, canvas.now);
    let reason = words::plain(&status.reason);
    format!("{title}{}{title:#}: {style}{state}{style:#} for {age}: {reason}", words::plain(name))
}

fn table() -> TextTable {
    TextTable::new(&[]).without_heading()
}

fn signals(explanation: &Explanation) -> TextTable {
    let mut table = TextTable::new(&["", "SOURCE", "AGE", "SAW", "CONFIDENCE?", "DETAIL"]);
    for signal in &explanation.signals {
        let (mark, style) = mark(signal.decided);
        table.row([
            TableCell::styled(mark, style),
            TableCell::styled(signal.source, style),
            TableCell::new(words::span(signal.age_seconds)),
            TableCell::new(signal.reading),
            TableCell::new(signal.confidence),
            TableCell::new(&signal.detail),
        ]);
    }
    if table.is_empty() {
        table.line(TableCell::styled("no signals of the agent yet", ui::FAINT));
    }
    table
}

fn rules(explanation: &Explanation) -> TextTable {
    let mut table = TextTable::new(&["", "RULE", "SAYS", "MEANS"]);
    for rule in &explanation.rules {
        let (mark, style) = mark(rule.won);
        table.row([
            TableCell::styled(mark, style),
            TableCell::styled(rule.rule, style),
            TableCell::styled(rule.says, words::style(rule.says)),
            TableCell::new(&rule.meaning),
        ]);
    }
    table
}

/// Returns the mark of the winner, or of the others.
fn mark(won: bool) -> (&'static str, anstyle::Style) {
    if won { ("▶", ui::GOOD) } else { (" ", anstyle::Style::new()) }
}

fn queue(explanation: &Explanation) -> TextTable {
    let mut table = table();
    if let Some(queue) = &explanation.queue {
        table.line(TableCell::new(fleet::place(queue)));
    }
    table
}

fn holds(explanation: &Explanation, canvas: Canvas) -> TextTable {
    let mut table = TextTable::new(&["BY", "FOR", "WHY"]);
    for hold in &explanation.holds {
        table.row([
            TableCell::new(words::spaced(hold.kind)),
            TableCell::new(words::age(hold.since, canvas.now)),
            TableCell::new(&hold.why),
        ]);
    }
    table
}

fn incidents(explanation: &Explanation, canvas: Canvas) -> TextTable {
    let mut table = TextTable::new(&["PROBLEM", "FOR", "ACTED", "ASKED", "DETAIL"]);
    for incident in &explanation.incidents {
        let detail = if incident.detail.is_empty() { &incident.problem } else { &incident.detail };
        let detail = match &incident.held {
            Some(why) => format!("{why}: {detail}"),
            None => detail.clone(),
        };
        table.row([
            TableCell::new(&incident.kind),
            TableCell::new(words::age(incident.opened_at, canvas.now)),
            TableCell::new(format!("{}×", incident.acted)),
            TableCell::new(incident.asked),
            TableCell::new(detail),
        ]);
    }
    table
}

pub(super) fn messages(messages: &[Message], canvas: Canvas) -> TextTable {
    let mut table = TextTable::new(&["NO", "STATE", "FOR", "FROM?", "WHY"]);
    for message in messages {
        let (state, style) = message_state(message.state);
        table.row([
            TableCell::new(message.number.to_string()),
            TableCell::styled(state, style),
            TableCell::or_dash(message.queued_at.map(|at| words::age(at, canvas.now))),
            TableCell::new(&message.from),
            TableCell::or_dash(message.reason.as_ref()),
        ]);
        if let Some(content) = &message.content {
            table.line(TableCell::styled(format!("“{}”", words::plain(content)), ui::FAINT));
        }
    }
    table
}

fn message_state(state: MessageState) -> (&'static str, anstyle::Style) {
    match state {
        MessageState::Queued => ("queued", ui::BUSY),
        MessageState::Written => ("written", ui::BUSY),
        MessageState::Accepted => ("accepted", ui::GOOD),
        MessageState::Failed => ("failed", ui::ERROR),
    }
}
