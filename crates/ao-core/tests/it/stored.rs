//! What was stored is read for ever.

use ao_core::codec::{DecodeError, VERSION, decode};

#[test]
fn a_newer_version_is_named_and_not_guessed_at() {
    let newer = decode("session.queued", VERSION + 1, "ses_1", "{}").unwrap_err();
    assert_eq!(newer, DecodeError::Newer { kind: "session.queued".into(), version: VERSION + 1 });
    let unknown = decode("weather.changed", VERSION, "ses_1", "{}").unwrap_err();
    assert_eq!(unknown, DecodeError::UnknownKind { kind: "weather.changed".into() });
    assert!(decode("session.queued", VERSION, "ses_1", "{").is_err());
    assert!(decode("session.look_wanted", VERSION, "not an id", "{\"look_wanted\":{}}").is_err());
    assert!(decode("session.look_wanted", 0, "ses_1", "{\"look_wanted\":{}}").is_err());
}
