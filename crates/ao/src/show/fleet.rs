//! All sessions at a glance, those that wait for a person first.

use std::collections::BTreeMap;
use std::fmt::Write;

use ao_api::{Queue, Session};

use super::table::{Cell, Column, Table};
use super::{Canvas, words};
use crate::ui;

/// What there is to see.
#[derive(Debug, Clone, Copy)]
pub struct Fleet<'a> {
    pub sessions: &'a [Session],
    /// Places in the queue, by the ids of those that wait.
    pub queues: &'a BTreeMap<String, Queue>,
}

/// More of what is over is not interesting at a glance.
const ENDED_SHOWN: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    NeedsYou,
    Idle,
    AtWork,
    Waiting,
    /// In a state that is new to us.
    Other,
    Ended,
}

const GROUPS: [(Group, &str, &str); 6] = [
    (Group::NeedsYou, "Needs you", "needs you"),
    (Group::Idle, "Idle", "idle"),
    (Group::AtWork, "At work", "at work"),
    (Group::Waiting, "Waiting", "waiting"),
    (Group::Other, "Others", "in other states"),
    (Group::Ended, "Ended", "ended"),
];

pub fn fleet(fleet: Fleet<'_>, canvas: Canvas) -> String {
    if fleet.sessions.is_empty() {
        return "no sessions yet\n\nStart one with `ao spawn ISSUE`, or with `ao new \"what is to be done\"`.\n".into();
    }
    let mut drawn = String::new();
    let mut counts = Vec::new();
    let several = fleet.sessions.iter().any(|session| session.project_id != fleet.sessions[0].project_id);
    for (group, title, in_words) in GROUPS {
        let members = members(&fleet, group);
        if members.is_empty() {
            continue;
        }
        counts.push(match (group, members.len()) {
            (Group::NeedsYou, 2..) => format!("{} need you", members.len()),
            (_, count) => format!("{count} {in_words}"),
        });
        let style = ui::TITLE;
        let _ = writeln!(drawn, "{style}{title}{style:#}");
        drawn.push_str(&rows(&fleet, group, &members, several, canvas).draw(canvas.width));
        drawn.push('\n');
    }
    let total = ui::count(fleet.sessions.len() as u64, "session");
    let _ = writeln!(drawn, "{total}: {}", counts.join(", "));
    drawn
}

/// The sessions of a group, the longest in their state first: they have waited longest. Of the ended, the last to end.
fn members<'a>(fleet: &Fleet<'a>, group: Group) -> Vec<&'a Session> {
    let mut members: Vec<&Session> =
        fleet.sessions.iter().filter(|session| group_of(&session.status.state) == group).collect();
    members.sort_by(|a, b| (a.status.since, &a.name).cmp(&(b.status.since, &b.name)));
    if group == Group::Waiting {
        // Stable, so that those with the same place stay in the order of their age.
        members.sort_by_key(|session| fleet.queues.get(&session.id).map_or(0, |queue| queue.before + 1));
    }
    if group == Group::Ended {
        members.reverse();
    }
    members
}

fn group_of(state: &str) -> Group {
    match state {
        state if words::needs_person(state) => Group::NeedsYou,
        state if words::is_over(state) => Group::Ended,
        "idle" => Group::Idle,
        "working" | "starting" | "setting_up" | "retrying" | "stopping" => Group::AtWork,
        "queued" | "rate_limited" | "paused" => Group::Waiting,
        _ => Group::Other,
    }
}

fn rows(fleet: &Fleet<'_>, group: Group, members: &[&Session], several: bool, canvas: Canvas) -> Table {
    const COLUMNS: [Column; 7] = [
        Column::new("session"),
        Column::new("state"),
        Column::new("for"),
        Column::optional("project"),
        Column::optional("agent"),
        Column::optional("pulls"),
        Column::new("why"),
    ];
    let mut table = Table::new(&COLUMNS).without_heading().indented(2);
    let most = if group == Group::Ended { ENDED_SHOWN } else { usize::MAX };
    for session in members.iter().take(most) {
        let state = Cell::styled(words::state(&session.status), words::style(&session.status.state));
        table.row([
            Cell::styled(&session.name, ui::TITLE),
            state,
            Cell::new(words::age(session.status.since, canvas.now)),
            Cell::new(if several { session.project_id.as_str() } else { "" }),
            Cell::styled(&session.agent.name, ui::FAINT),
            Cell::new(session.pulls.join(" ")),
            Cell::new(reason(session, fleet.queues.get(&session.id))),
        ]);
        if let Some(next) = next(session) {
            table.line(Cell::styled(format!("  → {next}"), ui::FAINT));
        }
    }
    if members.len() > most {
        let more = members.len() - most;
        table.line(Cell::styled(format!("and {more} more; `ao list` shows all"), ui::FAINT));
    }
    table
}

/// Why it is in its state; of what waits for a person, what it asks.
fn reason(session: &Session, queue: Option<&Queue>) -> String {
    let mut reason = match (&session.status.question, queue) {
        (Some(question), _) => question.clone(),
        (None, Some(queue)) => place(queue),
        (None, None) => session.status.reason.clone(),
    };
    if session.messages_failed > 0 {
        let messages = ui::count(u64::from(session.messages_failed), "message");
        let _ = write!(reason, "; {messages} not accepted");
    }
    if session.denied_tools > 0 {
        let _ = write!(reason, "; {} denied", ui::count(session.denied_tools, "tool call"));
    }
    if session.messages_waiting > 0 {
        let messages = ui::count(u64::from(session.messages_waiting), "message");
        let wait = if session.messages_waiting == 1 { "waits" } else { "wait" };
        let _ = write!(reason, "; {messages} {wait}");
    }
    reason
}

/// A place in the queue, in words.
pub(super) fn place(queue: &Queue) -> String {
    let place = match queue.before {
        0 => "next in line".to_owned(),
        before => format!("{before} before it"),
    };
    match &queue.obstacle {
        Some(obstacle) => format!("{place}; {obstacle}"),
        None => place,
    }
}

/// What a person would type next for a session that waits for one.
pub(super) fn next(session: &Session) -> Option<String> {
    let name = &session.name;
    Some(match session.status.state.as_str() {
        "needs_input" => format!("ao answer {name} …  or  ao attach {name}"),
        "blocked" | "unknown" => format!("ao explain {name}  or  ao attach {name}"),
        "setup_failed" => format!("ao logs {name} --setup  then  ao retry {name}"),
        "exited" => format!("ao session restore {name}  or  ao stop {name}"),
        "capped" => format!("ao resume {name}  says which limit it needs"),
        _ => return None,
    })
}
