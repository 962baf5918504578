//! Reactions to incidents.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ao_core::incident::IncidentKind;
use ao_core::project::Landing;
use ao_core::queue::LandingStrategy;
use ao_core::reaction::{ReactionAction, ReactionPatch, ReactionPatches};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::Priority;
use super::units::TimeSpan;

/// The reaction to each kind of incident. Absent ones have their default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reactions(pub BTreeMap<IncidentKind, ReactionConfig>);

/// The reaction to one kind of incident. Absent fields have the default of that kind.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReactionConfig {
    /// Acts without a person's request. If `false`, a notice is sent instead.
    #[schemars(extend("x-also" = ["autoRespond"]))]
    pub auto: Option<bool>,
    /// The action to take.
    #[schemars(with = "Option<ActionName>")]
    pub action: Option<ReactionAction>,
    /// The number of times it is done for one incident before it is escalated.
    #[schemars(extend("x-also" = ["maxRetries"]))]
    pub retries: Option<u32>,
    /// The limit after which it is escalated: a time, such as `30m`, or a number of attempts.
    #[schemars(extend("x-also" = ["requireApprovalAfter"]))]
    pub escalate_after: Option<EscalateAfter>,
    /// The message to the agent or the person: a template such as `CI failed: {{errors}}`. If it uses none of `errors`,
    /// `comments`, `conflicts` and `detail`, the details are appended.
    #[schemars(extend("x-also" = ["prompt"], "x-env" = "never", "x-kind" = "template"))]
    pub message: Option<String>,
    /// The condition for the reaction: an expression such as `label == 'needs-tests'` over the same variables as the
    /// message. If it is false, the incident is only recorded.
    #[schemars(extend("x-env" = "never", "x-kind" = "condition"))]
    pub condition: Option<String>,
    /// The priority of the notice to a person.
    pub priority: Option<Priority>,
    /// The one channel of its notices, instead of those of the priority.
    pub channel: Option<String>,
    /// The time that a state has to last before it counts, for `agent-stuck` and `agent-idle`.
    pub threshold: Option<TimeSpan>,
    /// The minimum time between two actions, even if there is new information.
    pub cooldown: Option<TimeSpan>,
    /// The number of times that a failed check is run again before anyone is informed.
    #[schemars(range(max = 10))]
    pub rerun: Option<u32>,
    /// Resolves a review thread once it is answered.
    #[schemars(extend("x-also" = ["resolveThreads"]))]
    pub resolve: Option<bool>,
    /// The merge strategy, for `merge`.
    #[schemars(with = "Option<MergeStrategy>")]
    pub strategy: Option<LandingStrategy>,
    /// Deletes the branch after a merge.
    pub delete_after: Option<bool>,
    /// The agent to start, for `spawn-agent`.
    pub agent: Option<String>,
    /// The command, for `run`.
    #[schemars(extend("x-env" = "never"))]
    pub command: Option<String>,
    /// The time limit of the command.
    pub timeout: Option<TimeSpan>,
}

/// An action of a reaction.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[schemars(extend("x-also" = { "auto-merge": "merge" }))]
#[expect(dead_code, reason = "only the schema of `ReactionAction`")]
enum ActionName {
    /// Sends a message to the agent, which works on it.
    SendToAgent,
    /// Sends a message to the agent; if that agent is gone, starts a new one on its branch.
    SpawnAgent,
    /// Sends a notice to a person.
    Notify,
    /// Merges the pull request, if its policy allows it.
    Merge,
    /// Runs the failed checks again.
    RerunChecks,
    /// Rebases the branch onto its base, if that causes no conflict.
    Rebase,
    /// Runs a command.
    Run,
    /// Asks the orchestrator, or else a person, without the agent.
    Escalate,
    /// Records it, and nothing else.
    Record,
}

/// A merge strategy.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "only the schema of `LandingStrategy`")]
enum MergeStrategy {
    Squash,
    Merge,
    Rebase,
}

/// The limit after which an incident is escalated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EscalateAfter {
    Time(TimeSpan),
    Attempts(u32),
}

