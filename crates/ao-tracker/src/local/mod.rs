//! Issues without any service: kept by the daemon, or as files that people edit.
//!
//! All that is written here has been checked here: what an issue looks like, and that nobody waits in a circle. What
//! people write into files is checked when it is read, and told of instead of refused.

mod blocks;
mod files;
mod issue;
mod shelf;
mod store;
mod tracker;

pub use self::files::Warning;
pub(crate) use self::issue::{MAX_BODY, MAX_LABELS, MAX_TITLE, MAX_WORD, plain_text};
pub use self::tracker::{Keep, LocalTracker, Options};
