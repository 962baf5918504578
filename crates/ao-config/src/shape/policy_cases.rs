//! Cases for a policy, beside it in `.ao/policy.test.yaml`: what is given, and what is expected.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cases for a policy, which `ao policy test` tries.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(title = "ao policy cases", extend("x-env" = "never"))]
pub struct PolicyCases {
    /// Where editors find the schema of this file.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Each with a name.
    pub cases: Vec<PolicyCase>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyCase {
    /// A sentence that says what is tried.
    pub name: String,
    /// The pull request.
    #[serde(default)]
    pub given: CaseGiven,
    /// What the policy is to say of it.
    pub expect: CaseExpected,
}

/// A pull request in few words. What is left out is as if nothing stood in the way.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CaseGiven {
    /// The files that it changes; `src/lib.rs`, if none is named.
    #[schemars(extend("x-one" = true))]
    pub files: Vec<String>,
    /// How many lines it adds and removes, together; 10, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// The agent that made it. A person did, if neither this nor `author` is said to be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The specialist that the agent is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub specialist: Option<String>,
    /// The login of who opened it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Who has approved this head, and what they are to the repository: `{ ann: owner, bob: member, eve: outsider }`.
    #[schemars(extend("x-text" = true))]
    pub approvals: IndexMap<String, String>,
    /// Who has asked for changes: logins of members.
    #[schemars(extend("x-one" = true))]
    pub changes_requested: Vec<String>,
    /// Files with a thread of a person that is not resolved.
    #[schemars(extend("x-one" = true))]
    pub open_threads: Vec<String>,
    /// Checks by name: `passed`, `failed`, `pending` or `skipped`. If none is named, all that the policy requires have passed.
    pub checks: IndexMap<String, CaseCheck>,
    /// Its labels.
    #[schemars(extend("x-one" = true))]
    pub labels: Vec<String>,
    /// Whether it is a draft.
    pub draft: bool,
    /// Files that conflict with the base.
    #[schemars(extend("x-one" = true))]
    pub conflicts: Vec<String>,
    /// Lines that it adds, by file. They are looked through as those of a pull request are.
    pub added: IndexMap<String, String>,
    /// When it is judged, such as `2026-12-24 10:00` in UTC; outside of every freeze, if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// How a check stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CaseCheck {
    Passed,
    Failed,
    Pending,
    Skipped,
}

/// What is expected: `allowed`, `refused`, or `{ against: [size, …] }` for exactly the rules that do not hold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(extend("x-short" = "verdict"))]
pub struct CaseExpected {
    /// `allowed` or `refused`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<CaseVerdict>,
    /// The rules that do not hold, and no others.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-one" = true))]
    pub against: Option<Vec<String>>,
    /// Whether it is merged with nobody asking, by what the policy says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<bool>,
}

/// Whether it may be merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CaseVerdict {
    Allowed,
    Refused,
}
