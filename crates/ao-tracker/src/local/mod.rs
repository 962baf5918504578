//! Issues without any service: kept by the daemon, or as files that people edit.
//!
//! Everything written here is validated here: the format of an issue, and that blockers form no cycle. Files that
//! people edit are validated when they are read, and yield warnings instead of errors.

mod blocks;
mod files;
mod issue;
mod records;
mod storage;
mod tracker;

pub use self::files::FileWarning;
pub(crate) use self::issue::{MAX_BODY, MAX_LABELS, MAX_TITLE, number, plain_text, title, word};
pub use self::tracker::{Keep, LocalTracker, Options};
