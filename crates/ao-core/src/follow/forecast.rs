//! What follows from a forecast: both agents hear of a clash that is new, once, as something to know and not as an order.

use std::collections::VecDeque;

use super::bounded;
use crate::forecast::{Clash, ClashFile, Side};
use crate::input::Input;
use crate::outside::one_line;
use crate::session::{MessageKind, NewMessage, Phase, Role, Sender, Session, SessionInput};
use crate::state::State;
use crate::{ProjectId, Timestamp};

/// So many files, and places in each, are named.
const NAMED: usize = 10;

pub(super) fn follow(
    state: &State,
    id: &ProjectId,
    found: &[Clash],
    at: Timestamp,
    then: &mut VecDeque<Input>,
) {
    // Files that somebody changes, or does not change any more, hold those that name them.
    then.push_back(Input::Schedule);
    if !state.projects.get(id).is_some_and(|project| project.conflict_forecast.tell) {
        return;
    }
    for clash in found {
        let (Some(a), b) = (state.owner_of_side(&clash.a), state.owner_of_side(&clash.b)) else {
            tell(state, clash, &clash.b, &clash.a, at, then);
            continue;
        };
        // Two changes of one session: it knows.
        if b.is_some_and(|b| a.id == b.id) {
            continue;
        }
        tell(state, clash, &clash.a, &clash.b, at, then);
        tell(state, clash, &clash.b, &clash.a, at, then);
    }
}

/// Tells one side, if there is somebody at work. Nobody is started for a forecast.
fn tell(state: &State, clash: &Clash, to: &Side, about: &Side, at: Timestamp, then: &mut VecDeque<Input>) {
    let listens = |session: &&Session| {
        matches!(session.phase, Phase::Running { .. }) && session.spec.role == Role::Worker
    };
    let Some(session) = state.owner_of_side(to).filter(listens) else { return };
    let theirs_first = *to == clash.b;
    let mut files: Vec<String> =
        clash.files.iter().take(NAMED).map(|file| format!("- {}", told(file, theirs_first))).collect();
    if clash.files.len() > NAMED {
        files.push(format!("- and {} more", clash.files.len() - NAMED));
    }
    let body = format!(
        "A forecast, nothing is broken yet: your work and {} do not merge with each other as they are.\n{}\n\
         Go on with your task. If it can be done without touching these lines, prefer that; do not undo or copy the other \
         work. Whoever merges second has to rebase. `ao conflicts {} {}` shows both versions. There is no need to answer.",
        other(state, about),
        files.join("\n"),
        name(state, to),
        name(state, about),
    );
    then.push_back(Input::Session {
        session: session.id,
        input: SessionInput::Send(NewMessage {
            from: Sender::Daemon,
            kind: MessageKind::Text,
            body: bounded(body),
            interrupt: false,
            key: Some(format!("forecast {} {} {at}", clash.a, clash.b)),
        }),
    });
}

/// A file with the lines of both.
fn told(file: &ClashFile, theirs_first: bool) -> String {
    let path = one_line(&file.path);
    let places: Vec<String> = file
        .hunks
        .iter()
        .take(NAMED)
        .map(|hunk| {
            let (mine, theirs) = if theirs_first { (hunk.b, hunk.a) } else { (hunk.a, hunk.b) };
            format!("your lines {mine} against {theirs}")
        })
        .collect();
    if places.is_empty() { path } else { format!("{path}: {}", places.join("; ")) }
}

/// Who the other one is, and what it is about.
fn other(state: &State, side: &Side) -> String {
    let session = state.owner_of_side(side);
    let by = session
        .map(|session| format!("session {} on `{}`", session.spec.name, one_line(&session.spec.branch)));
    match side {
        Side::Session(_) => {
            let title = session.map(|session| one_line(&session.spec.title)).unwrap_or_default();
            format!("the work of {} (\"{title}\")", by.unwrap_or_else(|| "another session".into()))
        }
        Side::Pull(pull) => {
            let title = state.pulls.get(pull).map(|pull| one_line(&pull.facts.title)).unwrap_or_default();
            let by = by.map(|by| format!(" of {by}")).unwrap_or_default();
            format!("pull request {pull}{by} (\"{title}\")")
        }
    }
}

/// What people and agents call it on a command line.
fn name(state: &State, side: &Side) -> String {
    match (side, state.owner_of_side(side)) {
        (Side::Session(_), Some(session)) => session.spec.name.clone(),
        (Side::Pull(pull), _) => pull.number.to_string(),
        (side, None) => side.to_string(),
    }
}
