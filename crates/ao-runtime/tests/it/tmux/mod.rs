//! Agents in a real tmux.

mod attach;
pub(crate) mod bench;
mod flood;
mod server;
mod setup;

mod contract {
    ao_testkit::runtime_contract!(super::bench::Terminal::new());
}
