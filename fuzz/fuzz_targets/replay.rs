//! Any log in the format of `ao events export`: folding it never fails, and a snapshot of it is as good as the log.
#![no_main]

use ao_core::codec::decode;
use ao_core::{Input, Moment, StampedEvent, State, Timestamp, scopes, step, wants};
use libfuzzer_sys::fuzz_target;
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Line<'a> {
    at: i64,
    kind: &'a str,
    version: u16,
    scope: &'a str,
    #[serde(borrow)]
    body: &'a RawValue,
}

fuzz_target!(|input: &str| {
    let mut state = State::default();
    for line in input.lines() {
        let Ok(line) = serde_json::from_str::<Line<'_>>(line) else { continue };
        if let Ok(event) = decode(line.kind, line.version, line.scope, line.body.get()) {
            state.evolve(&StampedEvent { at: Timestamp(line.at), event });
        }
    }
    let restored = State::from_snapshot(&state.to_snapshot()).expect("what we wrote we can read");
    // Compared by their snapshots: in a log that no core has written, two sessions may claim one name.
    assert_eq!(restored.to_snapshot(), state.to_snapshot());
    for scope in scopes(&state) {
        let _ = wants(&state, &scope);
    }
    // Time goes on after any log.
    let at = state.next_due().unwrap_or_default();
    let _ = step(&mut state, &Moment { at, seed: 1 }, Input::Tick);
});
