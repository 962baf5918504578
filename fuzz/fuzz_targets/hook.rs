//! Any bytes as a report of an agent's hook, and any text as input to type.
#![no_main]

use ao_agent::hook::understand;
use ao_agent::line::parse_line;
use ao_agent::sanitise;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(payload) = serde_json::from_slice(input) {
        let _ = understand(None, &payload);
        let _ = understand(Some("Notification"), &payload);
    }
    let text = String::from_utf8_lossy(input);
    let _ = parse_line(&text);
    let clean = sanitise(&text);
    assert!(clean.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
    assert_eq!(sanitise(&clean), clean);
});
