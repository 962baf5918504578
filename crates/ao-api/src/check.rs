//! Checks of changes.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Runs of checks, the newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckRuns {
    pub runs: Vec<CheckRun>,
}

/// One run of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckRun {
    pub id: String,
    pub project_id: String,
    pub pull: Option<String>,
    pub check: String,
    pub command: String,
    pub required: bool,
    pub head: String,
    pub base: Option<String>,
    pub tree: String,
    /// Other entries of the merge queue that were merged first: the result is about all of them together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ahead: Vec<String>,
    pub state: CheckRunState,
    pub why: Option<String>,
    pub exit_code: Option<i32>,
    pub queued_at: Timestamp,
    pub began_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub tries: u32,
    /// The run whose result this is, if the same tree and command were run before.
    pub same_as: Option<String>,
    pub log: Option<String>,
    pub failure: Option<CheckFailure>,
}

/// The failure, parsed from the output of a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckFailure {
    pub signature: String,
    pub step: Option<String>,
    pub excerpt: String,
    pub count: u32,
    pub items: Vec<FailureItem>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailureItem {
    pub kind: FailureItemKind,
    pub name: Option<String>,
    pub message: String,
    pub path: Option<String>,
    pub line: Option<u32>,
}

/// The flaky failures of a project's checks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Flakes {
    /// The latest first.
    pub flakes: Vec<Flake>,
}

/// A failure that disappeared when the same commit was checked again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Flake {
    pub check: String,
    /// The signature that identifies it among failures of the same check.
    pub signature: String,
    /// The first line of the latest occurrence.
    pub excerpt: String,
    pub times: u32,
    pub first_at: Timestamp,
    pub last_at: Timestamp,
}

/// A request to run checks.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewCheckRun {
    pub project_id: Option<String>,
    /// A pull request, merged onto its base: `7`, `my-app!7`.
    pub pull: Option<String>,
    /// Or a branch or a commit as it is.
    pub revision: Option<String>,
    /// The names of the checks to run; all if empty.
    pub checks: Vec<String>,
    /// Runs even if the same tree has a result already.
    pub again: bool,
}

/// The checks of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Checks {
    /// The configured checks.
    pub checks: Vec<Check>,
    /// Checks suggested by the repository's files, if none are configured. They are never run without a request.
    #[serde(default)]
    pub proposed: Vec<Check>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    pub name: String,
    pub command: String,
    pub required: bool,
    pub timeout_seconds: u64,
    #[serde(default)]
    pub paths: Vec<String>,
    /// The reason it is proposed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// A part of the output of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckLog {
    pub text: String,
    /// The offset to continue at.
    pub next: u64,
    /// `true` if there will be no more output.
    pub ended: bool,
}

wire_enum! {
    /// The state of a run of a check. `broken` is a run that could not be carried out, for reasons unrelated to the change.
    pub enum CheckRunState { Queued, Running, Passed, Failed, Skipped, Cancelled, Broken }
}

wire_enum! {
    /// The kind of a failure.
    pub enum FailureItemKind { Test, Error } or Unknown
}
