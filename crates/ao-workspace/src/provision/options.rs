//! Where logs go, and how commands are run.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ao_core::SessionId;
use ao_process::Keeper;

/// How workspaces are made ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Where each session has a folder with its logs.
    pub logs: PathBuf,
    /// The daemon's data folder, by which what a command leaves running is known to be the daemon's.
    pub data_dir: Option<PathBuf>,
    /// The user's shell, by which commands are run.
    pub shell: OsString,
    /// Keeps what they start from getting away.
    pub keeper: Keeper,
    /// How large a log may become before its middle is cut out.
    pub log_limit: u64,
    /// How long programs that are asked to end may take before they are killed.
    pub grace: Duration,
}

impl Options {
    /// The shell is `AO_SHELL`, else `SHELL`, else `/bin/sh`.
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

    /// What the commands of a session's set-up put out.
    pub fn setup_log(&self, session: SessionId) -> PathBuf {
        log(&self.logs, session, "setup.log")
    }

    /// What the commands put out that are run before its workspace goes.
    pub fn teardown_log(&self, session: SessionId) -> PathBuf {
        log(&self.logs, session, "teardown.log")
    }
}

fn log(logs: &Path, session: SessionId, name: &str) -> PathBuf {
    logs.join(session.to_string()).join(name)
}
