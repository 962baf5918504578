//! Commands of the user's own on the way from a task to a merge.

use std::borrow::Cow;
use std::collections::BTreeMap;

use ao_core::hook::HookPoint;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::units::Time;

/// Which commands are run at each point.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hooks(pub BTreeMap<HookPoint, Vec<HookConfig>>);

/// A hook: a command, or `{ run: ./gate.sh, timeout: 30s }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-short" = "run"))]
pub struct HookConfig {
    /// Run by your shell in the project's `path`, with a JSON document on its standard input.
    #[schemars(extend("x-also" = ["command"], "x-env" = "never"))]
    pub run: String,
    /// How long it may take. After that it is ended, with everything that it has started.
    #[serde(default = "a_minute")]
    pub timeout: Time,
}

/// Every point, in the order in which a change comes by.
const POINTS: [(HookPoint, &str); 9] = [
    (HookPoint::BeforeAssign, "A session is about to start. If the command fails, it does not."),
    (HookPoint::WorkspaceCreated, "A session has got its workspace."),
    (HookPoint::SessionStarted, "The agent of a session was started for the first time."),
    (HookPoint::PrCreated, "A pull request was opened."),
    (HookPoint::ChecksCompleted, "All checks of a pull request have ended."),
    (HookPoint::ReviewReceived, "A pull request was reviewed."),
    (HookPoint::BeforeMerge, "A pull request is about to be merged. If the command fails, it is not."),
    (HookPoint::Merged, "A pull request was merged."),
    (HookPoint::SessionEnded, "A session has ended."),
];

impl Hooks {
    pub fn is_empty(&self) -> bool {
        self.0.values().all(Vec::is_empty)
    }

    /// As the core has them: in the order of the points, and within one as they are written.
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

/// One property for each point, so that editors and errors know them all by name.
impl JsonSchema for Hooks {
    fn schema_name() -> Cow<'static, str> {
        "Hooks".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let hook = generator.subschema_for::<HookConfig>();
        let mut points = serde_json::Map::new();
        for (point, what) in POINTS {
            let list = json!({ "description": what, "type": "array", "items": hook, "x-one": true });
            points.insert(point.to_string(), list);
        }
        json_schema!({
            "description": "Commands that are run at points on the way from a task to a merge.",
            "type": "object",
            "properties": points,
            "additionalProperties": false,
        })
    }
}

fn a_minute() -> Time {
    Time(ao_core::hook::TIMEOUT)
}
