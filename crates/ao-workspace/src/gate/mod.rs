//! Gathers the facts for the deletion gate. The rule itself is [`ao_core::workspace::reasons_to_keep`].
//!
//! Ignored files do not keep a tree: they are build output and dependencies, which a removal is meant to free.
//! Everything else that only the tree has does, and so does a repository inside an ignored folder.

mod facts;
mod hidden;
mod merged;
pub(crate) mod processes;
mod submodules;

pub(crate) use facts::{JudgedTree, KeptElsewhere, OwnBranches, beyond, gather, objects_of, work};
