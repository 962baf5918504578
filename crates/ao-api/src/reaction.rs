//! Reactions to incidents, and custom events.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::daemon::NoticePriority;

/// The reactions to each kind of incident.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reactions {
    /// Their project; absent if they hold for all.
    pub project_id: Option<String>,
    /// Their agent.
    pub agent: Option<String>,
    pub reactions: Vec<Reaction>,
}

/// The reaction to one kind of incident, with all layers merged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reaction {
    pub event: String,
    /// `true` for a custom event, which `POST /api/events` reports.
    pub own: bool,
    pub action: ConfiguredAction,
    pub auto: bool,
    /// The number of times the action is taken for one incident.
    pub retries: u32,
    pub escalate_after_seconds: u64,
    pub priority: NoticePriority,
    pub channel: Option<String>,
    pub message: Option<String>,
    pub condition: Option<String>,
    pub threshold_seconds: Option<u64>,
    pub cooldown_seconds: u64,
    pub rerun: u32,
    pub resolve: bool,
    pub agent: Option<String>,
    pub command: Option<String>,
    pub timeout_seconds: u64,
    /// Fields that differ from the default, by their configuration key, and the layer that set each: `top`, `project
    /// my-app`, `agent codex`.
    #[serde(default)]
    pub from: BTreeMap<String, String>,
}

/// A custom event to report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewEvent {
    /// Its name, as in `reactions` of the configuration.
    pub event: String,
    /// The session that it is about. An agent can report only about its own.
    pub session: Option<String>,
    /// Or the pull request: `7`, `my-app!7`.
    pub pull: Option<String>,
    /// Or the project, in which the pull request is searched too.
    pub project_id: Option<String>,
    /// The variables below `data` in templates and conditions.
    pub data: serde_json::Map<String, serde_json::Value>,
    /// Details for the agent or person that handles it.
    pub detail: String,
    /// The key that identifies it among events of its name. The same key again is the same event, and an update only if
    /// its content differs.
    pub key: Option<String>,
    /// Reports that it is over.
    pub clear: bool,
}

/// The result of reporting an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventTaken {
    pub event: String,
    /// Its subject: a session, a pull request or a project.
    pub subject: String,
    pub key: String,
    /// The steps taken at once; empty if it was nothing new.
    pub steps: Vec<ReactionStep>,
}

/// A question what would be done about an incident.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReactionTest {
    pub event: String,
    pub session: Option<String>,
    pub pull: Option<String>,
    pub project_id: Option<String>,
    /// The label, for `label-added`.
    pub label: Option<String>,
    /// The data of a custom event.
    pub data: serde_json::Map<String, serde_json::Value>,
    pub detail: Option<String>,
}

/// The steps that would be taken, and why. Nothing was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReactionTested {
    pub reaction: Reaction,
    pub subject: String,
    /// `true` if there is no such incident now, so that its details are invented.
    pub example: bool,
    pub condition: Option<ConditionTested>,
    /// The steps that would be taken at once, in order.
    pub steps: Vec<ReactionStep>,
    /// The holds of the agent.
    pub held: Vec<String>,
    /// The escalation that would follow.
    pub then: Option<ReactionStep>,
}

/// The result of a condition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionTested {
    pub expression: String,
    /// Absent if it cannot be evaluated; see `why`.
    pub holds: Option<bool>,
    pub why: Option<String>,
    /// The values of all variables that it could use.
    #[schema(value_type = Object)]
    pub values: serde_json::Value,
}

/// A step that is taken, or would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReactionStep {
    pub step: StepKind,
    /// The recipient: a session, `orchestrator`, `person`, a channel.
    pub to: Option<String>,
    /// A description of the step.
    pub text: String,
    /// The time, if not at once.
    pub at: Option<Timestamp>,
}

wire_enum! {
    /// The action of a reaction.
    pub enum ConfiguredAction in "kebab-case" {
        SendToAgent, SpawnAgent, Notify, Merge, RerunChecks, Rebase, Run, Escalate, Record,
    } or Unknown
}

wire_enum! {
    /// The kind of a step.
    pub enum StepKind { Act, Tell, Notify, Escalate, Wait, Record, Queue, Order, Doubt } or Unknown
}
