//! Clones of the user's repository, in `<clones>/<project>/<name>`: for work that must not share refs, settings or
//! hooks with the user's own checkout.
//!
//! ```text
//!  intent ──► git clone --local ──► settings ──► files ──► marker ──► rename into place          (made)
//!  facts ──► gate ──► rescue ref, into the source ──► rename out of place ──► gate ──► deleted  (removed)
//! ```
//!
//! Objects are shared by hard links where the file system can: each side may pack, prune or vanish without the other one
//! noticing. Never by alternates (`--shared`): a clean-up in the source would take objects away that only the clone uses.
//!
//! A clone has nothing that anybody else keeps but what is at its remotes or in the source, so all of its branches, tags
//! and stashes are judged before it goes.

mod clones;
mod create;
mod place;
mod remove;
mod settings;
mod subject;

pub use clones::Clones;
