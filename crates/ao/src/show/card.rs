//! Renders everything about one session.

use std::fmt::Write;

use ao_api::{
    AgentRole, BudgetKind, ChecksColor, Message, NextParty, ProgressStage, Queue, ReviewProgress, Session,
    Spend, Tree, TreeState,
};

use super::table::{TableCell, TextTable};
use super::{Canvas, budget, explain, fleet, words, work};
use crate::ui;

/// Renders a session. `outbox` has the pending and the failed messages.
pub fn card(session: &Session, queue: Option<&Queue>, outbox: &[Message], canvas: Canvas) -> String {
    let mut drawn = String::new();
    let title = ui::TITLE;
    let style = work::style(&session.work, Some(session.status.state));
    let state = if by_pull(session) { work::stage(session) } else { words::state(&session.status) };
    let since = if by_pull(session) { work::since(session) } else { session.status.since };
    let age = words::age(since, canvas.now);
    let _ =
        writeln!(drawn, "{title}{}{title:#}  {style}{state}{style:#} for {age}", words::plain(&session.name));
    let why = if by_pull(session) { &session.work.says } else { &session.status.reason };
    let _ = writeln!(drawn, "  {}", words::plain(why));
    if let Some(question) = &session.status.question {
        let style = ui::BUSY;
        for line in question.lines() {
            let _ = writeln!(drawn, "  {style}│{style:#} {}", words::plain(line));
        }
    }
    drawn.push('\n');
    drawn.push_str(&facts(session, queue, canvas).draw(canvas.width));
    if !outbox.is_empty() {
        let table = explain::messages(outbox, canvas).indented(2);
        let _ = write!(drawn, "\n{title}Outbox{title:#}\n{}", table.draw(canvas.width));
    }
    if let Some(next) = fleet::next(session) {
        let style = ui::HINT;
        let _ = writeln!(drawn, "\n{style}next:{style:#} {next}");
    }
    drawn
}

fn facts(session: &Session, queue: Option<&Queue>, canvas: Canvas) -> TextTable {
    let mut table = TextTable::new(&["", ""]).without_heading().indented(2);
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            table.row([TableCell::styled(name, ui::FAINT), TableCell::new(value)]);
        }
    };
    fact("works on", words::task(session));
    fact("turn", turn(session));
    fact("pull", pull(session));
    fact("project", session.project_id.clone());
    if session.role != AgentRole::Worker {
        fact("role", session.role.to_string());
    }
    fact("agent", agent(session));
    fact("runs in", runs_in(session));
    fact("branch", session.branch.clone());
    if let Some(tree) = &session.workspace {
        fact("workspace", workspace(tree));
        for reason in &tree.reasons {
            fact("", format!("kept: {reason}"));
        }
        if let Some(rescue) = &tree.rescue {
            let restore = format!("; `ao session restore {}`", session.name);
            let restore = if session.can_restore { restore.as_str() } else { "" };
            fact("", format!("its last state is in {rescue}{restore}"));
        }
    }
    if by_pull(session) {
        let age = words::age(session.status.since, canvas.now);
        fact("process", format!("{} for {age}: {}", words::state(&session.status), session.status.reason));
    }
    // The main pull request is shown above.
    let counts = session.work.pull.as_ref().map(|pull| pull.id.as_str());
    let others: Vec<&str> =
        session.pulls.iter().map(String::as_str).filter(|pull| Some(*pull) != counts).collect();
    fact("pulls", others.join(", "));
    let ports: Vec<String> = session.ports.iter().map(|(name, port)| format!("{name}={port}")).collect();
    fact("ports", ports.join(" "));
    fact("queue", queue.map(fleet::place).unwrap_or_default());
    for hold in &session.holds {
        let kind = words::spaced(hold.kind);
        fact("held", format!("{} ({kind}, {})", hold.why, words::age(hold.since, canvas.now)));
    }
    fact("messages", messages(session));
    fact("denied", denied(session));
    fact(
        "problems",
        match session.incidents {
            0 => String::new(),
            open => format!("{open} open; `ao explain {}` lists them", session.name),
        },
    );
    fact("used", spend(&session.spend));
    for shared in &session.budgets {
        let whose = match shared.scope {
            BudgetKind::Session => "its own".to_owned(),
            _ => budget::whose(shared),
        };
        fact("budget", format!("{whose}: {}", budget::line(shared)));
    }
    fact("made", format!("{} ago", words::age(session.created_at, canvas.now)));
    fact("id", session.id.clone());
    table
}

