//! What a shim and the daemon write down beside what every runtime does.

use std::fs;
use std::path::PathBuf;

use ao_ports::RuntimeError;

use crate::host::files::failed;
use crate::host::{Place, Record};

/// Names of files that both sides know.
const BEGUN: &str = "begun";
const RECORD: &str = "record";
const HOLDER: &str = "holder";
const LEFT: &str = "left";
/// Where the shim listens.
pub(super) const SOCKET: &str = "socket";

impl Place {
    /// Where both streams of a program on pipes are kept together. Not there for other programs.
    pub(super) fn log(&self) -> PathBuf {
        self.dir().join("log")
    }

    /// Where what people are shown is kept.
    pub(super) fn shown(&self) -> PathBuf {
        let log = self.log();
        if log.is_dir() { log } else { self.output() }
    }

    /// By holding this, a shim says that it lives.
    pub(super) fn lock(&self) -> PathBuf {
        self.dir().join("lock")
    }

    /// By holding this, a shim says that it is starting something.
    pub(super) fn start_lock(&self) -> PathBuf {
        self.dir().join("start.lock")
    }

    pub(super) fn begun(&self) -> Result<bool, RuntimeError> {
        Ok(self.get::<()>(BEGUN)?.is_some())
    }

    pub(super) fn begin(&self) -> Result<(), RuntimeError> {
        self.put(BEGUN, &())
    }

    /// The program.
    pub(super) fn record(&self) -> Result<Option<Record>, RuntimeError> {
        self.get(RECORD)
    }

    pub(super) fn keep_record(&self, record: &Record) -> Result<(), RuntimeError> {
        self.put_through(RECORD, record)
    }

    /// The shim, in the same words as the program.
    pub(super) fn holder(&self) -> Result<Option<Record>, RuntimeError> {
        self.get(HOLDER)
    }

    pub(super) fn keep_holder(&self, record: &Record) -> Result<(), RuntimeError> {
        self.put(HOLDER, record)
    }

    pub(super) fn forget_holder(&self) -> Result<(), RuntimeError> {
        let path = self.dir().join(HOLDER);
        fs::remove_file(&path).map_err(|err| failed("remove", &path, &err))
    }

    /// The shim has gone because nothing was left to hold.
    pub(super) fn is_left(&self) -> Result<bool, RuntimeError> {
        Ok(self.get::<()>(LEFT)?.is_some())
    }

    pub(super) fn keep_left(&self) -> Result<(), RuntimeError> {
        self.put(LEFT, &())
    }
}
