//! What every runtime on this host needs.
//!
//! | module | tells or does |
//! |---|---|
//! | [`procfs`], [`members`], [`wait`], [`end`] | what the kernel knows of processes, which of them belong to an attempt, waiting for their ends, ending them all |
//! | [`files`], [`place`], [`sweep`] | what is written down of an attempt, and let go long after its end |
//! | [`start`], [`turns`], [`life`], [`report`] | what is asked of every runtime, as far as it is the same |
//! | [`usual`] | what holds unless somebody says otherwise |
//! | [`listen`], [`heard`] | hearing that files have changed, and waiting for output by that |

pub(crate) mod end;
pub(crate) mod files;
pub(crate) mod heard;
pub(crate) mod life;
pub(crate) mod listen;
pub(crate) mod members;
pub(crate) mod place;
pub(crate) use ao_process::procfs;
pub(crate) mod report;
pub(crate) mod start;
pub(crate) mod sweep;
pub(crate) mod turns;
pub(crate) mod usual;
pub(crate) mod wait;

pub(crate) use members::{Key, Record};
pub(crate) use place::{Ending, Exit, Place};
