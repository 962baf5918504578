//! Tests of the configuration, by capability.

mod checks;
mod dialects;
mod edits;
mod files;
mod hooks;
mod keys;
mod layers;
mod limits;
mod mistakes;
mod pages;
mod policy;
mod reactions;
mod secrets;
mod support;
mod watch;
