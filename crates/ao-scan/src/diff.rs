//! Extracts the added lines from a diff in git's format.
//!
//! Hunks are read by the line counts in their headers and not by what lines look like, because an added line can look
//! like anything, including the header of another file.

/// A run of consecutive added lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AddedBlock {
    pub(crate) file: String,
    /// The number of the first line, counted from 1, in the file after the change.
    pub(crate) first_line: u32,
    pub(crate) text: String,
}

pub(crate) fn added(diff: &str) -> Vec<AddedBlock> {
    let mut blocks = vec![];
    let mut file = String::new();
    let mut lines = diff.split('\n').peekable();
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("+++ ") {
            file = path(name);
            continue;
        }
        let Some((mut old, mut new, mut number)) = hunk(line) else { continue };
        let mut open: Option<AddedBlock> = None;
        while old > 0 || new > 0 {
            let Some(line) = lines.next() else { break };
            match line.as_bytes().first() {
                Some(b'+') => {
                    // Drop zero bytes: UTF-16 text has one behind each letter, and must not hide from the rules.
                    let text = line[1..].trim_end_matches('\r').replace('\0', "");
                    match &mut open {
                        Some(block) => {
                            block.text.push('\n');
                            block.text.push_str(&text);
                        }
                        None => {
                            open = Some(AddedBlock { file: file.clone(), first_line: number, text });
                        }
                    }
                    (new, number) = (new.saturating_sub(1), number.saturating_add(1));
                }
                Some(b'-') => old = old.saturating_sub(1),
                // `\ No newline at end of file` is a line of neither file.
                Some(b'\\') => {}
                _ => {
                    blocks.extend(open.take());
                    (old, new) = (old.saturating_sub(1), new.saturating_sub(1));
                    number = number.saturating_add(1);
                }
            }
        }
        blocks.extend(open);
    }
    blocks
}

/// Parses a hunk header such as `@@ -1,2 +3,4 @@`: the line counts of the old and the new file, and the number of the
/// first new line.
fn hunk(line: &str) -> Option<(u32, u32, u32)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let range = |text: &str| -> Option<(u32, u32)> {
        match text.split_once(',') {
            Some((first, count)) => Some((first.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let ((_, old), (first, new)) = (range(old)?, range(new)?);
    Some((old, new, first))
}

/// Parses the name behind `+++ `: `b/src/a.rs`, or `"b/t\303\244.rs"` if git had to quote it.
fn path(name: &str) -> String {
    let name = name.trim_end_matches(['\r', '\t']);
    let plain = match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(quoted) => unquoted(quoted),
        None => name.to_owned(),
    };
    plain.strip_prefix("b/").map(str::to_owned).unwrap_or(plain)
}

fn unquoted(text: &str) -> String {
    let mut bytes = vec![];
    let mut rest = text.bytes().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(digit) = rest.next_if(|byte| (b'0'..=b'7').contains(byte)) {
                        value = value * 8 + u32::from(digit - b'0');
                    }
                }
                bytes.push(value as u8);
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b't') => bytes.push(b'\t'),
            Some(other) => bytes.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(diff: &str) -> Vec<String> {
        added(diff)
            .iter()
            .map(|block| format!("{}:{} {}", block.file, block.first_line, block.text))
            .collect()
    }

    #[test]
    fn added_lines_come_with_their_file_and_their_number() {
        let diff = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+two and a half\n \
                    three\n@@ -10 +11,2 @@ fn x() {\n ten\n+eleven\n\\ No newline at end of file\n";
        assert_eq!(shown(diff), ["a.rs:2 2\ntwo and a half", "a.rs:12 eleven"]);
    }

    #[test]
    fn an_added_line_that_looks_like_a_header_is_none() {
        let diff = "--- /dev/null\n+++ b/x.diff\n@@ -0,0 +1,3 @@\n++++ b/other.rs\n+@@ -1,9 +1,9 @@\n+secret\n--- a/y\n+++ b/y\n\
                    @@ -1 +1 @@\n-a\n+b\n";
        assert_eq!(shown(diff), ["x.diff:1 +++ b/other.rs\n@@ -1,9 +1,9 @@\nsecret", "y:1 b"]);
    }

    #[test]
    fn odd_names_are_read_as_git_writes_them() {
        let diff = "+++ \"b/t\\303\\244g \\\"x\\\".rs\"\n@@ -0,0 +1 @@\n+a\n";
        assert_eq!(shown(diff), ["täg \"x\".rs:1 a"]);
    }

    #[test]
    fn a_diff_that_is_cut_gives_what_is_there() {
        assert_eq!(shown("+++ b/a\n@@ -0,0 +1,100 @@\n+one\n+tw"), ["a:1 one\ntw"]);
        assert_eq!(shown("@@ -x +y @@\n+++\n@@\n"), [""; 0]);
    }
}
