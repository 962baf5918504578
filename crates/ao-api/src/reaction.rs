//! Reactions: what is done when something happens, and events that users tell of themselves.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is done about each kind of thing that happens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reactions {
    /// The project that it holds for; nothing if it is what holds for all.
    #[serde(default)]
    pub project_id: Option<String>,
    /// The agent that it holds for.
    #[serde(default)]
    pub agent: Option<String>,
    pub reactions: Vec<Reaction>,
}

/// What is done about one kind of thing that happens, with all layers in one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reaction {
    pub event: String,
    /// An event of the user's own, which `POST /api/events` tells of.
    pub own: bool,
    pub action: String,
    pub auto: bool,
    /// How often the action is taken for one problem.
    pub retries: u32,
    pub escalate_after_seconds: u64,
    /// `urgent action warning info`.
    pub priority: String,
    #[serde(default)]
    pub channel: Option<String>,
    #[serde(default)]
    pub message: Option<String>,
    #[serde(default)]
    pub condition: Option<String>,
    #[serde(default)]
    pub threshold_seconds: Option<u64>,
    pub cooldown_seconds: u64,
    pub rerun: u32,
    pub resolve: bool,
    #[serde(default)]
    pub agent: Option<String>,
    #[serde(default)]
    pub command: Option<String>,
    pub timeout_seconds: u64,
    /// What is not as by default, by the configuration's word for it, and where that was said: `top`, `project my-app`,
    /// `agent codex`.
    #[serde(default)]
    pub from: BTreeMap<String, String>,
}

/// Somebody tells of an event of their own.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewEvent {
    /// Its name, as `reactions` of the configuration has it.
    pub event: String,
    /// The session that it is about. An agent tells of its own only.
    pub session: Option<String>,
    /// Or the pull request: `7`, `my-app!7`.
    pub pull: Option<String>,
    /// Or the project, which is also where the pull request is looked for.
    pub project_id: Option<String>,
    /// What templates and conditions know as `data`.
    pub data: serde_json::Map<String, serde_json::Value>,
    /// What whoever deals with it has to know.
    pub detail: String,
    /// What tells it from others of its name. The same key again is the same event, and news only if it says something else.
    pub key: Option<String>,
    /// It is over.
    pub clear: bool,
}

/// What became of an event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventTaken {
    pub event: String,
    /// Whom it is about: a session, a pull request or a project.
    pub subject: String,
    pub key: String,
    /// What was done about it at once; nothing if it was no news.
    pub steps: Vec<ReactionStep>,
}

/// A question what would be done if something happened.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReactionTest {
    pub event: String,
    pub session: Option<String>,
    pub pull: Option<String>,
    pub project_id: Option<String>,
    /// The label, for `label-added`.
    pub label: Option<String>,
    /// What an event of the user's own would be told with.
    pub data: serde_json::Map<String, serde_json::Value>,
    pub detail: Option<String>,
}

/// What would be done, and why. Nothing was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReactionTested {
    pub reaction: Reaction,
    pub subject: String,
    /// Nothing of the kind is there now, so that its details are made up.
    pub example: bool,
    #[serde(default)]
    pub condition: Option<ConditionTested>,
    /// What would happen at once, in order.
    pub steps: Vec<ReactionStep>,
    /// What holds the agent back now.
    pub held: Vec<String>,
    /// When somebody else would be asked if that does not help, and who.
    #[serde(default)]
    pub then: Option<ReactionStep>,
}

/// Whether a condition holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConditionTested {
    pub expression: String,
    /// Absent if it cannot be judged; `why` says why.
    #[serde(default)]
    pub holds: Option<bool>,
    #[serde(default)]
    pub why: Option<String>,
    /// What it was judged by: every name that it could speak of.
    #[schema(value_type = Object)]
    pub values: serde_json::Value,
}

/// One thing that is done, or would be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReactionStep {
    /// `act tell notify escalate wait record queue order`.
    pub step: String,
    /// Whom it concerns: a session, `orchestrator`, `person`, a channel.
    #[serde(default)]
    pub to: Option<String>,
    /// What is said or done.
    pub text: String,
    /// When, if not at once.
    #[serde(default)]
    pub at: Option<Timestamp>,
}
