//! Which tasks are begun without anybody's word, and who gets them.
//!
//! ```text
//!  a task is seen ─► wanted here? ─► may it? ─► blocked? ─► who fits? ─► room? ─► errand `assign` ─► a session
//!                    (labels)      (author)               (route.rs)  (schedule.rs)
//! ```
//!
//! Deduced from what is known of tasks whenever slots are given out, so that a restart, a repeated event and a closed blocker
//! need no path of their own. Nothing is started here: what an agent is told is read from the tracker when its session is
//! made. A task gets one session this way, ever; a person can always start another.

mod intake;
mod route;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub(crate) use intake::{Intake, has_next, order, picks, promised};
pub use intake::{still_wanted, task_obstacle};
pub use route::{Choice, choose};

/// How a project picks up tasks by itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AutoAssign {
    /// Only tasks with one of these labels; any, if there are none.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// But none with any of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub exclude_labels: BTreeSet<String>,
    /// With this label somebody who may label answers for a task, whoever wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_label: Option<String>,
    /// What no specialist is for is left alone.
    pub specialists_only: bool,
    /// Whose quota the project's own agent uses.
    pub account: String,
}

/// An agent for certain tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Specialist {
    pub id: String,
    /// Tasks with one of these labels; any, if there are none.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<String>,
    /// But none with any of these.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub exclude_labels: BTreeSet<String>,
    /// It is for this project by name.
    pub named: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skills: Vec<String>,
    /// How many of its sessions may have a process at a time, in all projects together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_parallel: Option<u32>,
    /// Whose quota it uses.
    pub account: String,
}

impl AutoAssign {
    /// Whether a task with these labels is one of those that are picked up.
    pub fn wants(&self, labels: &BTreeSet<String>) -> bool {
        (self.labels.is_empty() || has_any(labels, &self.labels)) && !has_any(labels, &self.exclude_labels)
    }

    /// Whether somebody answers for a task with these labels.
    pub fn approves(&self, labels: &BTreeSet<String>) -> bool {
        self.approval_label.as_ref().is_some_and(|label| has(labels, label))
    }
}

/// Labels are the same whatever the case of their letters, as people write them.
fn has(labels: &BTreeSet<String>, wanted: &str) -> bool {
    labels.iter().any(|label| label.eq_ignore_ascii_case(wanted))
}

fn has_any(labels: &BTreeSet<String>, wanted: &BTreeSet<String>) -> bool {
    wanted.iter().any(|wanted| has(labels, wanted))
}
