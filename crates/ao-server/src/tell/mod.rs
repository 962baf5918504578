//! Converts the core's state to wire types, without changing it.

mod advice;
mod budget;
mod check;
pub(crate) mod daemon;
mod explain;
mod issue;
mod message;
mod plan;
mod pull;
mod queue;
mod reaction;
mod session;
mod work;

use ao_core::Timestamp;
use serde::Serialize;

pub(crate) use advice::advice;
pub(crate) use budget::budgets;
pub(crate) use check::{check_log, check_run};
pub(crate) use explain::explanation;
pub(crate) use issue::issue;
pub(crate) use message::{find_message, messages};
pub(crate) use plan::plan;
pub(crate) use pull::{pull, pull_detail, pull_row};
pub(crate) use queue::merge_queue;
pub(crate) use reaction::{reactions, steps, subject, tested};
pub(crate) use session::{session, status};
pub(crate) use work::pull_work;

pub(crate) fn time(at: Timestamp) -> ao_api::Timestamp {
    ao_api::Timestamp::from_millisecond(at.0).unwrap_or(ao_api::Timestamp::UNIX_EPOCH)
}

/// Returns the serialized name of a plain enum.
pub(crate) fn word(it: &impl Serialize) -> String {
    match serde_json::to_value(it) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
