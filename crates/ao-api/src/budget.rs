//! Budgets, and limits of providers.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::session::Spend;

/// The usage of all shared budgets, and the accounts that cannot be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budgets {
    /// The budget of the day first, then those of each project, then those of tasks.
    pub budgets: Vec<Budget>,
    /// The accounts that a provider refuses now.
    pub accounts: Vec<LimitedAccount>,
}

/// The usage of a budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Budget {
    pub scope: BudgetKind,
    /// Its owner: a session's name, a task such as `my-app#42`, a project.
    pub of: Option<String>,
    pub spend: Spend,
    /// `true` if agents that do not report their cost spent a part of it, so that the real usage is higher.
    #[serde(default)]
    pub partly_unknown: bool,
    pub limits: Limits,
    /// `true` if usage is high enough that agents were asked to commit and sum up.
    pub marked: bool,
    /// The reason nothing more may be spent of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capped: Option<String>,
    /// The time at which that ends automatically, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Limits on spending. An absent one is no limit.
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

wire_enum! {
    /// The owner of a budget: with `day` all projects together.
    pub enum BudgetKind in "kebab-case" { Session, Task, Project, ProjectDay, Day }
}
