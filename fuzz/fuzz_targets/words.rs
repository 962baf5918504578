//! Any text as an id, and any two texts as a message and its proof.
#![no_main]

use ao_core::session::is_turn_of;
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
    // A turn that is our text proves the delivery, however it is wrapped; a longer turn does not.
    if !other.trim().is_empty() {
        assert!(is_turn_of(other, other));
        assert!(is_turn_of(&format!("\n{other}\r\n"), other));
        assert_eq!(is_turn_of(&format!("{other}\n{one}"), other), one.trim().is_empty());
    }
});
