//! The files of a shim and the daemon, in addition to those of every runtime.

use std::fs;
use std::path::PathBuf;

use ao_ports::RuntimeError;

use crate::host::files::failed;
use crate::host::{AttemptDir, ProcessRecord};

/// File names that both sides know.
const BEGUN: &str = "begun";
const RECORD: &str = "record";
const HOLDER: &str = "holder";
const LEFT: &str = "left";
/// The socket on which the shim listens.
pub(super) const SOCKET: &str = "socket";

impl AttemptDir {
    /// Returns the folder in which both streams of a program on pipes are recorded together. Absent for other programs.
    pub(super) fn log(&self) -> PathBuf {
        self.dir().join("log")
    }

    /// Returns the folder of the output that people are shown.
    pub(super) fn shown(&self) -> PathBuf {
        let log = self.log();
        if log.is_dir() { log } else { self.output() }
    }

    /// A shim holds this lock for as long as it lives.
    pub(super) fn lock(&self) -> PathBuf {
        self.dir().join("lock")
    }

    /// A shim holds this lock while it starts something.
    pub(super) fn start_lock(&self) -> PathBuf {
        self.dir().join("start.lock")
    }

    pub(super) fn begun(&self) -> Result<bool, RuntimeError> {
        Ok(self.get::<()>(BEGUN)?.is_some())
    }

    pub(super) fn begin(&self) -> Result<(), RuntimeError> {
        self.put(BEGUN, &())
    }

    /// Reads the record of the program.
    pub(super) fn record(&self) -> Result<Option<ProcessRecord>, RuntimeError> {
        self.get(RECORD)
    }

    pub(super) fn keep_record(&self, record: &ProcessRecord) -> Result<(), RuntimeError> {
        self.put_through(RECORD, record)
    }

    /// Reads the record of the shim.
    pub(super) fn holder(&self) -> Result<Option<ProcessRecord>, RuntimeError> {
        self.get(HOLDER)
    }

    pub(super) fn keep_holder(&self, record: &ProcessRecord) -> Result<(), RuntimeError> {
        self.put(HOLDER, record)
    }

    pub(super) fn forget_holder(&self) -> Result<(), RuntimeError> {
        let path = self.dir().join(HOLDER);
        fs::remove_file(&path).map_err(|err| failed("remove", &path, &err))
    }

    /// Returns true if the shim has exited because nothing was left to hold.
    pub(super) fn is_left(&self) -> Result<bool, RuntimeError> {
        Ok(self.get::<()>(LEFT)?.is_some())
    }

    pub(super) fn keep_left(&self) -> Result<(), RuntimeError> {
        self.put(LEFT, &())
    }
}
