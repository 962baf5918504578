//! What is written down of an agent in a pane, beside what every runtime does.
//!
//! The helpers know the folder only, so what they write is written by functions that take a path.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ao_ports::RuntimeError;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use super::helper::FINISH;
use crate::host::place::EXIT;
use crate::host::{self, Exit, Place, files};

const RECORD: &str = "record";
const LAUNCHED: &str = "launched";
const CLOSED: &str = "closed";
const SECRETS: &str = "secrets";
/// Where the daemon tells what to launch.
pub(super) const SOCKET: &str = "launch";

/// By what an agent and its pane are known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pane {
    /// The agent.
    pub(super) process: host::Record,
    /// The server that has the pane: ids mean nothing to another one.
    pub(super) server: host::Record,
    /// As `%1`.
    pub(super) id: String,
    /// As `$1`.
    pub(super) session: String,
    /// The session's name.
    pub(super) name: String,
    /// Nothing that is typed into the pane reaches the agent.
    #[serde(default)]
    pub(super) without_input: bool,
}

impl Place {
    pub(super) fn pane(&self) -> Result<Option<Pane>, RuntimeError> {
        self.get(RECORD)
    }

    pub(super) fn keep_pane(&self, pane: &Pane) -> Result<(), RuntimeError> {
        self.put_through(RECORD, pane)
    }

    pub(super) fn is_launched(&self) -> bool {
        self.dir().join(LAUNCHED).exists()
    }

    /// Whether somebody keeps the output: its keeper has the pipe open by which it is told of the end.
    pub(super) fn is_kept(&self) -> bool {
        OpenOptions::new()
            .write(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32)
            .open(self.dir().join(FINISH))
            .is_ok()
    }

    /// The output has come to its end, whatever has become of the agent.
    pub(super) fn is_closed(&self) -> bool {
        self.dir().join(CLOSED).exists()
    }
}

/// Which variables are secrets. Their values are nowhere on disk.
pub(super) fn name_secrets(dir: &Path, names: &[&str]) -> io::Result<()> {
    files::write(&dir.join(SECRETS), &names)
}

pub(super) fn named_secrets(dir: &Path) -> Vec<String> {
    files::read(&dir.join(SECRETS)).ok().flatten().unwrap_or_default()
}

pub(super) fn pane(dir: &Path) -> Option<Pane> {
    files::read(&dir.join(RECORD)).ok().flatten()
}

pub(super) fn mark_launched(dir: &Path) -> io::Result<()> {
    files::write(&dir.join(LAUNCHED), &())
}

pub(super) fn unmark_launched(dir: &Path) {
    // Then it passes for launched and dead, which is found out as well.
    let _ = fs::remove_file(dir.join(LAUNCHED));
}

pub(super) fn mark_closed(dir: &Path) -> io::Result<()> {
    files::write(&dir.join(CLOSED), &())
}

pub(super) fn write_exit(dir: &Path, exit: Exit) -> io::Result<()> {
    files::write(&dir.join(EXIT), &exit)
}
