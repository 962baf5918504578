//! The schedule of sessions, and advice.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The sessions that run, those that will run, in order, and those that wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The number of agents that run, and the maximum.
    pub taken: u32,
    pub slots: u32,
    /// Work that has a slot.
    pub running: Vec<Planned>,
    /// Work that will get a slot automatically, in order, if all takes equally long.
    pub next: Vec<Planned>,
    /// Work that waits for something else.
    pub waiting: Vec<Planned>,
}

/// A piece of work: a session, or an issue that has none yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    pub project_id: String,
    /// Such as `my-app#42`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// The session's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub title: String,
    /// Its specialist or agent; by default the project's own agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The reason for that choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Higher runs first.
    pub priority: i32,
    /// 0 for work that runs; 1 for work that starts when that has ended, and so on. Absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// The reason it does not run now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<WaitReason>,
    /// The reason as a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The issues that have to be closed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
}

/// Advice, the most urgent first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdviceList {
    pub advice: Vec<Advice>,
}

/// Something for a person to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Advice {
    /// 1 is the most urgent.
    pub rank: u32,
    pub kind: AdviceTopic,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// Its subject: a session's name, an issue, a pull request, a project.
    pub subject: String,
    pub what: String,
    pub why: String,
    /// The number of other pieces of work that it blocks.
    pub unblocks: u32,
    /// The command to run.
    #[serde(rename = "do")]
    pub command: String,
}

wire_enum! {
    /// The reason that work does not run now.
    pub enum WaitReason {
        Cap, ProjectCap, SpecialistCap, Memory, BlockedBy, Held, Account, Ports, Asked, Collides, Untrusted,
        NoSpecialist, NotAssigned, Worked, Stopped, Begun,
    } or Unknown
}

wire_enum! {
    /// The kind of advice.
    pub enum AdviceTopic {
        Memory, BaseRed, Answer, NeedsYou, Circle, Merge, Thread, Review, Blocks, Clash, Spent, Burns, Trust,
        Unassigned, Flaky,
    } or Unknown
}
