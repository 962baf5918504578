//! Settings of the daemon.

use std::net::{IpAddr, Ipv4Addr};

use ao_core::DaemonSettings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::units::{ByteSize, TimeSpan};

/// Limits and timeouts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct LifecycleConfig {
    /// The maximum number of agents that run at a time.
    #[schemars(extend("x-also" = ["maxAgents", "maxSessions"]))]
    pub max_parallel_agents: u32,
    /// The maximum number of checks that run at a time, over all projects.
    #[schemars(range(min = 1))]
    pub max_parallel_checks: u32,
    /// The free memory below which no agent is started.
    pub min_free_memory: ByteSize,
    /// The number of consecutive restarts of a session whose agent exits early.
    pub restarts: u32,
    /// The number of attempts to create a workspace or to start a process.
    pub setup_tries: u32,
    /// The number of attempts to deliver a message before it counts as not accepted.
    pub delivery_tries: u32,
    /// The time an agent has to prove that it took a message.
    pub proof_wait: TimeSpan,
    /// The time for which a person must have left the keyboard alone before `ao` types.
    pub human_quiet: TimeSpan,
    /// The time without output after which a working agent's screen is examined.
    pub look_after: TimeSpan,
    /// The time without any signal after which an agent is stuck.
    pub stuck_after: TimeSpan,
    /// The length of a run that counts as a success and resets the number of restarts.
    pub stable_run: TimeSpan,
    /// The time for which an incident must be gone before it is resolved.
    pub stable_clear: TimeSpan,
    /// The number of attempts to send a notice.
    pub notice_tries: u32,
    /// The time for which an ended session is listed.
    pub keep_ended: TimeSpan,
    /// The time for which the last state of a removed workspace can be restored, and for which the commits of a merged
    /// pull request are kept beside the result.
    pub keep_rescues: TimeSpan,
    /// Removes the workspace of a merged session, if nothing in it would be lost.
    pub remove_merged: bool,
    /// Resumes sessions automatically when a provider's limit ends; if `false`, only on request.
    pub auto_resume: bool,
}

/// The dashboard in the browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct DashboardConfig {
    /// Serves the dashboard.
    pub enabled: bool,
    /// Opens it on `ao start`, if there is a desktop.
    pub open: bool,
    /// Its address for people on other computers, such as that of a proxy. Links in notices start with it.
    pub public_url: Option<String>,
}

/// Network access to the daemon.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ServerConfig {
    /// The address to listen on.
    #[schemars(with = "String", extend("x-kind" = "address"))]
    #[schemars(extend("x-also" = ["host"]))]
    pub listen: IpAddr,
    /// Allows an address that other computers can reach.
    pub allow_remote: bool,
    /// Further host names under which browsers may call it, such as that of a proxy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<String>,
}

/// Sleep of the computer while agents work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PowerConfig {
    /// Keeps the computer awake while an agent works.
    pub prevent_idle_sleep: bool,
}

impl LifecycleConfig {
    /// Converts these to the core's settings, without reactions.
    pub(crate) fn settings(&self) -> DaemonSettings {
        DaemonSettings {
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
            ..DaemonSettings::default()
        }
    }
}

/// The defaults of the core.
impl Default for LifecycleConfig {
    fn default() -> LifecycleConfig {
        let core = DaemonSettings::default();
        LifecycleConfig {
            max_parallel_agents: core.max_live,
            max_parallel_checks: 2,
            min_free_memory: ByteSize(core.min_free_mb << 20),
            restarts: core.restarts,
            setup_tries: core.setup_tries,
            delivery_tries: core.delivery_tries,
            proof_wait: TimeSpan(core.proof_wait),
            human_quiet: TimeSpan(core.human_quiet),
            look_after: TimeSpan(core.look_after),
            stuck_after: TimeSpan(core.stuck_after),
            stable_run: TimeSpan(core.stable_run),
            stable_clear: TimeSpan(core.stable_clear),
            notice_tries: core.notice_tries,
            keep_ended: TimeSpan(core.keep_ended),
            keep_rescues: TimeSpan(core.keep_rescues),
            remove_merged: core.remove_merged,
            auto_resume: core.auto_resume,
        }
    }
}

impl Default for DashboardConfig {
    fn default() -> DashboardConfig {
        DashboardConfig { enabled: true, open: true, public_url: None }
    }
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig { listen: IpAddr::V4(Ipv4Addr::LOCALHOST), allow_remote: false, allowed_hosts: vec![] }
    }
}

impl Default for PowerConfig {
    fn default() -> PowerConfig {
        PowerConfig { prevent_idle_sleep: true }
    }
}
