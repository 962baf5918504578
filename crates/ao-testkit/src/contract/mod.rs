//! What every adapter of a slot must hold, one function for each promise. Adapters run them on the real thing.

pub mod workspace;