/// All kinds, in the order in which they are listed for people, with their other names in documents.
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
        "The base branch or the repository's configuration was changed, but not by a landing, push or fetch.",
        &[],
    ),
    (IncidentKind::AgentStuck, "An agent has given no sign of activity for a long time.", &[]),
    (IncidentKind::AgentIdle, "An agent is idle before its task is done.", &[]),
    (IncidentKind::AgentNeedsInput, "An agent waits for an answer.", &[]),
    (IncidentKind::AgentExited, "An agent exited and could not be restarted.", &[]),
    (IncidentKind::SetupFailed, "A workspace could not be prepared.", &[]),
    (IncidentKind::BudgetExceeded, "A budget is spent.", &[]),
    (IncidentKind::RateLimited, "A provider's limit is reached.", &[]),
    (IncidentKind::AllComplete, "All work is done.", &[]),
];

/// Returns the position of a kind in the list for people.
pub(crate) fn kind_order(name: &str) -> usize {
    KINDS.iter().position(|(kind, _, _)| kind.to_string() == name).unwrap_or(usize::MAX)
}

impl ReactionConfig {
    /// Merges another reaction over this one, field by field.
    pub fn overlaid(&self, over: &ReactionConfig) -> ReactionConfig {
        let fields =
            |of: &ReactionConfig| serde_json::to_value(of).and_then(serde_json::from_value::<Map<_, _>>);
        let merged = fields(self).and_then(|under| {
            let over = fields(over)?.into_iter().filter(|(_, value): &(String, Value)| !value.is_null());
            serde_json::from_value(Value::Object(under.into_iter().chain(over).collect()))
        });
        merged.expect("what was written from a reaction can be read as one")
    }

    /// Converts it to a patch over the default reaction. A number of attempts in `escalateAfter` also bounds the
    /// retries.
    pub fn core(&self) -> ReactionPatch {
        let (attempts, most, escalate_after) = match self.escalate_after {
            None => (self.retries, None, None),
            Some(EscalateAfter::Time(time)) => (self.retries, None, Some(time.0)),
            Some(EscalateAfter::Attempts(most)) => (self.retries.or(Some(most)), Some(most), None),
        };
        ReactionPatch {
            auto: self.auto,
            action: self.action,
            attempts,
            most,
            escalate_after,
            message: self.message.clone(),
            condition: self.condition.clone(),
            threshold: self.threshold.map(|time| time.0),
            level: self.priority.map(Priority::core),
            channel: self.channel.clone(),
            agent: self.agent.clone(),
            command: self.command.clone(),
            timeout: self.timeout.map(|time| time.0),
            rerun: self.rerun,
            resolve: self.resolve,
            cooldown: self.cooldown.map(|time| time.0),
        }
    }
}

impl Reactions {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn core(&self) -> ReactionPatches {
        self.0.iter().map(|(kind, reaction)| (kind.clone(), reaction.core())).collect()
    }

    /// Returns the way in which changes land, which is configured with the reaction that merges them.
    pub fn landing(&self) -> Landing {
        let merges = self.0.get(&IncidentKind::ApprovedAndGreen);
        Landing {
            strategy: merges.and_then(|reaction| reaction.strategy).unwrap_or_default(),
            delete_branch: merges.and_then(|reaction| reaction.delete_after).unwrap_or(false),
        }
    }

    /// Merges other reactions over these, field by field.
    pub fn overlaid(&self, over: &Reactions) -> Reactions {
        let mut all = self.clone();
        for (kind, reaction) in &over.0 {
            let mine = all.0.entry(kind.clone()).or_default();
            *mine = mine.overlaid(reaction);
        }
        all
    }
}

/// Generates one property for each kind, so that editors and errors know all of them by name.
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
        // A custom event must have an action, because there is no default for it.
        let mut own = reaction.as_value().clone();
        own["description"] = json!("A custom event, which `ao emit` reports.");
        own["required"] = json!(["action"]);
        json_schema!({
            "description": "The reaction to each kind of incident. Any other name is a custom event, \
                which `ao emit` reports; it needs an `action`.",
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
        enum EscalationText {
            Attempts(u32),
            Time(String),
        }
        Ok(match EscalationText::deserialize(deserializer)? {
            EscalationText::Attempts(attempts) => EscalateAfter::Attempts(attempts),
            EscalationText::Time(text) => {
                EscalateAfter::Time(text.parse().map_err(serde::de::Error::custom)?)
            }
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
            "pattern": TimeSpan::PATTERN,
            "minimum": 0,
            "maximum": 1000,
            "x-kind": "time",
        })
    }
}
