//! The daemon itself.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Who answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Daemon {
    /// The version of the program.
    pub version: String,
    /// Which build of the program it is, to tell whether it is the same as another.
    pub build: String,
    /// The version of this interface.
    pub api: u32,
    pub pid: u32,
    pub started_at: Timestamp,
    pub data_dir: String,
    pub socket: String,
    /// Where browsers find it, such as `http://127.0.0.1:3000`; absent if it listens on the socket only.
    pub url: Option<String>,
    pub log: String,
    /// The configuration files in force.
    pub configs: Vec<String>,
    /// What was wrong with the last edit of the configuration, while the one before stays in force.
    pub config_problem: Option<String>,
    pub live_sessions: u32,
    pub queued_sessions: u32,
    pub max_parallel_agents: u32,
    /// The place of the last event in the log.
    pub seq: u64,
}

/// The answer of `/healthz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// `ok`, or `stopping`.
    pub status: String,
    pub version: String,
}

/// The daemon goes; what it leaves running.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Stopping {
    pub pid: u32,
    /// The names of the sessions whose agents go on without it.
    pub running: Vec<String>,
    pub queued: Vec<String>,
}

/// What a reload of the configuration came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Reloaded {
    pub configs: Vec<String>,
    /// What changed, in words; empty if nothing did.
    pub changes: Vec<String>,
    /// What takes effect only with the next start.
    pub needs_restart: Vec<String>,
}

/// The configuration in force, in its one canonical form. References to the environment are shown, never their values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigShown {
    pub files: Vec<String>,
    pub yaml: String,
}

/// Which channels to try; all, if none is named.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NotifyTest {
    pub channels: Vec<String>,
    /// How urgent the notice is: `urgent`, `action`, `warning` or `info`, which it is if nothing is said.
    pub level: Option<String>,
}

/// A channel by which people are told things.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotifyChannel {
    pub channel: String,
    pub plugin: String,
    /// Where it leads, with secrets masked; nothing if it cannot be used.
    pub target: Option<String>,
    /// What goes to it, the most urgent first.
    pub levels: Vec<String>,
    /// The projects that have named it for their own news, of whatever level.
    pub projects: Vec<String>,
    /// Until when it is quiet, if it is now.
    pub quiet_until: Option<Timestamp>,
    /// How many notices wait for it: for the end of quiet hours, for a digest, or for another try.
    pub waiting: u64,
    pub last_told: Option<Timestamp>,
    pub last_failed: Option<Timestamp>,
    /// Why the last one failed, or why it cannot be used at all.
    pub problem: Option<String>,
}

/// What became of a test notice on one channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChannelTest {
    pub channel: String,
    pub plugin: String,
    pub delivered: bool,
    /// Where it went, with secrets masked.
    pub target: Option<String>,
    pub problem: Option<String>,
}

/// A token to be made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct NewToken {
    /// A token for this session only, which can report and ask for it and nothing else.
    pub session: Option<String>,
    /// A code for one sign-in of a browser, good for a minute.
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
