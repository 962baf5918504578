//! Agents in a real tmux.

mod attach;
mod bench;
mod flood;
mod server;
mod setup;

mod contract {
    ao_testkit::runtime_contract!(super::bench::Terminal::new());
}
