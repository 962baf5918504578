//! Budgets, and providers that refuse.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::session::Spend;

/// What is spent of every budget that sessions share, and which accounts cannot be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budgets {
    /// That of the day first, then those of each project, then those of tasks.
    pub budgets: Vec<Budget>,
    /// The accounts that a provider refuses now.
    pub accounts: Vec<LimitedAccount>,
}

/// How much of a budget is spent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    /// `session`, `task`, `project`, `project-day`, or `day` for that of all projects.
    pub scope: String,
    /// Whose it is: a session's name, a task such as `my-app#42`, a project.
    pub of: Option<String>,
    pub spend: Spend,
    /// Some of it was spent by agents that do not tell what they cost, so it is more than `usd` and `tokens` say.
    #[serde(default)]
    pub partly_unknown: bool,
    pub limits: Limits,
    /// Whether so much is spent that agents were asked to commit and sum up.
    pub marked: bool,
    /// Why nothing more may be spent of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capped: Option<String>,
    /// When that ends by itself, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// How much may be used up. What is absent has no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    pub usd: Option<f64>,
    pub tokens: Option<u64>,
    pub turns: Option<u64>,
    pub seconds: Option<u64>,
}

/// An account with a provider that cannot be used for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitedAccount {
    pub account: String,
    pub until: Timestamp,
    /// The names of the sessions that wait for it.
    pub sessions: Vec<String>,
}
