//! The event log and the documents beside it: one SQLite file, one writer thread, group commit, snapshots.
//!
//! ```text
//!  append, save_snapshot, prune, change  read, history, get, list, check, export, backup
//!          │ bounded queue                            │
//!   writer thread ── one transaction ──► ao.db ◄── read-only connections
//!          │                             (WAL)
//!       ao.lock: one daemon per data directory
//! ```
//!
//! The store does not interpret bodies: `ao-core` knows what an event means and how old versions are read. It
//! deliberately has no clock, no retries, and no repair. A file that looks wrong is left exactly as it is and reported,
//! because the log is the only source of truth.

mod backup;
mod check;
mod error;
mod export;
mod import;
mod lock;
mod prune;
mod read;
mod readers;
mod records;
mod schema;
mod snapshot;
mod store;
mod writer;

pub use backup::last_backup;
pub use check::CheckReport;
pub use export::{ExportError, ExportReport};
pub use import::{ImportError, import};
pub use lock::{DirLock, LockHolder};
pub use prune::{PruneReport, Retention};
pub use store::{Options, Store};
