//! Work: how far it has come, and whose turn it is.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a piece of work stands, whatever its agent's process does.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkState {
    /// Who has to act next: `you`, `agent`, `checks`, `queue` (the merge queue), `wait` (a slot, a limit, a freeze or a pause)
    /// or `done`.
    pub turn: String,
    /// How far it has come: `queued starting working idle question stuck budget limit paused stopping stopped`, or by its pull
    /// request `draft conflict checks_failed checks_pending checks_broken changes_requested review decision merge merge_queue
    /// freeze merged closed`.
    pub stage: String,
    /// The same in words that read on from a name: `!7 waits for your review`.
    pub says: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The command that helps, if a person can do something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The command after that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
    /// How many others go on once it is done.
    pub unblocks: u32,
    /// The pull request that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull: Option<PullSummary>,
}

/// A pull request in a few words.
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
    /// Its place in the merge queue, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<u32>,
}

/// An open pull request that no listed session answers for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PullWork {
    pub project_id: String,
    pub work: WorkState,
}
