//! Test cases of a policy, in `.ao/policy.test.yaml`: a pull request and the expected verdict.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Test cases of a policy, run by `ao policy test`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(title = "ao policy cases", extend("x-env" = "never"))]
pub struct PolicyCases {
    /// The address at which editors find the schema of this file.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// The cases.
    pub cases: Vec<PolicyCase>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyCase {
    /// A sentence that describes the case.
    pub name: String,
    /// The pull request.
    #[serde(default)]
    pub given: CaseGiven,
    /// The expected verdict.
    pub expect: CaseExpected,
}

/// A pull request in short. All that is left out satisfies every rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CaseGiven {
    /// The files that it changes; `src/lib.rs` by default.
    #[schemars(extend("x-one" = true))]
    pub files: Vec<String>,
    /// The number of lines that it adds and removes, together; 10 by default.
    pub lines: Option<u64>,
    /// The agent that made it. Without this, and unless `author` is an agent, its author is a person.
    pub agent: Option<String>,
    /// The specialist that made it.
    pub specialist: Option<String>,
    /// The login of its author.
    pub author: Option<String>,
    /// The approvals of this head, by login, with the standing of each person: `{ ann: owner, bob: member, eve:
    /// outsider }`.
    #[schemars(extend("x-text" = true))]
    pub approvals: IndexMap<String, String>,
    /// The logins of members who requested changes.
    #[schemars(extend("x-one" = true))]
    pub changes_requested: Vec<String>,
    /// Files with an unresolved review thread of a person.
    #[schemars(extend("x-one" = true))]
    pub open_threads: Vec<String>,
    /// Checks by name: `passed`, `failed`, `pending` or `skipped`. By default all that the policy requires have passed.
    pub checks: IndexMap<String, CaseCheck>,
    /// Its labels.
    #[schemars(extend("x-one" = true))]
    pub labels: Vec<String>,
    /// If `true`, it is a draft.
    pub draft: bool,
    /// Files that conflict with the base.
    #[schemars(extend("x-one" = true))]
    pub conflicts: Vec<String>,
    /// Lines that it adds, by file. They are scanned like those of a real pull request.
    pub added: IndexMap<String, String>,
    /// The time of the verdict, such as `2026-12-24 10:00` in UTC; by default outside of every freeze.
    pub at: Option<String>,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CaseCheck {
    Passed,
    Failed,
    Pending,
    Skipped,
}

/// The expectation: `allowed`, `refused`, or `{ against: [size, …] }` for exactly the rules that are violated.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(extend("x-short" = "verdict"))]
pub struct CaseExpected {
    /// `allowed` or `refused`.
    pub verdict: Option<CaseVerdict>,
    /// The violated rules, and no others.
    #[schemars(extend("x-one" = true))]
    pub against: Option<Vec<String>>,
    /// `true` if the policy lets it merge without a request.
    pub auto_merge: Option<bool>,
}

/// The verdict of the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CaseVerdict {
    Allowed,
    Refused,
}
