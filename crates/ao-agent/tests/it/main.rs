//! The command agent against a runtime in memory, and against a scripted agent on a real terminal.

mod contract;
mod deliver;
mod follow;
mod hooks;
mod launch;
mod place;
mod protocols;
mod recordings;
mod schema;
mod screens;
mod stage;
mod support;
mod typed;
