//! Agents in a real tmux.

mod attach;
pub(crate) mod bench;
mod flood;
mod server;
mod setup;

mod contract {
    ao_testkit::runtime_contract!(super::bench::Terminal::new());
}

mod without_input {
    ao_testkit::runtime_contract!(super::bench::Terminal::holding(ao_ports::ProcessIo::Output));
}
