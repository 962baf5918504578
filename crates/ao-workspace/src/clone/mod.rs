//! Clones of the user's repository, in `<clones>/<project>/<name>`: for work that must not share refs, settings or
//! hooks with the user's own checkout.
//!
//! ```text
//!  intent ──► git clone --local ──► settings ──► files ──► marker ──► rename into place          (made)
//!  facts ──► gate ──► rescue ref, into the source ──► rename out of place ──► gate ──► deleted  (removed)
//! ```
//!
//! Objects are shared by hard links where the file system supports them: each side may pack, prune or vanish without
//! affecting the other. Never by alternates (`--shared`): a clean-up in the source would delete objects that only the
//! clone uses.
//!
//! Only the remotes and the source keep copies of a clone's commits, so all of its branches, tags and stashes are
//! judged before it is removed.

mod clones;
mod create;
mod paths;
mod remove;
mod settings;

pub use clones::{CloneLayout, Clones};
