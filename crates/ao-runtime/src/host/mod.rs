//! What every runtime on this host needs: what the kernel tells of processes, which of them belong to an attempt, waiting
//! for their ends, and ending them all.

pub(crate) mod end;
pub(crate) mod listen;
pub(crate) mod members;
pub(crate) mod procfs;
pub(crate) mod wait;

pub(crate) use members::{Key, Record};
