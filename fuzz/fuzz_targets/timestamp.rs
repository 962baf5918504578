//! A timestamp never panics, and reads back as what was written, whatever a file or a peer sends.

#![no_main]

use std::time::Duration;

use ao_core::Timestamp;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(at) = serde_json::from_slice::<Timestamp>(bytes) else {
        return;
    };
    let text = serde_json::to_string(&at).expect("a timestamp can be written");
    assert_eq!(
        serde_json::from_str::<Timestamp>(&text).expect("and read again"),
        at
    );

    let later = at + Duration::from_secs(u64::MAX);
    assert!(later >= at, "adding never goes back");
    let _ = at.since(later);
});
