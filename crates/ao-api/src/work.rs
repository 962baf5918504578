//! Progress of work, and the party that has to act next.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The progress of a piece of work, independent of its agent's process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkState {
    /// The party that has to act next: `you`, `agent`, `checks`, `queue` (the merge queue), `wait` (a slot, a limit, a
    /// freeze or a pause) or `done`.
    pub turn: String,
    /// The stage: `queued starting working idle question stuck budget limit paused stopping stopped`, or by its pull
    /// request `draft conflict checks_failed checks_pending checks_broken changes_requested review decision merge
    /// merge_queue freeze merged closed`.
    pub stage: String,
    /// A predicate that continues a name: `!7 waits for your review`.
    pub says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The command that helps, if a person can do something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The command after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
    /// The number of other pieces of work that it blocks.
    pub unblocks: u32,
    /// Its pull request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull: Option<PullSummary>,
}

/// A pull request in short.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PullSummary {
    /// Such as `my-app!7`.
    pub id: String,
    pub number: u64,
    pub title: String,
    /// `green`, `red`, `pending`, `blocked` by a conflict, or `none`.
    pub checks: String,
    /// `waiting`, `changes_requested`, `approved`, `commented` or `none`.
    pub review: String,
    /// Its position in the merge queue, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<u32>,
}

/// An open pull request of no listed session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PullWork {
    pub project_id: String,
    pub work: WorkState,
}
