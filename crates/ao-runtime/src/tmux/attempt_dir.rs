//! The files of an agent in a pane, in addition to those of every runtime.
//!
//! The helpers know only the folder, so their functions take a path.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ao_ports::RuntimeError;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::helper::FINISH;
use crate::host::attempt_dir::EXIT;
use crate::host::{self, AttemptDir, ProgramExit, files};

const RECORD: &str = "record";
const LAUNCHED: &str = "launched";
const CLOSED: &str = "closed";
const SECRETS: &str = "secrets";
/// The socket over which the daemon sends what to launch.
pub(super) const SOCKET: &str = "launch";

/// Identifies an agent and its pane across restarts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PaneRecord {
    /// The agent.
    pub(super) process: host::ProcessRecord,
    /// The server that has the pane: its ids mean nothing to another server.
    pub(super) server: host::ProcessRecord,
    /// The pane id, such as `%1`.
    pub(super) id: String,
    /// The session id, such as `$1`.
    pub(super) session: String,
    /// The session's name.
    pub(super) name: String,
    /// True if keys typed into the pane do not reach the agent.
    #[serde(default)]
    pub(super) without_input: bool,
}

impl AttemptDir {
    pub(super) fn pane(&self) -> Result<Option<PaneRecord>, RuntimeError> {
        self.get(RECORD)
    }

    pub(super) fn keep_pane(&self, pane: &PaneRecord) -> Result<(), RuntimeError> {
        self.put_through(RECORD, pane)
    }

    pub(super) fn is_launched(&self) -> bool {
        self.dir().join(LAUNCHED).exists()
    }

    /// Returns true if a recorder runs: it has the pipe open over which it is notified of the end.
    pub(super) fn is_kept(&self) -> bool {
        OpenOptions::new()
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(self.dir().join(FINISH))
            .is_ok()
    }

    /// Returns true if the output has ended, regardless of the agent.
    pub(super) fn is_closed(&self) -> bool {
        self.dir().join(CLOSED).exists()
    }
}

/// Stores the names of the secret variables. Their values are nowhere on disk.
pub(super) fn name_secrets(dir: &Path, names: &[&str]) -> io::Result<()> {
    files::write(&dir.join(SECRETS), &names)
}

pub(super) fn named_secrets(dir: &Path) -> Vec<String> {
    files::read(&dir.join(SECRETS)).ok().flatten().unwrap_or_default()
}

pub(super) fn pane(dir: &Path) -> Option<PaneRecord> {
    files::read(&dir.join(RECORD)).ok().flatten()
}

pub(super) fn mark_launched(dir: &Path) -> io::Result<()> {
    files::write(&dir.join(LAUNCHED), &())
}

pub(super) fn unmark_launched(dir: &Path) {
    // On failure it passes for launched and dead, which is handled as well.
    let _ = fs::remove_file(dir.join(LAUNCHED));
}

pub(super) fn mark_closed(dir: &Path) -> io::Result<()> {
    files::write(&dir.join(CLOSED), &())
}

pub(super) fn write_exit(dir: &Path, exit: ProgramExit) -> io::Result<()> {
    files::write(&dir.join(EXIT), &exit)
}
