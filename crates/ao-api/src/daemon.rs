//! The daemon itself.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The daemon that answers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Daemon {
    /// The version of the program.
    pub version: String,
    /// The build of the program, to compare it with another.
    pub build: String,
    /// The version of this API.
    pub api: u32,
    pub pid: u32,
    pub started_at: Timestamp,
    pub data_dir: String,
    pub socket: String,
    /// Its address for browsers, such as `http://127.0.0.1:3000`; absent if it listens on the socket only.
    pub url: Option<String>,
    pub log: String,
    /// The configuration files in use.
    pub configs: Vec<String>,
    /// The mistake in the last edit of the configuration, while the one before stays in use.
    pub config_problem: Option<String>,
    pub live_sessions: u32,
    pub queued_sessions: u32,
    pub max_parallel_agents: u32,
    /// The number of the last event in the log.
    pub seq: u64,
}

/// The response of `/healthz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    pub status: HealthStatus,
    pub version: String,
}

/// The daemon stops; these agents go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stopping {
    pub pid: u32,
    /// The names of the sessions whose agents keep running.
    pub running: Vec<String>,
    pub queued: Vec<String>,
}

/// The result of a reload of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reloaded {
    pub configs: Vec<String>,
    /// Descriptions of the changes; empty if there are none.
    pub changes: Vec<String>,
    /// Changes that take effect only after a restart.
    pub needs_restart: Vec<String>,
}

/// The configuration in use, in the main dialect. It has references to the environment, never their values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigShown {
    pub files: Vec<String>,
    pub yaml: String,
}

/// The channels to test; all if none is named.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NotifyTest {
    pub channels: Vec<String>,
    /// The priority of the notice; by default `info`.
    pub level: Option<NoticePriority>,
}

/// A channel for notices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotifyChannel {
    pub channel: String,
    pub plugin: String,
    /// Its target, with secrets masked; absent if it cannot be used.
    pub target: Option<String>,
    /// The priorities that it gets, the highest first.
    pub levels: Vec<NoticePriority>,
    /// The projects that named it for their own notices, of every priority.
    pub projects: Vec<String>,
    /// The end of its quiet hours, if they have started.
    pub quiet_until: Option<Timestamp>,
    /// The number of notices that wait: for the end of quiet hours, for a digest, or for a retry.
    pub waiting: u64,
    pub last_told: Option<Timestamp>,
    pub last_failed: Option<Timestamp>,
    /// The error of the last notice, or the reason it cannot be used at all.
    pub problem: Option<String>,
}

/// The result of a test notice on one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelTest {
    pub channel: String,
    pub plugin: String,
    pub delivered: bool,
    /// Its target, with secrets masked.
    pub target: Option<String>,
    pub problem: Option<String>,
}

/// A token to create.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NewToken {
    /// Limits the token to reports and calls of this session.
    pub session: Option<String>,
    /// Creates a code for one sign-in of a browser, valid for a minute.
    pub sign_in: bool,
}

/// A code that signs a browser in, once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SignIn {
    pub code: String,
}

impl std::fmt::Debug for SignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignIn(…)")
    }
}

/// A token. It is shown once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    pub token: String,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

wire_enum! {
    /// The state of the daemon.
    pub enum HealthStatus { Ok, Stopping } or Unknown
}

wire_enum! {
    /// The priority of a notice, the highest first.
    pub enum NoticePriority { Urgent, Action, Warning, Info }
}
