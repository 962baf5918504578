//! The ways in which a value turns up without being changed on purpose.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// What an address may have as it is.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The value itself; in base64, of either alphabet and wherever it stands in what was encoded; and as an address has it.
pub(super) fn of(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec()];
    for before in 0..3 {
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            forms.push(within(&engine, value, before));
        }
    }
    let upper = percent_encode(value, &UNRESERVED).to_string();
    forms.push(lower_hex(&upper).into_bytes());
    forms.push(upper.into_bytes());
    let quoted =
        String::from_utf8_lossy(value).replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    // In a document of JSON.
    forms.push(quoted.into_bytes());
    if value.contains(&b'\n') {
        // As a terminal puts it out.
        forms.push(String::from_utf8_lossy(value).replace('\n', "\r\n").into_bytes());
    }
    let mut once: Vec<Vec<u8>> = Vec::with_capacity(forms.len());
    for form in forms {
        if !once.contains(&form) {
            once.push(form);
        }
    }
    once
}

/// What a value adds to the base64 of something in which `before` bytes, but for threes, stand in front of it: only the
/// letters that what stands around it has no part in.
fn within(engine: &impl Engine, value: &[u8], before: usize) -> Vec<u8> {
    let mut padded = vec![0; before];
    padded.extend_from_slice(value);
    let encoded = engine.encode(&padded).into_bytes();
    // Each letter has six bits, each byte eight.
    let from = (before * 8).div_ceil(6);
    let until = padded.len() * 8 / 6;
    encoded[from.min(until)..until].to_vec()
}

fn lower_hex(encoded: &str) -> String {
    let mut lower = String::with_capacity(encoded.len());
    let mut in_hex = 0;
    for c in encoded.chars() {
        lower.push(if in_hex > 0 { c.to_ascii_lowercase() } else { c });
        in_hex = if c == '%' { 2 } else { in_hex - i32::from(in_hex > 0) };
    }
    lower
}
