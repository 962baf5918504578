//! Many worlds, each with its own faults.

use ao_testkit::{Config, run};

/// A taste of it, for every `cargo test`; `cargo xtask simulate` runs thousands.
#[test]
fn everything_holds_whatever_goes_wrong() {
    for seed in 0..150 {
        let outcome = run(seed, &Config::default());
        if let Some(violation) = outcome.violation {
            let again = run(seed, &Config { trace: 60, ..Config::default() });
            let trace = again.trace.last(60);
            panic!("{trace}\nseed {seed}: {violation}\nreplay: cargo xtask simulate --seed {seed}");
        }
    }
}

#[test]
fn the_seeds_that_once_found_something_hold() {
    for line in include_str!("../../seeds.txt").lines().filter(|line| !line.starts_with('#')) {
        let (seed, found) = line.split_once(' ').expect("a seed and what it found");
        let outcome = run(seed.parse().expect("a number"), &Config::default());
        assert_eq!(outcome.violation, None, "{found}: replay with `cargo xtask simulate --seed {seed}`");
    }
}

#[test]
fn the_same_seed_is_the_same_world_to_the_byte() {
    for seed in [3, 17, 4711] {
        let config = Config { trace: 100_000, ..Config::default() };
        let (one, other) = (run(seed, &config), run(seed, &config));
        assert_eq!(one.trace.last(usize::MAX), other.trace.last(usize::MAX));
        assert_eq!(one.steps, other.steps);
    }
}
