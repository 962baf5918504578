//! Policies for merging pull requests: `.ao/policy.yaml` of a repository, and `policy` of a project.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WeekDay;

/// The conditions for merging a pull request. The file `.ao/policy.yaml` on the base branch and `policy` of a project
/// have the same keys; if both set one, the stricter value counts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(title = "ao policy", extend("x-env" = "never"))]
pub struct PolicyConfig {
    /// The address at which editors find the schema of this file.
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    /// The number of approvals that the current head needs; 1 by default.
    pub approvals: Option<u32>,
    /// The people whose approval counts; owners, members and collaborators by default. The author and bots never count.
    pub approvers: Option<ApproversConfig>,
    /// Files that only certain people may approve.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true, "x-also" = ["protectedPaths"]))]
    pub protected: Vec<ProtectedConfig>,
    /// The maximum number of changed files.
    pub max_files: Option<u64>,
    /// The maximum number of lines, added and removed together.
    pub max_lines: Option<u64>,
    /// Checks that must have passed on the current head, in addition to those that the forge requires.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub required_checks: Vec<String>,
    /// Labels that it must have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub required_labels: Vec<String>,
    /// Labels that it must not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub forbidden_labels: Vec<String>,
    /// Patterns that no added line may match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true, "x-also" = ["forbiddenPatterns"]))]
    pub forbidden: Vec<PatternConfig>,
    /// Scans added lines for secrets, by the rule set that comes with `ao`.
    pub secrets: Option<bool>,
    /// Times in which nothing is merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub freeze: Vec<FreezeConfig>,
    /// Requires the approval of a person, even if `approvals` is 0.
    pub human_always: Option<bool>,
    /// Requires the approval of a person for some pull requests only.
    pub needs_human: Option<NeedsHuman>,
    /// The trust level of each agent, by its name or that of a specialist, and `default` for all others: `none`, `low`,
    /// `medium`, `high`, or a level of `trustLevels`. It counts for pull requests that no person has approved.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub trust: IndexMap<String, String>,
    /// The changes that agents of a level may merge without a person's approval. A built-in name redefines that level.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub trust_levels: IndexMap<String, TrustLevel>,
    /// Requires that review threads in which a person wrote are resolved; `true` by default.
    pub threads_resolved: Option<bool>,
    /// Merges automatically what the policy allows. By default the reaction to `approved-and-green` decides, which is off
    /// unless configured.
    pub auto_merge: Option<bool>,
}

/// The people whose approval counts. Only `logins`: these people; only `standings`: all people of that standing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ApproversConfig {
    /// `owner`, `member`, `collaborator`.
    pub standings: Option<Vec<StandingName>>,
    /// Logins at the forge.
    pub logins: Option<Vec<String>>,
}

/// The standing of a person in a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StandingName {
    Owner,
    Member,
    Collaborator,
}

/// Files that only certain people may approve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProtectedConfig {
    /// Path patterns from the root of the repository: `infra/**`, `*.lock`, `ci/` for everything below it.
    #[schemars(extend("x-one" = true, "x-also" = ["path", "glob"]))]
    pub paths: Vec<String>,
    /// Logins that may approve them. Without these and `standings`, no change to them is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true, "x-also" = ["owners"]))]
    pub approvers: Vec<String>,
    /// Standings that may approve them as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub standings: Vec<StandingName>,
    /// The number of their approvals that is needed.
    #[serde(default = "super::one")]
    #[schemars(range(min = 1))]
    pub approvals: u32,
}

/// A pattern that no added line may match: a regular expression, or `{ name: …, regex: …, paths: … }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-short" = "regex"))]
pub struct PatternConfig {
    /// The name under which matches are reported; by default the expression itself.
    pub name: Option<String>,
    /// A regular expression.
    #[schemars(extend("x-also" = ["pattern"]))]
    pub regex: String,
    /// Applies only to these files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub paths: Vec<String>,
    /// Does not apply to these files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub except: Vec<String>,
}

/// A time in which nothing is merged: once (`2026-12-20`, `2026-12-20 18:00`), every week (`fri 16:00` to `mon 08:00`),
/// or every day (`22:00` to `06:00`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FreezeConfig {
    /// Its start.
    pub from: String,
    /// The first moment after it.
    #[schemars(extend("x-also" = ["to"]))]
    pub until: String,
    /// The days on which it starts, if it has only times of the day. By default every day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub days: Vec<WeekDay>,
    /// The time zone, such as `Europe/Berlin`; UTC by default.
    pub timezone: Option<String>,
    /// The reason that people are shown.
    #[serde(default = "frozen")]
    pub why: String,
}

/// Pull requests that need the approval of a person. One match is enough.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NeedsHuman {
    /// It touches one of these paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub paths: Vec<String>,
    /// It has one of these labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub labels: Vec<String>,
    /// It changes more files than this.
    pub more_files_than: Option<u64>,
    /// It adds and removes more lines than this.
    pub more_lines_than: Option<u64>,
    /// Its author is one of these: logins, and names of agents and specialists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub authors: Vec<String>,
}

/// The changes that agents of a level may merge without a person's approval.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TrustLevel {
    /// If `true`, none.
    pub human: bool,
    /// Changes to these files only; to any file if the list is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub paths: Vec<String>,
    /// The maximum number of files.
    pub max_files: Option<u64>,
    /// The maximum number of lines, added and removed together.
    pub max_lines: Option<u64>,
}

fn frozen() -> String {
    "frozen".to_owned()
}
