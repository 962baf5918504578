//! The daily digest: merges, escalations, cost, waiting work, and advice.
//!
//! Events are counted as they happen, and the count restarts with each digest. The caller decides the time of day,
//! because the core has no calendar.

use serde::{Deserialize, Serialize};

use crate::advise::advise;
use crate::budget::UsageTotal;
use crate::incident::IncidentKind;
use crate::plan::plan;
use crate::state::State;
use crate::{ProjectId, Timestamp};

/// The number of pieces of advice in a digest.
const ADVICE: usize = 5;

/// The prefix of the keys of these notices.
const KEY: &str = "daily ";

/// The counts of a project since its last digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DailyTally {
    pub merged: u32,
    pub stopped: u32,
    /// The number of times a person was asked for help.
    pub escalated: u32,
    pub spent: UsageTotal,
    /// Some of it was spent by agents that do not report their cost.
    pub partly_unknown: bool,
}

impl DailyTally {
    pub(crate) fn ended(&mut self, merged: bool) {
        let count = if merged { &mut self.merged } else { &mut self.stopped };
        *count = count.saturating_add(1);
    }

    pub(crate) fn spend(&mut self, before: UsageTotal, after: UsageTotal) {
        self.spent = self.spent.add_growth(before, after);
        self.partly_unknown |= after.micros.is_none();
    }
}

/// Returns the key of the notice for a day, which makes it unique.
pub fn key(day: &str) -> String {
    format!("{KEY}{day}")
}

pub(crate) fn is_digest(key: &str) -> bool {
    key.starts_with(KEY)
}

/// Returns whether the kind of problem asks a person for help, rather than only informing.
pub(crate) fn needs_person(kind: &IncidentKind) -> bool {
    !matches!(
        kind,
        IncidentKind::AllComplete
            | IncidentKind::PrMerged
            | IncidentKind::LabelAdded
            | IncidentKind::RateLimited
    )
}

/// Returns the digest; `None` if there is nothing to report.
pub fn summary(state: &State, now: Timestamp) -> Option<String> {
    let mut lines: Vec<String> = state.tally.iter().map(|(project, tally)| line(project, tally)).collect();
    let plan = plan(state, now, None);
    let advice = advise(state, now, None);
    if lines.is_empty() && advice.is_empty() && plan.waiting.iter().all(|work| work.obstacle.is_none()) {
        return None;
    }
    if lines.is_empty() {
        lines.push("nothing was finished, and no one was asked for help".into());
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

fn line(project: &ProjectId, tally: &DailyTally) -> String {
    let DailyTally { merged, stopped, escalated, spent, partly_unknown } = tally;
    let cost = spent.cost(*partly_unknown);
    let people = match escalated {
        0 => "no one was needed".into(),
        1 => "a person was needed once".into(),
        times => format!("a person was needed {times} times"),
    };
    format!("{project}: {merged} merged, {stopped} stopped, {people}; turns {}, cost {cost}", spent.turns)
}
