//! Cleans lines: no colours, the last state of a progress bar, no control characters, bounded length.

use std::borrow::Cow;

use anstream::adapter::strip_bytes;
use memchr::{memchr, memchr3};

use super::Pattern;

/// The most bytes of a clean line.
const LONGEST: usize = 2000;
/// The most bytes of a line that are cleaned; colours may take up many of them.
const LONGEST_RAW: usize = 16 * 1024;

/// Cleans a line. Borrows it where nothing has to change.
pub(super) fn clean(raw: &[u8]) -> Cow<'_, str> {
    let raw = raw.trim_ascii_end();
    if memchr3(b'\r', 0x1b, 0, raw).is_none()
        && raw.len() <= LONGEST
        && let Ok(text) = str::from_utf8(raw)
        && !text.bytes().any(|byte| byte < b' ' && byte != b'\t')
    {
        return Cow::Borrowed(without_prefix(text));
    }
    let state = raw.rsplit(|byte| *byte == b'\r').find(|state| !state.trim_ascii().is_empty()).unwrap_or(b"");
    let state = &state[..state.len().min(LONGEST_RAW)];
    let plain = strip_bytes(state).into_vec();
    let text = String::from_utf8_lossy(&plain);
    let text: String = text.chars().filter(|char| *char == '\t' || !char.is_control()).collect();
    let text = without_prefix(text.trim_end());
    Cow::Owned(shorten(text, LONGEST).into_owned())
}

/// Cuts a text to at most `limit` bytes, at a whole character, and marks the cut.
pub(super) fn shorten(text: &str, limit: usize) -> Cow<'_, str> {
    const MARK: &str = "…";
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    match limit.checked_sub(MARK.len()) {
        Some(room) => Cow::Owned(format!("{}{MARK}", &text[..text.floor_char_boundary(room)])),
        None => Cow::Borrowed(&text[..text.floor_char_boundary(limit)]),
    }
}

/// Returns the step that a downloaded log names before the line.
pub(super) fn step(raw: &[u8]) -> Option<String> {
    let head = &raw[..raw.len().min(PREFIX_LENGTH)];
    memchr(b'\t', head)?;
    Some(PREFIX.captures(&String::from_utf8_lossy(head))?.name("step")?.as_str().to_string())
}

const PREFIX_LENGTH: usize = 300;

/// The prefix that a service puts before every line: a time, perhaps in brackets, and in a downloaded log the job and
/// the step before it.
static PREFIX: Pattern = pattern!(
    r"(?x)^\u{feff}? (?:[^\t]*\t (?<step>[^\t]*)\t \u{feff}?)?
    (?:\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-][\d:]{5})?
    |\[\d{4}-\d\d-\d\d[T\ ]\d\d:\d\d:\d\d[\d.,]*(?:Z|[+-][\d:]{5})?\])\ ?"
);

fn without_prefix(text: &str) -> &str {
    let head = &text.as_bytes()[..text.len().min(PREFIX_LENGTH)];
    let may_have_one = text
        .starts_with(|char: char| char.is_ascii_digit() || matches!(char, '[' | '\u{feff}'))
        || memchr(b'\t', head).is_some();
    match may_have_one.then(|| PREFIX.find(text)).flatten() {
        Some(prefix) => &text[prefix.end()..],
        None => text.strip_prefix('\u{feff}').unwrap_or(text),
    }
}

/// Returns the number of bytes before the first that is no space.
pub(super) fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns a path relative to the root of the checkout, if it is inside.
pub(super) fn inside(path: &str, roots: &[String]) -> String {
    let path = path.strip_prefix("file://").unwrap_or(path);
    let mut path = path.replace('\\', "/");
    for root in roots {
        let root = root.trim_end_matches(['/', '\\']).replace('\\', "/");
        if !root.is_empty()
            && let Some(rest) = path.strip_prefix(&root).and_then(|rest| rest.strip_prefix('/'))
        {
            path = rest.to_string();
            break;
        }
    }
    while let Some(rest) = path.strip_prefix("./") {
        path = rest.to_string();
    }
    path
}

/// Removes the roots of the checkout from a text.
pub(super) fn without_roots(text: &str, roots: &[String]) -> String {
    let mut text = text.to_string();
    for root in roots {
        let root = root.trim_end_matches(['/', '\\']);
        if !root.is_empty() && text.contains(root) {
            text = text.replace(&format!("file://{root}/"), "").replace(&format!("{root}/"), "");
            text = text.replace(&format!("{root}\\"), "");
        }
    }
    text
}

/// Returns true if a path, or a line of a trace, belongs to the language, its runner, or a dependency.
pub(super) fn is_foreign(place: &str) -> bool {
    static SIGNS: Pattern = pattern!(concat!(
        "node_modules|node:|<anonymous>|org.junit.|org.opentest4j.|junit.framework.|org.assertj.|org.hamcrest.",
        "|java.base/|site-packages|dist-packages|lib/python|<frozen|<string>|/rustc/|/.cargo/registry/",
        "|/library/std/|/src/testing/|/src/runtime/|/usr/lib/|/usr/include/",
    ));
    SIGNS.is_match(place)
}

/// Returns true if a message only reports that something failed before.
pub(super) fn is_consequence(message: &str) -> bool {
    static SIGNS: Pattern = pattern!(concat!(
        "could not compile|test failed, to rerun|aborting due to|test run failed|exit code|exit status",
        "|build failed|targets? failed|previous error|command failed|warnings emitted",
    ));
    SIGNS.is_match(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_a_person_would_see() {
        assert_eq!(clean(b"plain\r\n"), "plain");
        assert_eq!(clean(b"\x1b[1m\x1b[31merror\x1b[0m: x\n"), "error: x");
        assert_eq!(clean(b" 10%\r 50%\r100% done\r\n"), "100% done");
        assert_eq!(clean(b"a\0b\xff\n"), "ab");
        assert_eq!(clean(b"2026-01-01T00:00:00.1234567Z error: x"), "error: x");
        assert_eq!(clean(b"build\tRun tests\t2026-01-01T00:00:00.1234567Z error: x"), "error: x");
        assert_eq!(clean(b"[2026-01-01T00:00:00+01:00] error: x"), "error: x");
        assert_eq!(clean("é".repeat(5000).as_bytes()).len(), 1999);
    }

    #[test]
    fn a_path_is_relative_to_the_root_of_the_checkout() {
        let roots = ["/tmp/a b/".to_string()];
        assert_eq!(inside("/tmp/a b/src/x.rs", &roots), "src/x.rs");
        assert_eq!(inside("/tmp/a bc/src/x.rs", &roots), "/tmp/a bc/src/x.rs");
        assert_eq!(inside("file:///tmp/a b/x.ts", &roots), "x.ts");
        assert_eq!(inside("./x.ts", &roots), "x.ts");
        assert_eq!(without_roots("in /tmp/a b/x and /tmp/a b/y", &roots), "in x and y");
    }
}
