//! Consequences of a forecast: both agents get one message about a new clash, as information and not as an order.

use std::collections::{BTreeMap, VecDeque};

use super::bounded;
use crate::forecast::{Clash, ClashSide, ClashedFile};
use crate::input::Input;
use crate::outside::one_line;
use crate::session::{NewMessage, Phase, Session, SessionInput, SessionRole};
use crate::state::State;
use crate::{ProjectId, SessionId, Timestamp};

/// The number of others, of files of each, and of locations in each that are listed.
const NAMED: usize = 10;

pub(super) fn follow(
    state: &State,
    id: &ProjectId,
    found: &[Clash],
    at: Timestamp,
    then: &mut VecDeque<Input>,
) {
    // A file that comes into use, or goes out of use, affects the sessions whose tasks name it.
    then.push_back(Input::Schedule);
    if !state.projects.get(id).is_some_and(|project| project.config.conflict_forecast.tell) {
        return;
    }
    // One message for each, even if it clashes with several others at once.
    let mut letters: BTreeMap<SessionId, Vec<String>> = BTreeMap::new();
    for clash in found {
        let owners = [&clash.a, &clash.b].map(|side| state.owner_of_side(side).map(|owner| owner.id));
        // Two changes of one session: no message needed.
        if owners[0].is_some() && owners[0] == owners[1] {
            continue;
        }
        for (to, about) in [(&clash.a, &clash.b), (&clash.b, &clash.a)] {
            if let Some(session) = state.owner_of_side(to).filter(|session| listens(session)) {
                letters.entry(session.id).or_default().push(one(state, clash, to, about));
            }
        }
    }
    then.extend(letters.into_iter().map(|(session, others)| Input::Session {
        session,
        input: SessionInput::Send(NewMessage::of_daemon(bounded(letter(&others)), format!("forecast {at}"))),
    }));
}

/// Returns true if an agent runs that can get a message. None is started for a forecast.
fn listens(session: &Session) -> bool {
    matches!(session.phase, Phase::Running { .. }) && session.spec.role == SessionRole::Worker
}

fn letter(others: &[String]) -> String {
    let mut told = others.iter().take(NAMED).cloned().collect::<Vec<_>>().join("\n");
    if others.len() > NAMED {
        told += &format!("\n- and {} more, which `ao conflicts` lists", others.len() - NAMED);
    }
    format!(
        "A forecast, nothing is broken yet: as they are, your work does not merge with\n{told}\n\
         Go on with your task. If it can be done without touching these lines, prefer that; do not undo or copy the other \
         work. Whoever merges second has to rebase. There is no need to answer."
    )
}

/// Describes one clash for one side: the other side, and the locations.
fn one(state: &State, clash: &Clash, to: &ClashSide, about: &ClashSide) -> String {
    let theirs_first = *to == clash.b;
    let mut told = format!(
        "- {}; `ao conflicts {} {}` shows both versions",
        other(state, about),
        name(state, to),
        name(state, about)
    );
    for file in clash.files.iter().take(NAMED) {
        told += &format!("\n  - {}", self::told(file, theirs_first));
    }
    if clash.files.len() > NAMED {
        told += &format!("\n  - and {} more", clash.files.len() - NAMED);
    }
    told
}

/// Describes a file with the lines of both sides.
fn told(file: &ClashedFile, theirs_first: bool) -> String {
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

/// Returns the other side and its title.
fn other(state: &State, side: &ClashSide) -> String {
    let session = state.owner_of_side(side);
    let by = session
        .map(|session| format!("session {} on `{}`", session.spec.name, one_line(&session.spec.branch)));
    match side {
        ClashSide::Session(_) => {
            let title = session.map(|session| one_line(&session.spec.title)).unwrap_or_default();
            format!("the work of {} (\"{title}\")", by.unwrap_or_else(|| "another session".into()))
        }
        ClashSide::Pull(pull) => {
            let title = state.pulls.get(pull).map(|pull| one_line(&pull.facts.title)).unwrap_or_default();
            let by = by.map(|by| format!(" of {by}")).unwrap_or_default();
            format!("pull request {pull}{by} (\"{title}\")")
        }
    }
}

/// Returns its name on a command line.
fn name(state: &State, side: &ClashSide) -> String {
    match (side, state.owner_of_side(side)) {
        (ClashSide::Session(_), Some(session)) => session.spec.name.clone(),
        (ClashSide::Pull(pull), _) => pull.number.to_string(),
        (side, None) => side.to_string(),
    }
}
