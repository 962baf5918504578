//! The channels against servers and a bus on this machine.

mod answers;
mod desktop;
mod messages;
mod one_hangs;
mod server;
mod settings;
mod support;
