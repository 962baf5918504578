//! Any bytes as a snapshot: refused, or decoded and encoded again to the same.
#![no_main]

use ao_core::State;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(state) = State::from_snapshot(input) {
        let again = State::from_snapshot(&state.to_snapshot()).expect("what we wrote we can read");
        assert_eq!(again, state);
    }
});
