//! What must hold before a pull request is merged: `.ao/policy.yaml` of a repository, and `policy` of a project.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Day;

/// What must hold before a pull request is merged. The file `.ao/policy.yaml` on the base branch and `policy` of a project
/// say it alike; where both do, the stricter one counts, key by key.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(title = "ao policy", extend("x-env" = "never"))]
pub struct PolicyConfig {
    /// Where editors find the schema of this file.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// How many approvals of the current head are needed; one, if nobody says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals: Option<u32>,
    /// Whose approval counts; that of owners, members and collaborators, if nobody says so. The author and programs never
    /// count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvers: Option<ApproversConfig>,
    /// Files that only some may let through.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true, "x-also" = ["protectedPaths"]))]
    pub protected: Vec<ProtectedConfig>,
    /// At most so many files are changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_files: Option<u64>,
    /// At most so many lines are added and removed, together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lines: Option<u64>,
    /// Checks that must have run and passed on the current head, whatever the forge requires.
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
    /// What no added line may match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true, "x-also" = ["forbiddenPatterns"]))]
    pub forbidden: Vec<PatternConfig>,
    /// Whether added lines are looked through for secrets, by the rule set that comes with `ao`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<bool>,
    /// Times in which nothing is merged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub freeze: Vec<FreezeConfig>,
    /// Whether a person must have approved, even where `approvals` is 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub human_always: Option<bool>,
    /// The same for some pull requests only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_human: Option<NeedsHuman>,
    /// How far each agent is trusted, by its name or that of a specialist, and `default` for all others: `none`, `low`,
    /// `medium`, `high`, or a level of `trustLevels`. It counts where no person has approved.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub trust: IndexMap<String, String>,
    /// What agents of a level may have merged that no person has approved. A name of ours changes what it means.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub trust_levels: IndexMap<String, TrustLevel>,
    /// Whether threads about files in which a person wrote must be resolved; they must, if nobody says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads_resolved: Option<bool>,
    /// Whether what is allowed is merged with nobody asking. If nobody says so, the reaction to `approved-and-green` does,
    /// and that is off by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_merge: Option<bool>,
}

/// Whose approval counts. Logins alone are only these people; standings alone are all people of that standing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ApproversConfig {
    /// `owner`, `member`, `collaborator`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standings: Option<Vec<StandingName>>,
    /// Logins at the forge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logins: Option<Vec<String>>,
}

/// What somebody is to a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StandingName {
    Owner,
    Member,
    Collaborator,
}

/// Files that only some may let through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProtectedConfig {
    /// Patterns of paths from the root of the repository: `infra/**`, `*.lock`, `ci/` for all below it.
    #[schemars(extend("x-one" = true, "x-also" = ["path", "glob"]))]
    pub paths: Vec<String>,
    /// Logins who may approve them. With neither these nor `standings`, nothing that touches them is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true, "x-also" = ["owners"]))]
    pub approvers: Vec<String>,
    /// Whoever is this to the repository may approve them, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub standings: Vec<StandingName>,
    /// How many of those must have approved.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub approvals: u32,
}

/// What no added line may match: a regular expression, or `{ name: …, regex: …, paths: … }`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(extend("x-short" = "regex"))]
pub struct PatternConfig {
    /// What it is called where it is found; the expression itself, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A regular expression.
    #[schemars(extend("x-also" = ["pattern"]))]
    pub regex: String,
    /// Only in these files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub paths: Vec<String>,
    /// Not in these files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub except: Vec<String>,
}

/// A time in which nothing is merged: once (`2026-12-20`, `2026-12-20 18:00`), every week (`fri 16:00` to `mon 08:00`), or
/// every day (`22:00` to `06:00`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FreezeConfig {
    /// When it begins.
    pub from: String,
    /// The first moment after it.
    #[schemars(extend("x-also" = ["to"]))]
    pub until: String,
    /// The days on which it begins, if it has times of the day only. Every day, if none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub days: Vec<Day>,
    /// The time zone, such as `Europe/Berlin`; UTC, if none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,
    /// What people are told.
    #[serde(default = "frozen")]
    pub why: String,
}

/// Pull requests that a person must have approved. One of these is enough.
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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_files_than: Option<u64>,
    /// It adds and removes more lines than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more_lines_than: Option<u64>,
    /// It is by one of these: logins, and names of agents and specialists.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub authors: Vec<String>,
}

/// What agents of a level may have merged that no person has approved.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TrustLevel {
    /// Nothing.
    pub human: bool,
    /// Changes to these files only; to any, if none is named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-one" = true))]
    pub paths: Vec<String>,
    /// At most so many files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_files: Option<u64>,
    /// At most so many lines, added and removed together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_lines: Option<u64>,
}

fn one() -> u32 {
    1
}

fn frozen() -> String {
    "frozen".to_owned()
}
