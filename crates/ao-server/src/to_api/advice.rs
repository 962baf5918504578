//! Converts advice to wire types.

use ao_api::{AdviceList, AdviceTopic};
use ao_core::advise::{self, AdviceKind, advise};
use ao_core::{ProjectId, State, Timestamp};

/// Converts advice, the most urgent first.
pub(crate) fn advice(state: &State, now: Timestamp, project: Option<&ProjectId>) -> AdviceList {
    let told = |one: advise::AdviceItem| ao_api::Advice {
        rank: one.rank,
        kind: same_name!(
            one.kind, AdviceKind => AdviceTopic: Memory, BaseRed, Answer, NeedsYou, Circle, Merge, Thread, Review,
            Blocks, Clash, Spent, Burns, Trust, Unassigned, Flaky
        ),
        project_id: one.project.map(|project| project.to_string()),
        subject: one.about.to_string(),
        what: one.what,
        why: one.why,
        unblocks: one.unblocks,
        command: one.command,
    };
    AdviceList { advice: advise(state, now, project).into_iter().map(told).collect() }
}
