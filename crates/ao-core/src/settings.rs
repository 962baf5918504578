//! How the daemon is told to behave. The configuration file is read elsewhere; this is what it comes to.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::budget::Limits;
use crate::incident::IncidentKind;
use crate::reaction::{Reaction, Reactions};

/// Limits and delays that hold for every project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// How many sessions may have a process at a time.
    pub max_live: u32,
    /// No session starts while the host has less free memory than this.
    pub min_free_mb: u64,
    /// How often a session that ends before its time is started again in a row.
    pub restarts: u32,
    /// How often making a workspace, or starting a process, is tried.
    pub setup_tries: u32,
    /// How often a message is written before it counts as not accepted.
    pub delivery_tries: u32,
    /// How long the agent has to prove that it took a message.
    pub proof_wait: Duration,
    /// Nothing is typed until a person has left the keyboard alone for this long.
    pub human_quiet: Duration,
    /// A working agent that shows nothing for this long is looked at.
    pub look_after: Duration,
    /// An agent of which nothing is known for this long is stuck.
    pub stuck_after: Duration,
    /// A run this long is a success; the count of restarts begins anew.
    pub stable_run: Duration,
    /// A problem must be gone this long before it is over.
    pub stable_clear: Duration,
    /// How often a notice is tried.
    pub notice_tries: u32,
    /// How long an ended session stays in memory.
    pub keep_ended: Duration,
    /// How long the last state of a removed workspace can be brought back.
    pub keep_rescues: Duration,
    /// What all sessions of all projects may use up in a day, together.
    #[serde(default, skip_serializing_if = "Limits::is_empty")]
    pub daily: Limits,
    /// Whether sessions go on by themselves after a provider's limit, where their project does not say.
    pub auto_resume: bool,
    /// Whether the workspace of a merged session is removed, if the gate allows.
    pub remove_merged: bool,
    /// What is done about each kind of problem, over the defaults.
    pub reactions: Reactions,
    /// The same for agents by name, over what holds for the project.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agent_reactions: BTreeMap<String, Reactions>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            max_live: 8,
            min_free_mb: 0,
            restarts: 3,
            setup_tries: 3,
            delivery_tries: 4,
            proof_wait: Duration::from_secs(10),
            human_quiet: Duration::from_secs(10),
            look_after: Duration::from_secs(30),
            stuck_after: Duration::from_secs(600),
            stable_run: Duration::from_secs(600),
            stable_clear: Duration::from_secs(300),
            notice_tries: 5,
            keep_ended: Duration::from_secs(24 * 3600),
            keep_rescues: Duration::from_secs(30 * 24 * 3600),
            daily: Limits::default(),
            auto_resume: true,
            remove_merged: true,
            reactions: Reactions::new(),
            agent_reactions: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// What is done about problems of a kind, where neither a project nor an agent says otherwise.
    pub fn reaction(&self, kind: &IncidentKind) -> Reaction {
        let default = Reaction::default_for(kind);
        match self.reactions.get(kind) {
            Some(patch) => default.patched(patch).bounded(),
            None => default,
        }
    }
}
