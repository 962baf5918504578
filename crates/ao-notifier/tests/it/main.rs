//! The channels against servers and a bus on this machine.

mod answers;
mod contracts;
mod desktop;
mod messages;
mod one_hangs;
mod others;
mod port_contract;
mod server;
mod settings;
mod support;
