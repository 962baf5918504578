//! Reads snapshots of earlier formats.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::State;
use crate::budget::{Budget, Cap, Purse, Spend};
use crate::{ProjectId, Timestamp};

/// A snapshot from before budgets were separate: each project kept its spending of the day.
#[derive(Deserialize)]
struct Earlier {
    #[serde(default)]
    projects: BTreeMap<ProjectId, Day>,
}

#[derive(Deserialize)]
struct Day {
    day: Option<i64>,
    spent: Option<Spend>,
    capped_until: Option<Timestamp>,
}

/// Moves the facts of an earlier format to their present place.
pub(super) fn read(state: &mut State, body: &[u8]) -> Result<(), serde_json::Error> {
    // From before tasks with a session were remembered.
    if state.worked.is_empty() {
        let of = state.sessions.values().filter(|session| session.spec.role == crate::session::Role::Worker);
        state.worked = of.filter_map(|session| session.spec.task.clone()).collect();
    }
    if !state.purses.is_empty() {
        return Ok(());
    }
    let earlier: Earlier = serde_json::from_slice(body)?;
    for (project, Day { day, spent, capped_until }) in earlier.projects {
        let (Some(day), Some(spent)) = (day, spent) else { continue };
        let cap = capped_until.map(|until| Cap {
            why: format!("today's budget of `{project}` is spent"),
            since: state.at,
            until: Some(until),
            overdrawn: false,
            judge_at: None,
        });
        let purse = Purse { day: Some(day), spent, cap, ..Purse::default() };
        state.purses.insert(Budget::ProjectDay(project), purse);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::{Project, ProjectConfig};

    #[test]
    fn what_an_earlier_snapshot_says_of_a_day_is_not_spent_again() {
        let mut state = State::default();
        let project = ProjectId::new("app");
        state.projects.insert(project.clone(), Project::new(&ProjectConfig::default()));
        let mut body: serde_json::Value = serde_json::from_slice(&state.to_snapshot()).unwrap();
        body["projects"]["app"]["day"] = 7.into();
        body["projects"]["app"]["spent"] =
            serde_json::json!({ "micros": 5, "tokens": null, "turns": 2, "seconds": 3 });
        body["projects"]["app"]["capped_until"] = 691_200_000_i64.into();
        let state = State::from_snapshot(body.to_string().as_bytes()).unwrap();
        let purse = &state.purses[&Budget::ProjectDay(project)];
        assert_eq!((purse.day, purse.spent.micros, purse.spent.turns), (Some(7), Some(5), 2));
        assert_eq!(state.next_due(), Some(Timestamp(691_200_000)));
    }
}
