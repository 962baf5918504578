//! Posts notices as JSON to any URL.
//!
//! | header | what it is |
//! |---|---|
//! | `X-Ao-Notice` | the notice's key, percent-encoded: the same key is the same notice, however often it comes |
//! | `X-Ao-Signature-256` | `sha256=` and the HMAC of the body in hex, if there is a `secret` |

use ao_core::incident::Subject;
use ao_core::notice::Notice;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::links::NoticeLink;
use crate::text::{as_it_is, body, fit, title};

pub(crate) const NOTICE: HeaderName = HeaderName::from_static("x-ao-notice");
pub(crate) const SIGNATURE: HeaderName = HeaderName::from_static("x-ao-signature-256");

/// More than people read, and less than servers reject.
const TEXT: usize = 64 * 1024;
/// A longer key is truncated; the body has the whole key.
const KEY: usize = 1024;

/// Builds the message. Fields may be added; existing ones keep their meaning.
pub(crate) fn message(notice: &Notice, links: &[NoticeLink]) -> Value {
    let kind = match notice.subject {
        Subject::Host => "host",
        Subject::Project(_) => "project",
        Subject::Session(_) => "session",
        Subject::Pull(_) => "pull",
    };
    json!({
        "version": 1,
        "key": notice.key,
        "level": notice.level.word(),
        "subject": { "kind": kind, "id": notice.subject.to_string() },
        "title": title(notice),
        "text": fit(&body(notice), TEXT, as_it_is),
        "project": notice.about.project,
        "session": notice.about.session,
        "links": links.iter().map(|link| json!({ "rel": link.rel, "url": link.url.as_str() })).collect::<Vec<_>>(),
        "gathered": notice.gathered,
    })
}

/// Returns the headers for a body.
pub(crate) fn headers(notice: &Notice, secret: Option<&str>, body: &[u8]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let value = |text: String| HeaderValue::try_from(text).expect("it is made of visible ASCII");
    headers.insert(NOTICE, value(percent_encoded(&notice.key)));
    if let Some(secret) = secret {
        headers.insert(SIGNATURE, value(signature(secret, body)));
    }
    headers
}

fn signature(secret: &str, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key may have any length");
    mac.update(body);
    let hex: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256={hex}")
}

fn percent_encoded(key: &str) -> String {
    let mut out = String::new();
    for byte in key.bytes() {
        match byte {
            b'!'..=b'~' if byte != b'%' => out.push(byte.into()),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
        if out.len() >= KEY {
            break;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second test case of RFC 4231.
    #[test]
    fn the_signature_is_a_standard_hmac() {
        assert_eq!(
            signature("Jefe", b"what do ya want for nothing?"),
            "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn any_key_can_be_in_a_header() {
        assert_eq!(percent_encoded("ses_4f wait 100%\r\nX: ä"), "ses_4f%20wait%20100%25%0D%0AX:%20%C3%A4");
        assert!(HeaderValue::try_from(percent_encoded(&"\n".repeat(5000))).is_ok());
    }
}
