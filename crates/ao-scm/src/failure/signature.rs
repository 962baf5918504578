//! Signatures of failures, which are stable over commits, machines and time.
//!
//! A signature is made of what failed and how, without everything that varies from run to run: numbers, addresses,
//! durations, times, temporary folders, positions within a file, and order.

use ao_ports::FailureKind;
use regex::Captures;
use sha2::{Digest, Sha256};

use super::Pattern;
use super::entry::FailureEntry;

/// The most lines of a message that count; values and traces follow.
const LINES: usize = 6;

/// Returns the signature of a set of parts, independent of order and repetition.
pub(super) fn of_parts(mut parts: Vec<String>) -> String {
    parts.sort_unstable();
    parts.dedup();
    let mut hash = Sha256::new();
    for part in &parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    format!("{:016x}", first_bytes(&hash.finalize()))
}

/// Returns a part as a number, to keep very many of them.
pub(super) fn number(part: &str) -> u64 {
    first_bytes(&Sha256::digest(part.as_bytes()))
}

fn first_bytes(hash: &[u8]) -> u64 {
    u64::from_be_bytes(hash[..8].try_into().expect("a hash is longer than this"))
}

/// Returns the identity of an entry, with its message.
pub(super) fn long(entry: &FailureEntry) -> String {
    let mut part = short(entry);
    part.push('\n');
    for line in entry.message_lines().iter().take(LINES) {
        part.push_str(&stable(line));
        part.push('\n');
    }
    part
}

/// Returns the identity without the message, unless there is nothing else to identify it by.
pub(super) fn short(entry: &FailureEntry) -> String {
    let kind = match entry.kind {
        FailureKind::Test => "test",
        FailureKind::Error => "error",
    };
    let name = entry.name.as_deref().map(stable_name).unwrap_or_default();
    let path = entry.place.as_ref().map(|place| stable_path(&place.path)).unwrap_or_default();
    let mut part = format!("{kind}\n{}\n{name}\n{path}", entry.scope);
    if name.is_empty() && path.is_empty() {
        part.push('\n');
        part.push_str(&entry.message_lines().first().map(|line| stable(line)).unwrap_or_default());
    }
    part
}

/// Returns a name without the parts that vary: addresses and temporary folders.
fn stable_name(name: &str) -> String {
    let mut stable = String::new();
    for word in name.split_inclusive([' ', '[', ']', ',']) {
        if word.contains("/tmp/") || word.contains("/var/folders/") || word.contains("0x") {
            stable.push_str("<…>");
        } else {
            stable.push_str(word);
        }
    }
    stable
}

/// Returns a path that is the same on every machine: outside of the checkout, only its last part.
fn stable_path(path: &str) -> String {
    let outside = path.starts_with('/') || path.as_bytes().get(1) == Some(&b':');
    if outside { stable(path.rsplit('/').next().unwrap_or(path)) } else { path.to_string() }
}

/// Removes the varying parts of a line.
pub(super) fn stable(line: &str) -> String {
    // An absolute path, though not the rest of a relative one; a UUID; a word. A slash after any of `.-*)]>` begins no
    // path.
    static PARTS: Pattern = pattern!(
        r#"(?x) [.\-*)\]>]+/+ | (?<path>\b{start-half} (?:/[\w./] | ~/ | [A-Za-z]:\\) [^\s"'`()\[\]{}<>,;:|=]*)
        | (?<uuid>(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}) | (?<word>\w+)"#
    );
    // A number in a word; a time, a version or an address of several numbers; white space.
    static DIGITS: Pattern = pattern!("[0-9]+");
    static JOINED: Pattern = pattern!("#(?:[-.:,+/ ]?#)+");
    let text = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let text =
        PARTS.replace_all(&text, |parts: &Captures<'_>| match (parts.name("path"), parts.name("word")) {
            (Some(_), _) => "<path>".to_string(),
            (None, Some(word)) if varies(word.as_str()) => "#".to_string(),
            (None, Some(word)) => DIGITS.replace_all(word.as_str(), "#").into_owned(),
            (None, None) if parts.name("uuid").is_some() => "#".to_string(),
            (None, None) => parts[0].to_string(),
        });
    JOINED.replace_all(&text, "#").into_owned()
}

/// Returns true for a number with a unit, a hash, part of a date, or a temporary name.
fn varies(word: &str) -> bool {
    const DATES: &str = "Mon Tue Wed Thu Fri Sat Sun Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec";
    let bytes = word.as_bytes();
    let is_hex = word.len() >= 6 && bytes.iter().all(u8::is_ascii_hexdigit);
    bytes[0].is_ascii_digit()
        || is_hex && bytes.iter().any(u8::is_ascii_digit)
        || word.len() == 3 && DATES.split(' ').any(|date| date == word)
        || word.len() >= 9 && word.starts_with("tmp")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varying_parts_are_removed() {
        assert_eq!(stable("left: 5, took 12.5ms"), "left: #, took #");
        assert_eq!(stable("left: 512, took 1m30s"), "left: #, took #");
        assert_eq!(stable("at 0x7f3a4d11e7d0 in thread-12"), "at # in thread-#");
        assert_eq!(stable("no file `/tmp/.tmpAbc123/x y`"), "no file `<path> y`");
        assert_eq!(stable("C:\\Users\\ann\\x.txt: gone"), "<path>: gone");
        assert_eq!(stable("id 550e8400-e29b-41d4-a716-446655440000!"), "id #!");
        assert_eq!(stable("commit 59807616e1fa2540724b at 2026-01-01 10:00:00.5"), "commit # at #");
        assert_eq!(stable("127.0.0.1:39211 refused"), "# refused");
        assert_eq!(stable("Mon Jan 12 10:00:00 2026 x"), "# x");
        assert_eq!(stable("src/lib.rs and a/b stay"), "src/lib.rs and a/b stay");
        assert_eq!(stable("é   ü"), "é ü");
    }
}
