//! What every adapter of a slot must do, as stories that are told once and run against each of them.
//!
//! A story knows only the port. What it needs of the adapter comes from a bench, which each adapter's tests bring along.

pub mod records;
pub mod runtime;
pub mod workspace;
