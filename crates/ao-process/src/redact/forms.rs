//! The encodings in which a secret commonly appears in output.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// Characters that a URL contains unescaped.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Returns the value itself; its base64, in either alphabet and at any offset; and its percent-encoded and JSON-escaped
/// forms.
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
    // Inside a JSON document.
    forms.push(quoted.into_bytes());
    if value.contains(&b'\n') {
        // As a terminal prints it.
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

/// Returns the base64 characters of a value that follows `before` bytes (modulo three): only those that do not depend
/// on the bytes around it.
fn within(engine: &impl Engine, value: &[u8], before: usize) -> Vec<u8> {
    let mut padded = vec![0; before];
    padded.extend_from_slice(value);
    let encoded = engine.encode(&padded).into_bytes();
    // A base64 character has six bits, a byte eight.
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
