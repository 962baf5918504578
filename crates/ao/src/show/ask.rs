//! Renders what agents ask.

use std::fmt::Write;

use ao_api::{Ask, AskDetail, AskDetailType, SessionAsk};

use super::{Canvas, words};
use crate::ui;

/// Lines of each detail that a list shows.
const LINES: usize = 10;

/// Renders open asks with the beginnings of their details.
pub fn asks(asks: &[SessionAsk], canvas: Canvas) -> String {
    asks.iter().map(|ask| drawn(ask, canvas, LINES)).collect::<Vec<_>>().join("\n")
}

/// Renders an ask with all its details.
pub fn whole_ask(ask: &SessionAsk, canvas: Canvas) -> String {
    drawn(ask, canvas, usize::MAX)
}

fn drawn(SessionAsk { session_name: name, ask, .. }: &SessionAsk, canvas: Canvas, lines: usize) -> String {
    let mut drawn = String::new();
    let (title, busy, hint) = (ui::TITLE, ui::BUSY, ui::HINT);
    let name = words::plain(name);
    let (number, age) = (ask.number, words::age(ask.since, canvas.now));
    let _ = writeln!(drawn, "{title}{name}{title:#}  {busy}ask {number}{busy:#}  {} for {age}", ask.kind);
    for line in ask.title.lines() {
        let _ = writeln!(drawn, "  {}", words::plain(line));
    }
    let mut is_cut = ask.truncated;
    for detail in &ask.details {
        is_cut |= draw_detail(&mut drawn, detail, lines);
    }
    if is_cut {
        match lines {
            usize::MAX => drawn.push_str("  … the rest is not kept\n"),
            _ => {
                let _ = writeln!(drawn, "  … shortened; `ao asks {name} --ask {number}` shows all of it");
            }
        }
    }
    let width = ask.options.iter().map(|option| words::plain(&option.id).chars().count()).max().unwrap_or(0);
    for option in &ask.options {
        let _ = writeln!(drawn, "  {:width$}  {}", words::plain(&option.id), words::plain(&option.label));
    }
    let _ = match &ask.answer {
        Some(answer) => {
            let (by, answer) = (words::plain(&answer.by), words::plain(&answer.answer));
            writeln!(drawn, "  answered by {by}: {answer}; the agent is being given the answer")
        }
        None => writeln!(drawn, "  {hint}→{hint:#} ao answer {name} {} --ask {number}", answers(ask)),
    };
    drawn
}

/// Draws the first lines of a detail, and returns true if there are more.
fn draw_detail(drawn: &mut String, detail: &AskDetail, most: usize) -> bool {
    let style = ui::FAINT;
    let kind = match detail.kind {
        AskDetailType::Diff => detail.path.as_deref().unwrap_or("diff").to_owned(),
        kind => kind.to_string(),
    };
    let kind = words::plain(&kind);
    let mut lines = detail.text.lines();
    if let (Some(only), None, false) =
        (detail.text.lines().next(), detail.text.lines().nth(1), detail.kind == AskDetailType::Diff)
    {
        let _ = writeln!(drawn, "  {style}{kind}{style:#}  {}", words::plain(only));
        return false;
    }
    let _ = writeln!(drawn, "  {style}{kind}{style:#}");
    for line in lines.by_ref().take(most) {
        let style = match (detail.kind, line.chars().next()) {
            (AskDetailType::Diff, Some('+')) => ui::GOOD,
            (AskDetailType::Diff, Some('-')) => ui::ERROR,
            _ => anstyle::Style::new(),
        };
        let _ = writeln!(drawn, "    {style}{}{style:#}", words::plain(line));
    }
    lines.next().is_some()
}

/// Returns the answers to choose from.
pub(crate) fn answers(ask: &Ask) -> String {
    match &ask.options[..] {
        [] => "yes|no|TEXT".into(),
        options => options.iter().map(|option| words::plain(&option.id)).collect::<Vec<_>>().join("|"),
    }
}
