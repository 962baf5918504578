//! Renders the evidence for a session's state: each signal, each rule, and the winner.

use std::fmt::Write;

use ao_api::{Explanation, Message, MessageState, Status};

use super::table::{Cell, Column, Table};
use super::{Canvas, fleet, words};
use crate::ui;

/// Renders the whole explanation.
pub fn explanation(explanation: &Explanation, canvas: Canvas) -> String {
    let mut drawn = String::new();
    let _ = writeln!(drawn, "{}", why(&explanation.name, &explanation.status, canvas));
    if let Some(astray) = &explanation.astray {
        let style = ui::ERROR;
        let _ = writeln!(drawn, "{style}astray:{style:#} {}", words::plain(astray));
    }
    let mut section = |title: &str, table: Table| {
        if !table.is_empty() {
            let style = ui::TITLE;
            let _ = write!(drawn, "\n{style}{title}{style:#}\n{}", table.draw(canvas.width));
        }
    };
    section("What was seen", signals(explanation));
    let deciding = explanation.rules.iter().any(|rule| rule.won);
    let title = if deciding { "How it is read" } else { "How it would be read" };
    section(title, rules(explanation));
    if !deciding {
        let mut phase = table();
        phase.line(Cell::new(format!("while it is `{}`, that alone; no evidence counts", explanation.phase)));
        section("What decides", phase);
    }
    section("Queue", queue(explanation));
    section("Held back", holds(explanation, canvas));
    section("Open problems", incidents(explanation, canvas));
    section("Messages that wait", messages(&explanation.messages, canvas));
    let mut next = table();
    for command in &explanation.next {
        next.line(Cell::new(command));
    }
    section("What you can do", next);
    drawn
}

/// Renders the explanation in one line.
pub fn why(name: &str, status: &Status, canvas: Canvas) -> String {
    let title = ui::TITLE;
    let style = words::style(&status.state);
    let state = words::state(status);
    let age = words::age(status.since, canvas.now);
    let reason = words::plain(&status.reason);
    format!("{title}{}{title:#}: {style}{state}{style:#} for {age}: {reason}", words::plain(name))
}

fn table() -> Table {
    Table::new(&[]).without_heading()
}

fn signals(explanation: &Explanation) -> Table {
    let mut table = Table::new(&[
        Column::new(""),
        Column::new("SOURCE"),
        Column::new("AGE"),
        Column::new("SAW"),
        Column::optional("CONFIDENCE"),
        Column::new("DETAIL"),
    ]);
    for signal in &explanation.signals {
        let (mark, style) = mark(signal.decided);
        table.row([
            Cell::styled(mark, style),
            Cell::styled(&signal.source, style),
            Cell::new(words::span(signal.age_seconds)),
            Cell::new(&signal.reading),
            Cell::new(&signal.confidence),
            Cell::new(&signal.detail),
        ]);
    }
    if table.is_empty() {
        table.line(Cell::styled("nothing was seen of the agent yet", ui::FAINT));
    }
    table
}

fn rules(explanation: &Explanation) -> Table {
    let mut table =
        Table::new(&[Column::new(""), Column::new("RULE"), Column::new("SAYS"), Column::new("MEANS")]);
    for rule in &explanation.rules {
        let (mark, style) = mark(rule.won);
        table.row([
            Cell::styled(mark, style),
            Cell::styled(&rule.rule, style),
            Cell::styled(&rule.says, words::style(&rule.says)),
            Cell::new(&rule.meaning),
        ]);
    }
    table
}

/// Returns the mark of the winner, or of the others.
fn mark(won: bool) -> (&'static str, anstyle::Style) {
    if won { ("▶", ui::GOOD) } else { (" ", anstyle::Style::new()) }
}

fn queue(explanation: &Explanation) -> Table {
    let mut table = table();
    if let Some(queue) = &explanation.queue {
        table.line(Cell::new(fleet::place(queue)));
    }
    table
}

fn holds(explanation: &Explanation, canvas: Canvas) -> Table {
    let mut table = Table::new(&[Column::new("BY"), Column::new("FOR"), Column::new("WHY")]);
    for hold in &explanation.holds {
        table.row([
            Cell::new(hold.kind.replace('_', " ")),
            Cell::new(words::age(hold.since, canvas.now)),
            Cell::new(&hold.why),
        ]);
    }
    table
}

fn incidents(explanation: &Explanation, canvas: Canvas) -> Table {
    let mut table = Table::new(&[
        Column::new("PROBLEM"),
        Column::new("FOR"),
        Column::new("ACTED"),
        Column::new("ASKED"),
        Column::new("DETAIL"),
    ]);
    for incident in &explanation.incidents {
        let detail = if incident.detail.is_empty() { &incident.problem } else { &incident.detail };
        let detail = match &incident.held {
            Some(why) => format!("{why}: {detail}"),
            None => detail.clone(),
        };
        table.row([
            Cell::new(&incident.kind),
            Cell::new(words::age(incident.opened_at, canvas.now)),
            Cell::new(format!("{}×", incident.acted)),
            Cell::new(&incident.asked),
            Cell::new(detail),
        ]);
    }
    table
}

pub(super) fn messages(messages: &[Message], canvas: Canvas) -> Table {
    let mut table = Table::new(&[
        Column::new("NO"),
        Column::new("STATE"),
        Column::new("FOR"),
        Column::optional("FROM"),
        Column::new("WHY"),
    ]);
    for message in messages {
        let (state, style) = message_state(message.state);
        table.row([
            Cell::new(message.number.to_string()),
            Cell::styled(state, style),
            Cell::or_dash(message.queued_at.map(|at| words::age(at, canvas.now))),
            Cell::new(&message.from),
            Cell::or_dash(message.reason.as_ref()),
        ]);
        if let Some(content) = &message.content {
            table.line(Cell::styled(format!("“{}”", words::plain(content)), ui::FAINT));
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
