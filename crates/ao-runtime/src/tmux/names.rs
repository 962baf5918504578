//! Names and quoting, for tmux and for the shell.

use crate::host::AttemptKey;

/// Most characters of a name that people see.
const SHOWN: usize = 40;

/// Returns the name of an agent's tmux session: its display name and its attempt, which make it unique.
pub(super) fn session(name: &str, key: AttemptKey) -> String {
    let plain = |char: char| if char.is_alphanumeric() || char == '_' || char == '-' { char } else { '-' };
    let shown: String = name.trim().chars().map(plain).take(SHOWN).collect();
    format!("{}{}", if shown.is_empty() { "agent" } else { &shown }, suffix(key))
}

/// Returns true if a tmux session belongs to this attempt, regardless of its display name.
pub(super) fn is_of(session: &str, key: AttemptKey) -> bool {
    session.ends_with(&suffix(key))
}

/// The session of the control client. It runs no program.
pub(super) const KEEPER: &str = "ao";

/// A format that is empty if the server has no session but ours: neither an agent's, nor one that an attached person
/// has opened.
pub(super) const ANYTHING: &str = "#{S:#{?#{==:#{session_name},ao},,x}}";

/// A format that is true only in a session that a person has opened.
pub(super) const OF_A_PERSON: &str = "#{?#{||:#{==:#{session_name},ao},#{m:*-ses_*-*,#{session_name}}},,1}";

fn suffix(key: AttemptKey) -> String {
    format!("-{}-{}", key.0, key.1)
}

#[cfg(test)]
mod tests {
    use ao_core::{Attempt, SessionId};

    use super::*;

    #[test]
    fn names_have_nothing_that_tmux_would_read() {
        let key = (SessionId(0x4f), Attempt(2));
        assert_eq!(session("fix: #{pid}.ü\n", key), "fix----pid--ü-ses_4f-2");
        assert_eq!(session(" ", key), "agent-ses_4f-2");
    }

    #[test]
    fn a_name_is_of_one_attempt_only() {
        let name = session("x-ses_1-1", (SessionId(0x11), Attempt(11)));
        assert!(is_of(&name, (SessionId(0x11), Attempt(11))));
        for key in [(SessionId(1), Attempt(1)), (SessionId(1), Attempt(11)), (SessionId(0x11), Attempt(1))] {
            assert!(!is_of(&name, key));
        }
    }

    #[test]
    fn the_formats_look_for_what_names_have() {
        assert!(suffix((SessionId(0x4f), Attempt(2))).starts_with("-ses_"));
        let keeper = format!("#{{==:#{{session_name}},{KEEPER}}}");
        assert!(
            OF_A_PERSON.contains("m:*-ses_*-*,")
                && OF_A_PERSON.contains(&keeper)
                && ANYTHING.contains(&keeper)
        );
    }
}
