//! Any bytes as a stored event: refused with an error, or decoded; encoding it again gives the same bytes.
#![no_main]

use ao_core::codec::{decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    // Kind, version and scope on separate lines, then the body.
    let mut lines = input.splitn(4, '\n');
    let (Some(kind), Some(version), Some(scope), Some(body)) =
        (lines.next(), lines.next(), lines.next(), lines.next())
    else {
        return;
    };
    let Ok(version) = version.parse() else { return };
    if let Ok(event) = decode(kind, version, scope, body) {
        let stored = encode(&event);
        let again = decode(&stored.kind, stored.version, &stored.scope, &stored.body);
        assert_eq!(again.as_ref(), Ok(&event));
    }
});