/// Returns true if the pull request determines the stage, not the process.
fn by_pull(session: &Session) -> bool {
    use ProgressStage::{Budget, Limit, Question, Starting, Stopping, Stuck, Working};
    let work = &session.work;
    let of_process = matches!(work.stage, Question | Stuck | Budget | Limit | Working | Starting | Stopping);
    work.pull.is_some() && work.turn != NextParty::Done && !of_process
}

fn turn(session: &Session) -> String {
    let work = &session.work;
    let whose = match work.turn {
        NextParty::You => "yours",
        NextParty::Agent => "its agent's",
        NextParty::Checks => "the checks'",
        NextParty::Queue => "the merge queue's",
        NextParty::Wait | NextParty::Done | NextParty::Unknown => return String::new(),
    };
    let blocks = work::blocks(work).map(|blocks| format!("; it {blocks}")).unwrap_or_default();
    format!("{whose}{blocks}")
}

fn pull(session: &Session) -> String {
    let Some(pull) = &session.work.pull else { return String::new() };
    if session.work.turn == NextParty::Done {
        return pull.id.clone();
    }
    let checks = match pull.checks {
        ChecksColor::None => "no checks".to_owned(),
        checks => format!("checks {checks}"),
    };
    let review = match pull.review {
        ReviewProgress::Waiting => "waits for review".to_owned(),
        ReviewProgress::None => "no review".to_owned(),
        review => words::spaced(review),
    };
    let queued = pull.queued.map(|place| format!(", number {place} in the merge queue")).unwrap_or_default();
    format!("{}: {checks}, {review}{queued}", pull.id)
}

fn agent(session: &Session) -> String {
    let agent = &session.agent;
    let mut told = agent.name.clone();
    for more in [&agent.model, &agent.account].into_iter().flatten() {
        let _ = write!(told, ", {more}");
    }
    if let Some(conversation) = &agent.conversation {
        let _ = write!(told, " (conversation {conversation})");
    }
    told
}

fn runs_in(session: &Session) -> String {
    match session.attempt {
        0 => format!("{}, not started yet", session.runtime),
        1 => session.runtime.clone(),
        attempt => format!("{}, start {attempt}", session.runtime),
    }
}

fn workspace(tree: &Tree) -> String {
    match tree.state {
        TreeState::Ready => tree.path.clone(),
        TreeState::Deleted => {
            format!("{} was deleted; the session continues in a new one from its branch", tree.path)
        }
        state => format!("{} ({state})", tree.path),
    }
}

fn messages(session: &Session) -> String {
    match (session.messages_waiting, session.messages_failed) {
        (0, 0) => String::new(),
        (waiting, 0) => format!("{waiting} waiting"),
        (0, failed) => format!("{failed} not accepted; the outbox keeps the text"),
        (waiting, failed) => format!("{waiting} waiting, {failed} not accepted; the outbox keeps the text"),
    }
}

fn denied(session: &Session) -> String {
    match (session.denied_tools, &session.last_denied_tool) {
        (0, _) => String::new(),
        (calls, last) => {
            let last = last.as_deref().map(|tool| format!(", the last of {tool}")).unwrap_or_default();
            format!("{}{last}", ui::count(calls, "tool call"))
        }
    }
}

/// Renders spending. Unreported spending is shown as unknown, never as zero.
fn spend(spend: &Spend) -> String {
    let usd = spend.usd.map_or_else(|| "cost unknown".to_owned(), |usd| format!("${usd:.2}"));
    let tokens = spend.tokens.map_or_else(String::new, |tokens| format!(", {tokens} tokens"));
    let turns = ui::count(spend.turns, "turn");
    format!("{usd}{tokens}, {turns}, {}", words::span(spend.seconds))
}
