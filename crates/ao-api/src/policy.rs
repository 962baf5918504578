//! Policies, and their verdicts on pull requests.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The verdict of the project's policy on a pull request, for its current head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyVerdict {
    /// Such as `my-app!7`.
    pub pull: String,
    pub project_id: String,
    pub head: String,
    /// `true` if every rule holds.
    pub allowed: bool,
    /// `true` if it is merged automatically as soon as every rule holds.
    pub auto_merge: bool,
    /// `true` if there is a policy; otherwise the default one was applied.
    pub written: bool,
    pub rules: Vec<PolicyRule>,
}

wire_enum! {
    /// A rule of a policy.
    pub enum MergeRule {
        Policy, Open, Mergeable, Checks, RequiredChecks, Approvals, ChangesRequested, Threads, Human, Trust, PolicyFile,
        Size, Labels, Patterns, Freeze, Protected,
    } or Unknown
}

/// The result of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyRule {
    pub rule: MergeRule,
    pub holds: bool,
    /// The facts behind the result.
    pub evidence: String,
    /// Advice, if it does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The merged policy of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyShown {
    pub project_id: String,
    /// `true` if there is a policy.
    pub written: bool,
    /// The commit of the base branch that it was read from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The error in the file on the base branch. Until it is fixed the previous policy is shown, and nothing may merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
    pub fields: Vec<PolicyField>,
}

/// One key of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PolicyField {
    pub key: String,
    /// Its value; absent if it is not set.
    #[schema(value_type = Object, nullable)]
    pub value: Value,
    /// The layers that set it; empty if it is the default.
    pub from: Vec<String>,
}
