//! Any text as an id, and any two texts as a message and its proof.
#![no_main]

use ao_core::session::carries;
use ao_core::{NoticeId, PullId, SessionId, TaskId};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (&str, &str)| {
    let (one, other) = input;
    if let Ok(id) = one.parse::<SessionId>() {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    if let Ok(id) = one.parse::<NoticeId>() {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    if let Ok(id) = one.parse::<TaskId>() {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    if let Ok(id) = one.parse::<PullId>() {
        assert_eq!(id.to_string().parse(), Ok(id));
    }
    // A text proves itself, and goes on proving itself inside a longer one.
    if !other.trim().is_empty() {
        assert!(carries(other, other));
        assert!(carries(&format!("{one}\n{other}\n{one}"), other));
    }
});
