//! Renders everything for people. Pure: data, the time and the width of the window go in, a text comes out.
//!
//! Texts include colours; the printer removes them where they are not supported.

mod advice;
mod ask;
mod budget;
mod card;
pub(crate) mod check;
mod cleanup;
mod conflicts;
pub mod diff;
mod event;
mod event_words;
mod explain;
mod fleet;
mod issue;
mod list;
pub(crate) mod pager;
mod plan;
mod prose;
mod pull;
mod queue;
mod table;
mod words;
mod work;

use ao_api::Timestamp;

pub use advice::advice;
pub(crate) use ask::answers;
pub use ask::{asks, whole_ask};
pub use budget::budgets;
pub use card::card;
pub use check::{checks, failure, runs};
pub use cleanup::{cleanup, discard};
pub use conflicts::{conflict, conflicts};
pub use event::{event, nameless};
pub use explain::{explanation, why};
pub use fleet::{FleetView, fleet};
pub use issue::{imported, issue, issues};
pub use list::list;
pub use plan::{plan, plan_graph};
pub use pull::{PullParts, pull, pulls};
pub use queue::merge_queues;
pub use table::{TableCell, TextTable};
pub(crate) use words::plain;
pub use words::{age, is_over, size, span};

/// The window to draw for.
#[derive(Debug, Clone, Copy)]
pub struct Canvas {
    pub now: Timestamp,
    /// Width of the window; absent if the output is not a terminal, and then nothing is shortened.
    pub width: Option<usize>,
}

impl Canvas {
    /// Returns the window of this process's output.
    pub fn here() -> Canvas {
        Canvas { now: Timestamp::now(), width: crate::ui::width() }
    }
}
