//! How the daemon behaves.

use std::net::{IpAddr, Ipv4Addr};

use ao_core::Settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::units::{Size, Time};

/// Limits and patience.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Lifecycle {
    /// How many agents may run at a time.
    #[schemars(extend("x-also" = ["maxAgents", "maxSessions"]))]
    pub max_parallel_agents: u32,
    /// How many checks may run at a time, over all projects.
    #[schemars(range(min = 1))]
    pub max_parallel_checks: u32,
    /// No agent starts while the computer has less free memory than this.
    pub min_free_memory: Size,
    /// How often a session that ends before its time is started again in a row.
    pub restarts: u32,
    /// How often making a workspace, or starting a process, is tried.
    pub setup_tries: u32,
    /// How often a message is written before it counts as not accepted.
    pub delivery_tries: u32,
    /// How long an agent has to prove that it took a message.
    pub proof_wait: Time,
    /// Nothing is typed until a person has left the keyboard alone for this long.
    pub human_quiet: Time,
    /// A working agent that shows nothing for this long is looked at.
    pub look_after: Time,
    /// An agent of which nothing is known for this long is stuck.
    pub stuck_after: Time,
    /// A run this long is a success; the count of restarts begins anew.
    pub stable_run: Time,
    /// A problem must be gone this long before it is over.
    pub stable_clear: Time,
    /// How often it is tried to tell somebody something.
    pub notice_tries: u32,
    /// How long an ended session is listed.
    pub keep_ended: Time,
    /// How long the last state of a removed workspace can be brought back, and how long the commits of a merged pull request are
    /// kept beside what landed of it.
    pub keep_rescues: Time,
    /// Whether the workspace of a merged session is removed, if nothing in it would be lost.
    pub remove_merged: bool,
    /// Whether sessions go on by themselves when a provider's limit is over; if not, when somebody resumes them.
    pub auto_resume: bool,
}

/// The page in the browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Dashboard {
    /// Whether there is one.
    pub enabled: bool,
    /// Whether `ao start` opens it, if there is a desktop.
    pub open: bool,
    /// Its address for people on other computers, such as that of a proxy. Links in notices begin with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
}

/// Who can reach the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Server {
    /// The address that is listened on.
    #[schemars(with = "String", extend("x-kind" = "address"))]
    #[schemars(extend("x-also" = ["host"]))]
    pub listen: IpAddr,
    /// Whether that may be an address that other computers reach.
    pub allow_remote: bool,
    /// Further names under which browsers may call it, such as that of a proxy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<String>,
}

/// What happens to the computer while agents work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Power {
    /// Whether it is kept from going to sleep while an agent works.
    pub prevent_idle_sleep: bool,
}

impl Lifecycle {
    /// These as the core's settings; what is done when something happens is not among them.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            max_live: self.max_parallel_agents,
            min_free_mb: self.min_free_memory.megabytes(),
            restarts: self.restarts,
            setup_tries: self.setup_tries,
            delivery_tries: self.delivery_tries,
            proof_wait: self.proof_wait.0,
            human_quiet: self.human_quiet.0,
            look_after: self.look_after.0,
            stuck_after: self.stuck_after.0,
            stable_run: self.stable_run.0,
            stable_clear: self.stable_clear.0,
            notice_tries: self.notice_tries,
            keep_ended: self.keep_ended.0,
            keep_rescues: self.keep_rescues.0,
            remove_merged: self.remove_merged,
            auto_resume: self.auto_resume,
            ..Settings::default()
        }
    }
}

/// What the core does by default.
impl Default for Lifecycle {
    fn default() -> Lifecycle {
        let core = Settings::default();
        Lifecycle {
            max_parallel_agents: core.max_live,
            max_parallel_checks: 2,
            min_free_memory: Size(core.min_free_mb << 20),
            restarts: core.restarts,
            setup_tries: core.setup_tries,
            delivery_tries: core.delivery_tries,
            proof_wait: Time(core.proof_wait),
            human_quiet: Time(core.human_quiet),
            look_after: Time(core.look_after),
            stuck_after: Time(core.stuck_after),
            stable_run: Time(core.stable_run),
            stable_clear: Time(core.stable_clear),
            notice_tries: core.notice_tries,
            keep_ended: Time(core.keep_ended),
            keep_rescues: Time(core.keep_rescues),
            remove_merged: core.remove_merged,
            auto_resume: core.auto_resume,
        }
    }
}

impl Default for Dashboard {
    fn default() -> Dashboard {
        Dashboard { enabled: true, open: true, public_url: None }
    }
}

impl Default for Server {
    fn default() -> Server {
        Server { listen: IpAddr::V4(Ipv4Addr::LOCALHOST), allow_remote: false, allowed_hosts: vec![] }
    }
}

impl Default for Power {
    fn default() -> Power {
        Power { prevent_idle_sleep: true }
    }
}
