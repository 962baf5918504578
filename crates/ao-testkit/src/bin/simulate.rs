//! Runs many worlds, or one again: `cargo xtask simulate`.

#![expect(clippy::print_stdout, reason = "telling a person how the worlds went is what it is for")]

use ao_testkit::{Config, run};

fn main() {
    let config = Config::default();
    for seed in 0..50 {
        let outcome = run(seed, &config);
        println!("{seed} {} {:?}", outcome.steps, outcome.violation);
    }
}
