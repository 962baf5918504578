//! What is done when something happens.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ao_core::incident::IncidentKind;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

use super::Priority;
use super::units::Time;

/// What is done about each kind of thing that happens. What is absent has its default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reactions(pub BTreeMap<IncidentKind, ReactionConfig>);

/// What is done about one kind of thing that happens. What is absent is as by default for that kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReactionConfig {
    /// Whether it is done without a person's word. If not, a person is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-also" = ["autoRespond"]))]
    pub auto: Option<bool>,
    /// What is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action: Option<ActionName>,
    /// How often it is done for one problem before somebody else is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-also" = ["maxRetries"]))]
    pub retries: Option<u32>,
    /// When somebody else is asked: after a time, such as `30m`, or after a number of attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-also" = ["requireApprovalAfter"]))]
    pub escalate_after: Option<EscalateAfter>,
    /// What the agent or the person is told, ahead of the details.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-also" = ["prompt"], "x-env" = "never"))]
    pub message: Option<String>,
    /// How a pull request is merged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<MergeStrategy>,
    /// Whether the branch is deleted after a merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_after: Option<bool>,
    /// When it applies, such as `label == 'needs-tests'`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-env" = "never", "x-kind" = "condition"))]
    pub condition: Option<String>,
    /// Which channel people are told by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// How urgent the news is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
}

/// What a reaction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-also" = { "spawn-agent": "send-to-agent", "auto-merge": "merge" }))]
pub enum ActionName {
    /// The agent is told, and works on it.
    SendToAgent,
    /// A person is told.
    Notify,
    /// The pull request is merged.
    Merge,
    /// It is written down, and that is all.
    Record,
}

/// How a pull request is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MergeStrategy {
    #[default]
    Squash,
    Merge,
    Rebase,
}

/// When somebody else is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscalateAfter {
    Time(Time),
    Attempts(u32),
}

/// Every kind, in the order in which they are listed for people, and by which other names documents know it.
const KINDS: [(IncidentKind, &str, &[&str]); 17] = [
    (IncidentKind::CiFailed, "A check failed on a pull request.", &["ci-failure"]),
    (IncidentKind::ChangesRequested, "A reviewer asks for changes.", &["review-comments"]),
    (IncidentKind::BotComments, "A review tool left remarks.", &["bugbot-comments"]),
    (IncidentKind::MergeConflicts, "A branch conflicts with its base.", &["merge-conflict"]),
    (IncidentKind::ApprovedAndGreen, "A pull request is approved, and its checks pass.", &["approved"]),
    (IncidentKind::LabelAdded, "A label was added.", &[]),
    (IncidentKind::PrClosed, "A pull request was closed without a merge.", &[]),
    (IncidentKind::PrMerged, "A pull request was merged.", &["merged"]),
    (IncidentKind::BaseRed, "The base branch itself fails.", &[]),
    (IncidentKind::AgentStuck, "Nothing has been seen of an agent for long.", &[]),
    (IncidentKind::AgentIdle, "An agent has stopped before its work was done.", &[]),
    (IncidentKind::AgentNeedsInput, "An agent waits for an answer.", &[]),
    (IncidentKind::AgentExited, "An agent ended and could not be brought back.", &[]),
    (IncidentKind::SetupFailed, "A workspace could not be made ready.", &[]),
    (IncidentKind::BudgetExceeded, "A budget is spent.", &[]),
    (IncidentKind::RateLimited, "A provider's limit is reached.", &[]),
    (IncidentKind::AllComplete, "All work is done.", &[]),
];

/// Where a kind stands in the list for people.
pub(crate) fn kind_order(name: &str) -> usize {
    KINDS.iter().position(|(kind, _, _)| kind.to_string() == name).unwrap_or(usize::MAX)
}

impl ReactionConfig {
    /// Lays another one over this one, field by field.
    pub fn overlaid(&self, over: &ReactionConfig) -> ReactionConfig {
        ReactionConfig {
            auto: over.auto.or(self.auto),
            action: over.action.or(self.action),
            retries: over.retries.or(self.retries),
            escalate_after: over.escalate_after.or(self.escalate_after),
            message: over.message.clone().or_else(|| self.message.clone()),
            strategy: over.strategy.or(self.strategy),
            delete_after: over.delete_after.or(self.delete_after),
            condition: over.condition.clone().or_else(|| self.condition.clone()),
            channel: over.channel.clone().or_else(|| self.channel.clone()),
            priority: over.priority.or(self.priority),
        }
    }
}

impl Reactions {
    /// Lays others over these, field by field.
    pub fn overlaid(&self, over: &Reactions) -> Reactions {
        let mut all = self.clone();
        for (kind, reaction) in &over.0 {
            let mine = all.0.entry(kind.clone()).or_default();
            *mine = mine.overlaid(reaction);
        }
        all
    }
}

/// One property for each kind, so that editors and errors know them all by name.
impl JsonSchema for Reactions {
    fn schema_name() -> Cow<'static, str> {
        "Reactions".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let reaction = generator.subschema_for::<ReactionConfig>();
        let mut kinds = serde_json::Map::new();
        for (kind, what, also) in KINDS {
            let mut schema = reaction.as_value().clone();
            schema["description"] = json!(what);
            if !also.is_empty() {
                schema["x-also"] = json!(also);
            }
            kinds.insert(kind.to_string(), schema);
        }
        json_schema!({
            "description": "What is done about each kind of thing that happens.",
            "type": "object",
            "properties": kinds,
            "additionalProperties": false,
        })
    }
}

impl Serialize for EscalateAfter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            EscalateAfter::Time(time) => time.serialize(serializer),
            EscalateAfter::Attempts(attempts) => serializer.serialize_u32(*attempts),
        }
    }
}

impl<'de> Deserialize<'de> for EscalateAfter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<EscalateAfter, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Attempts(u32),
            Time(String),
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Attempts(attempts) => EscalateAfter::Attempts(attempts),
            Written::Time(text) => EscalateAfter::Time(text.parse().map_err(serde::de::Error::custom)?),
        })
    }
}

impl JsonSchema for EscalateAfter {
    fn schema_name() -> Cow<'static, str> {
        "EscalateAfter".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["string", "integer"],
            "pattern": Time::PATTERN,
            "minimum": 0,
            "maximum": 1000,
            "x-kind": "time",
        })
    }
}
