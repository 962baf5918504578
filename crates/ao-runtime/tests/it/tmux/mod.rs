//! Agents in a real tmux.

mod bench;

mod contract {
    ao_testkit::runtime_contract!(super::bench::Terminal::new());
}
