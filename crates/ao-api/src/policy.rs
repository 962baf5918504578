//! Policies: what must hold before a pull request is merged, and whether it does.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// What the policy of its project says of a pull request, for its current head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyVerdict {
    /// Such as `my-app!7`.
    pub pull: String,
    pub project_id: String,
    pub head: String,
    /// Whether every rule holds.
    pub allowed: bool,
    /// Whether it is merged with nobody asking as soon as every rule holds.
    pub auto_merge: bool,
    /// Whether somebody has written a policy; what is judged by is the default one otherwise.
    pub written: bool,
    pub rules: Vec<PolicyRule>,
}

/// What one rule says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRule {
    pub rule: String,
    pub holds: bool,
    /// From what it says so.
    pub evidence: String,
    /// What somebody can do about it, if it does not hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The policy of a project as it counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyShown {
    pub project_id: String,
    /// Whether somebody has written one.
    pub written: bool,
    /// The commit of the base branch that it was read from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Why the file on the base branch cannot be read. The policy before it is judged by then, and nothing is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    pub fields: Vec<PolicyField>,
}

/// One key of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyField {
    pub key: String,
    /// What it comes to; nothing, if nothing is asked for.
    #[schema(value_type = Object, nullable)]
    pub value: Value,
    /// Who has said so; nobody, if it is the default.
    pub from: Vec<String>,
}
