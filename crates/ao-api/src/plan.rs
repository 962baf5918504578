//! What would run when, and what matters now.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What runs, in which order the rest would, and what waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// How many agents run, and how many may.
    pub taken: u32,
    pub slots: u32,
    /// Those that have a slot.
    pub running: Vec<Planned>,
    /// Those that get one by themselves, in the order in which they would if all took as long.
    pub next: Vec<Planned>,
    /// Those for which something else has to happen first.
    pub waiting: Vec<Planned>,
}

/// A piece of work: a session, or an issue that has none yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    pub project_id: String,
    /// Such as `my-app#42`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<String>,
    /// The session's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub title: String,
    /// Who does it: a specialist or an agent; the project's own agent, if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Why it is that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<String>,
    /// Higher runs first.
    pub priority: i32,
    /// 0 for those that run; 1 for those that begin when those have ended, and so on. Absent if nobody can say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// Why it does not run now, in a word: `cap`, `project_cap`, `specialist_cap`, `memory`, `blocked_by`, `held`, `account`,
    /// `ports`, `asked`, `untrusted`, `no_specialist`, `not_assigned`, `worked`, `begun`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The same in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The issues that have to be closed first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<String>,
}

/// What matters now, the most pressing first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdviceList {
    pub advice: Vec<Advice>,
}

/// Something that matters now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Advice {
    /// 1 is the most pressing.
    pub rank: u32,
    /// What kind of advice it is, in a word, such as `answer`, `merge` or `base_red`.
    pub kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// What it is about: a session's name, an issue, a pull request, a project.
    pub subject: String,
    pub what: String,
    pub why: String,
    /// How many others go on once it is done.
    pub unblocks: u32,
    /// What to do, as a command.
    #[serde(rename = "do")]
    pub command: String,
}
