//! The command agent against a runtime in memory.

mod deliver;
mod follow;
mod launch;
mod support;
