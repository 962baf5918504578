//! Progress of work, and the party that has to act next.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The progress of a piece of work, independent of its agent's process.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkState {
    pub turn: NextParty,
    pub stage: ProgressStage,
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
    pub checks: ChecksColor,
    pub review: ReviewProgress,
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

wire_enum! {
    /// The party that has to act next: `queue` is the merge queue, `wait` a slot, a limit, a freeze or a pause.
    pub enum NextParty { You, Agent, Checks, Queue, Wait, Done } or Unknown
}

wire_enum! {
    /// The stage of work: from `draft` on by its pull request.
    pub enum ProgressStage {
        Queued, Starting, Working, Quiet, Idle, Question, Stuck, Budget, Limit, Paused, Stopping, Stopped,
        Draft, Conflict, ChecksFailed, ChecksPending, ChecksBroken, ChangesRequested, Review, Decision, Merge,
        MergeQueue, Freeze, Merged, Closed,
    } or Unknown
}

wire_enum! {
    /// The checks of a pull request in short. `blocked` means that a conflict prevents them.
    pub enum ChecksColor { Green, Red, Pending, Blocked, None } or Unknown
}

wire_enum! {
    /// The reviews of a pull request in short. `waiting_again` means that it was reviewed before.
    pub enum ReviewProgress { Waiting, WaitingAgain, ChangesRequested, Approved, Commented, None } or Unknown
}
