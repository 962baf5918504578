//! One file for each command.

pub(crate) mod demo;
pub(crate) mod demo_agent;
pub(crate) mod events;
pub(crate) mod hook;
