//! Automatic assignment: the tasks that begin without a request, and their agents.
//!
//! ```text
//!  a task is seen ─► wanted here? ─► trusted? ─► blocked? ─► which agent? ─► room? ─► job `assign` ─► a session
//!                    (labels)        (author)                (route.rs)      (schedule.rs)
//! ```
//!
//! Computed from the known tasks whenever slots are given out, so that a restart, a repeated event and a closed blocker
//! need no path of their own. Nothing starts here: the prompt is read from the tracker when the session is created. A
//! task gets one session this way, ever; a person can always start another.

mod intake;
mod route;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub(crate) use intake::{Intake, has_next, order, picks, promised};
pub use intake::{still_wanted, task_obstacle};
pub use route::{Choice, choose};

/// The settings by which a project picks up tasks automatically.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AutoAssign {
    /// Picks up only tasks with one of these labels; all if empty.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// Leaves tasks with any of these labels.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub exclude_labels: BTreeSet<String>,
    /// The label by which a person with the right to label vouches for a task, regardless of its author.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_label: Option<String>,
    /// Leaves tasks that match no specialist.
    pub specialists_only: bool,
    /// The account whose quota the project's own agent uses.
    pub account: String,
}

/// An agent for certain tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SpecialistAgent {
    pub id: String,
    /// Takes only tasks with one of these labels; all if empty.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// Leaves tasks with any of these labels.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub exclude_labels: BTreeSet<String>,
    /// The configuration of this project names it.
    pub named: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// The number of its sessions that may have a process at a time, in all projects together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_parallel: Option<u32>,
    /// The account whose quota it uses.
    pub account: String,
}

impl AutoAssign {
    /// Returns whether a task with these labels is picked up.
    pub fn wants(&self, labels: &BTreeSet<String>) -> bool {
        (self.labels.is_empty() || has_any(labels, &self.labels)) && !has_any(labels, &self.exclude_labels)
    }

    /// Returns whether the labels include the approval of a person.
    pub fn approves(&self, labels: &BTreeSet<String>) -> bool {
        self.approval_label.as_ref().is_some_and(|label| has(labels, label))
    }
}

/// Compares labels without regard to case.
fn has(labels: &BTreeSet<String>, wanted: &str) -> bool {
    labels.iter().any(|label| label.eq_ignore_ascii_case(wanted))
}

fn has_any(labels: &BTreeSet<String>, wanted: &BTreeSet<String>) -> bool {
    wanted.iter().any(|wanted| has(labels, wanted))
}
