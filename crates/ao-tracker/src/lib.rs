//! Where tasks come from: issues kept by the daemon, or as files in the repository.
//!
//! ```text
//!              LocalTracker ── checks, blocks, one turn at a time
//!               │        │
//!   local::store          local::files ◄── editors, git
//!     Records               .ao/issues/12-fix-the-login.md
//!
//!   import: lists of others ─► drafts ─► bring_in ─► any tracker
//! ```
//!
//! It knows nothing of sessions and agents: what an issue means for them is the core's business.

pub mod import;
mod local;

pub use local::{Keep, LocalTracker, Options, Warning};
