//! What the deletion gate wants to know, found out. The rule itself is [`ao_core::workspace::reasons_to_keep`].
//!
//! Ignored files keep no tree: they are build output and dependencies, which is what a removal is to free. Everything
//! else that only the tree has does, and so does a repository of its own among what is ignored.

mod facts;
mod hidden;
mod merged;
pub(crate) mod processes;
mod submodules;

pub(crate) use facts::{Elsewhere, Own, Subject, beyond, gather, objects_of, work};
