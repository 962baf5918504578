//! What this crate promises, by capability.

mod failure;
