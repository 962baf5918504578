//! Hooks: the user's commands on the way from a task to a merge.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ao_core::hook::HookPoint;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::units::TimeSpan;

/// The commands to run at each hook point.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct HooksConfig(pub BTreeMap<HookPoint, Vec<HookConfig>>);

/// A hook: a command, or `{ run: ./gate.sh, timeout: 30s }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-short" = "run"))]
pub struct HookConfig {
    /// The command, run by your shell in the project's `path`, with a JSON document on its standard input.
    #[schemars(extend("x-also" = ["command"], "x-env" = "never"))]
    pub run: String,
    /// The time after which it is ended, with all processes that it has started.
    #[serde(default = "a_minute")]
    pub timeout: TimeSpan,
}

/// All hook points, in the order in which a change passes them.
const POINTS: [(HookPoint, &str); 9] = [
    (HookPoint::BeforeAssign, "A session is about to start. If the command fails, it does not."),
    (HookPoint::WorkspaceCreated, "The workspace of a session was created."),
    (HookPoint::SessionStarted, "The agent of a session was started for the first time."),
    (HookPoint::PrCreated, "A pull request was opened."),
    (HookPoint::ChecksCompleted, "All checks of a pull request have ended."),
    (HookPoint::ReviewReceived, "A pull request was reviewed."),
    (HookPoint::BeforeMerge, "A pull request is about to be merged. If the command fails, it is not."),
    (HookPoint::Merged, "A pull request was merged."),
    (HookPoint::SessionEnded, "A session has ended."),
];

impl HooksConfig {
    pub fn is_empty(&self) -> bool {
        self.0.values().all(Vec::is_empty)
    }

    /// Converts them for the core: ordered by hook point, and within one as they are written.
    pub fn core(&self) -> Vec<ao_core::hook::Hook> {
        let of = |(point, hooks): (&HookPoint, &Vec<HookConfig>)| {
            let point = *point;
            let hook = move |hook: &HookConfig| ao_core::hook::Hook {
                point,
                command: hook.run.clone(),
                timeout: hook.timeout.0,
            };
            hooks.iter().map(hook).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }
}

/// Generates one property for each hook point, so that editors and errors know all of them by name.
impl JsonSchema for HooksConfig {
    fn schema_name() -> Cow<'static, str> {
        "HooksConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let hook = generator.subschema_for::<HookConfig>();
        let mut points = serde_json::Map::new();
        for (point, what) in POINTS {
            let list = json!({ "description": what, "type": "array", "items": hook, "x-one": true });
            points.insert(point.to_string(), list);
        }
        json_schema!({
            "description": "Commands that run at points on the way from a task to a merge.",
            "type": "object",
            "properties": points,
            "additionalProperties": false,
        })
    }
}

fn a_minute() -> TimeSpan {
    TimeSpan(ao_core::hook::TIMEOUT)
}
