//! Many worlds, each with its own faults.

use ao_testkit::{SimConfig, run};

use crate::parts::parts;

/// A sample, for every `cargo test`; `cargo xtask simulate` runs thousands.
#[test]
fn all_invariants_hold_under_random_faults() {
    for seed in 0..150 {
        let outcome = run(seed, &SimConfig::default(), &parts());
        if let Some(violation) = outcome.violation {
            let again = run(seed, &SimConfig { trace: 60, ..SimConfig::default() }, &parts());
            let trace = again.trace.last(60);
            panic!("{trace}\nseed {seed}: {violation}\nreplay: cargo xtask simulate --seed {seed}");
        }
    }
}

#[test]
fn the_seeds_that_once_found_something_hold() {
    for line in include_str!("../../simulation/seeds.txt").lines().filter(|line| !line.starts_with('#')) {
        let (seed, found) = line.split_once(' ').expect("a seed and what it found");
        let outcome = run(seed.parse().expect("a number"), &SimConfig::default(), &parts());
        assert_eq!(outcome.violation, None, "{found}: replay with `cargo xtask simulate --seed {seed}`");
    }
}

#[test]
fn the_same_seed_is_the_same_world_to_the_byte() {
    for seed in [3, 17, 4711] {
        let config = SimConfig { trace: 100_000, ..SimConfig::default() };
        let (one, other) = (run(seed, &config, &parts()), run(seed, &config, &parts()));
        assert_eq!(one.trace.last(usize::MAX), other.trace.last(usize::MAX));
        assert_eq!(one.steps, other.steps);
    }
}
