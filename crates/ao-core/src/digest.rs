//! The day in a few lines: what was merged, what needed a person, what it cost, what waits, and what matters now.
//!
//! What happened is counted as it happens, and the count begins anew when it was told. When that is, the calendar says, which
//! is not known here.

use serde::{Deserialize, Serialize};

use crate::advise::advise;
use crate::budget::{Spend, dollars};
use crate::incident::IncidentKind;
use crate::plan::plan;
use crate::state::State;
use crate::{ProjectId, Timestamp};

/// How much advice is told along.
const ADVICE: usize = 5;

/// What the keys of these notices begin with.
const KEY: &str = "daily ";

/// What has happened in a project since the last time that it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    pub merged: u32,
    pub stopped: u32,
    /// How often a person was asked for help.
    pub escalated: u32,
    pub spent: Spend,
    /// Some of it was spent by agents that do not tell what they cost.
    pub partly_unknown: bool,
}

impl Tally {
    pub(crate) fn ended(&mut self, merged: bool) {
        let count = if merged { &mut self.merged } else { &mut self.stopped };
        *count = count.saturating_add(1);
    }

    pub(crate) fn spend(&mut self, before: Spend, after: Spend) {
        self.spent = self.spent.add_growth(before, after);
        self.partly_unknown |= after.micros.is_none();
    }
}

/// The key of the notice for a day, by which it is told once.
pub fn key(day: &str) -> String {
    format!("{KEY}{day}")
}

pub(crate) fn is_digest(key: &str) -> bool {
    key.starts_with(KEY)
}

/// Whether somebody is asked for help by it, and not only told.
pub(crate) fn needs_person(kind: &IncidentKind) -> bool {
    !matches!(
        kind,
        IncidentKind::AllComplete
            | IncidentKind::PrMerged
            | IncidentKind::LabelAdded
            | IncidentKind::RateLimited
    )
}

/// The day in a few lines; nothing, if there is nothing to tell.
pub fn summary(state: &State, now: Timestamp) -> Option<String> {
    let mut lines: Vec<String> = state.tally.iter().map(|(project, tally)| line(project, tally)).collect();
    let plan = plan(state, now, None);
    let advice = advise(state, now, None);
    if lines.is_empty() && advice.is_empty() && plan.waiting.is_empty() {
        return None;
    }
    if lines.is_empty() {
        lines.push("nothing was finished and nobody was asked for help".into());
    }
    let (running, next, waiting) = (plan.running.len(), plan.next.len(), plan.waiting.len());
    lines.push(format!("now: {running} running, {next} in the queue, {waiting} waiting for something else"));
    if !advice.is_empty() {
        lines.push("what matters now:".into());
        let told = advice.iter().take(ADVICE);
        lines.extend(told.map(|one| format!("{}. {} ({})", one.rank, one.what, one.command)));
        if advice.len() > ADVICE {
            lines.push(format!("… and {} more; `ao advise` has them", advice.len() - ADVICE));
        }
    }
    Some(lines.join("\n"))
}

fn line(project: &ProjectId, tally: &Tally) -> String {
    let Tally { merged, stopped, escalated, spent, partly_unknown } = tally;
    let cost = match spent.micros {
        Some(_) if *partly_unknown => format!("at least {}", dollars(spent.micros)),
        micros => dollars(micros),
    };
    let people = match escalated {
        0 => "nobody was needed".into(),
        1 => "a person was needed once".into(),
        times => format!("a person was needed {times} times"),
    };
    format!("{project}: {merged} merged, {stopped} stopped, {people}; turns {}, cost {cost}", spent.turns)
}
