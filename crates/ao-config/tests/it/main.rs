//! What users configure, by capability.

mod dialects;
mod support;
