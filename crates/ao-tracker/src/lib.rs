//! Sources of tasks: issues kept by the daemon, or as files in the repository.
//!
//! ```text
//!              LocalTracker ── checks, blocks, one turn at a time
//!               │        │
//!   local::records         local::files ◄── editors, git
//!     Records               .ao/issues/12-fix-the-login.md
//!
//!   import: lists of other tools ─► drafts ─► bring_in ─► any tracker
//! ```
//!
//! It knows nothing of sessions and agents: the core decides what an issue means for them.

pub mod import;
mod local;

pub use local::{FileWarning, Keep, LocalTracker, Options};
