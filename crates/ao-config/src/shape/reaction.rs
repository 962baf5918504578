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
    /// What the agent or the person is told: a template such as `CI failed: {{errors}}`. If it uses none of `errors`,
    /// `comments`, `conflicts` and `detail`, the details follow it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-also" = ["prompt"], "x-env" = "never", "x-kind" = "template"))]
    pub message: Option<String>,
    /// When it applies: an expression such as `label == 'needs-tests'` over the same names as the message. If it does not
    /// hold, what happened is only written down.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-env" = "never", "x-kind" = "condition"))]
    pub condition: Option<String>,
    /// How urgent the news is for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// The one channel that people are told by, instead of those for the priority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// How long a state has to last before it counts, for what is about time: `agent-stuck`, `agent-idle`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<Time>,
    /// How long after one act the next one is not taken, whatever is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cooldown: Option<Time>,
    /// How often a failed check is run again before anybody is woken.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 10))]
    pub rerun: Option<u32>,
    /// Whether a review's thread is resolved once its answer is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-also" = ["resolveThreads"]))]
    pub resolve: Option<bool>,
    /// How a pull request is merged, for `merge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy: Option<MergeStrategy>,
    /// Whether the branch is deleted after a merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_after: Option<bool>,
    /// Which agent is started, for `spawn-agent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// What is run, for `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-env" = "never"))]
    pub command: Option<String>,
    /// How long the command has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Time>,
}

/// What a reaction does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-also" = { "auto-merge": "merge" }))]
pub enum ActionName {
    /// The agent is told, and works on it.
    SendToAgent,
    /// The same; and if that agent is gone, a new one is started on its branch.
    SpawnAgent,
    /// A person is told.
    Notify,
    /// The pull request is merged, if its rules allow it.
    Merge,
    /// The checks that failed are run again.
    RerunChecks,
    /// The branch is put onto its base, if that goes without a conflict.
    Rebase,
    /// A command is run.
    Run,
    /// The orchestrator is asked, or else a person, without the agent.
    Escalate,
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
const KINDS: [(IncidentKind, &str, &[&str]); 19] = [
    (IncidentKind::CiFailed, "A check failed on a pull request.", &["ci-failure"]),
    (IncidentKind::ChangesRequested, "A reviewer asks for changes.", &["review-comments"]),
    (IncidentKind::BotComments, "A review tool left remarks.", &["bugbot-comments"]),
    (IncidentKind::MergeConflicts, "A branch conflicts with its base.", &["merge-conflict"]),
    (
        IncidentKind::ReviewNeeded,
        "A pull request waits for a person: for a review, a decision or its merge.",
        &[],
    ),
    (IncidentKind::ApprovedAndGreen, "A pull request is approved, and its checks pass.", &["approved"]),
    (IncidentKind::LabelAdded, "A label was added.", &[]),
    (IncidentKind::PrClosed, "A pull request was closed without a merge.", &[]),
    (IncidentKind::PrMerged, "A pull request was merged.", &["merged"]),
    (IncidentKind::BaseRed, "The base branch itself fails.", &[]),
    (
        IncidentKind::RepositoryChanged,
        "The base branch or what the repository is configured with was changed, not by a landing, push or fetch.",
        &[],
    ),
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
        fn either<T: Clone>(over: &Option<T>, under: &Option<T>) -> Option<T> {
            over.as_ref().or(under.as_ref()).cloned()
        }
        ReactionConfig {
            auto: either(&over.auto, &self.auto),
            action: either(&over.action, &self.action),
            retries: either(&over.retries, &self.retries),
            escalate_after: either(&over.escalate_after, &self.escalate_after),
            message: either(&over.message, &self.message),
            condition: either(&over.condition, &self.condition),
            priority: either(&over.priority, &self.priority),
            channel: either(&over.channel, &self.channel),
            threshold: either(&over.threshold, &self.threshold),
            cooldown: either(&over.cooldown, &self.cooldown),
            rerun: either(&over.rerun, &self.rerun),
            resolve: either(&over.resolve, &self.resolve),
            strategy: either(&over.strategy, &self.strategy),
            delete_after: either(&over.delete_after, &self.delete_after),
            agent: either(&over.agent, &self.agent),
            command: either(&over.command, &self.command),
            timeout: either(&over.timeout, &self.timeout),
        }
    }
}

impl Reactions {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

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
        // An event of the user's own says what is done about it, because nobody else can know.
        let mut own = reaction.as_value().clone();
        own["description"] = json!("An event of your own, which `ao emit` tells of.");
        own["required"] = json!(["action"]);
        json_schema!({
            "description": "What is done about each kind of thing that happens. Another name is an event of your own, \
                which `ao emit` tells of; it needs an `action`.",
            "type": "object",
            "properties": kinds,
            "additionalProperties": own,
            "x-kind": "events",
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
