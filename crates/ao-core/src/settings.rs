//! Settings of the daemon. The configuration file is read elsewhere; these are the resulting values.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::budget::SpendLimits;
use crate::incident::IncidentKind;
use crate::reaction::{Reaction, ReactionPatches};

/// Limits and delays that apply to every project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonSettings {
    /// The number of sessions that may have a process at a time.
    pub max_live: u32,
    /// No session starts while the host has less free memory than this.
    pub min_free_mb: u64,
    /// The number of times in a row that a session that ends early is restarted.
    pub restarts: u32,
    /// The number of tries to create a workspace or start a process.
    pub setup_tries: u32,
    /// The number of times a message is written before it counts as not accepted.
    pub delivery_tries: u32,
    /// The time in which an agent has to prove that it took a message.
    pub proof_wait: Duration,
    /// The time without a person's key presses after which messages are typed.
    pub human_quiet: Duration,
    /// The time without output after which a working agent is looked at.
    pub look_after: Duration,
    /// The time without evidence after which an agent counts as stuck.
    pub stuck_after: Duration,
    /// The length of a successful run, which resets the count of restarts.
    pub stable_run: Duration,
    /// The time for which a problem must be absent before it is over.
    pub stable_clear: Duration,
    /// The number of tries to send a notice.
    pub notice_tries: u32,
    /// The time for which an ended session stays in memory.
    pub keep_ended: Duration,
    /// The time for which the last state of a removed workspace can be restored.
    pub keep_rescues: Duration,
    /// The limits on what all sessions of all projects together may spend in a day.
    #[serde(default, skip_serializing_if = "SpendLimits::is_empty")]
    pub daily: SpendLimits,
    /// Sessions resume automatically after a provider's limit, unless their project decides otherwise.
    pub auto_resume: bool,
    /// The workspace of a merged session is removed, if the gate allows.
    pub remove_merged: bool,
    /// The reactions to each kind of problem, over the defaults.
    pub reactions: ReactionPatches,
    /// Reactions for agents by name, over those of the project.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agent_reactions: BTreeMap<String, ReactionPatches>,
    /// The runtimes that share files with this host. Agents of the others get no path of it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub sharing_runtimes: BTreeSet<String>,
}

impl Default for DaemonSettings {
    fn default() -> DaemonSettings {
        DaemonSettings {
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
            daily: SpendLimits::default(),
            auto_resume: true,
            remove_merged: true,
            reactions: ReactionPatches::new(),
            agent_reactions: BTreeMap::new(),
            sharing_runtimes: BTreeSet::new(),
        }
    }
}

impl DaemonSettings {
    /// Returns the reaction to a kind of problem, unless a project or an agent overrides it.
    pub fn reaction(&self, kind: &IncidentKind) -> Reaction {
        let default = Reaction::default_for(kind);
        match self.reactions.get(kind) {
            Some(patch) => default.patched(patch).bounded(),
            None => default,
        }
    }
}
