//! Settings for logs and commands.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ao_core::SessionId;
use ao_process::Keeper;

/// Settings for setting up workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The folder with a folder of logs for each session.
    pub logs: PathBuf,
    /// The daemon's data folder, which identifies leftover processes of a command as the daemon's.
    pub data_dir: Option<PathBuf>,
    /// The user's shell, which runs the commands.
    pub shell: OsString,
    /// The keeper process that adopts everything they start.
    pub keeper: Keeper,
    /// Log size at which its middle is cut out, in bytes.
    pub log_limit: u64,
    /// Time that processes get to end before they are killed.
    pub grace: Duration,
}

impl Options {
    /// Creates the defaults. The shell is `AO_SHELL`, else `SHELL`, else `/bin/sh`.
    pub fn new(logs: impl Into<PathBuf>) -> Options {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Options {
            logs: logs.into(),
            data_dir: None,
            shell: set("AO_SHELL").or_else(|| set("SHELL")).unwrap_or_else(|| "/bin/sh".into()),
            keeper: Keeper::default(),
            log_limit: 4 << 20,
            grace: Duration::from_secs(5),
        }
    }

    /// Returns the log of a session's set-up commands.
    pub fn setup_log(&self, session: SessionId) -> PathBuf {
        log(&self.logs, session, "setup.log")
    }

    /// Returns the log of the commands that run before its workspace is removed.
    pub fn teardown_log(&self, session: SessionId) -> PathBuf {
        log(&self.logs, session, "teardown.log")
    }
}

fn log(logs: &Path, session: SessionId, name: &str) -> PathBuf {
    logs.join(session.to_string()).join(name)
}
