//! Maps a line of a file to its position after a change. Pure: hunks in, lines out.

/// One difference between two versions of a file, from a header `@@ -old,old_count +new,new_count @@` without
/// context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineHunk {
    /// The first line that is gone; the line before the new ones, if none is.
    pub(super) old: u32,
    pub(super) old_count: u32,
    pub(super) new_count: u32,
}

/// Returns the position of a line in the new version; `None` if it has changed or is gone.
pub(super) fn follow(line: u32, hunks: &[LineHunk]) -> Option<u32> {
    let mut moved = i64::from(line);
    for hunk in hunks {
        if hunk.old_count > 0 && (hunk.old..hunk.old.saturating_add(hunk.old_count)).contains(&line) {
            return None;
        }
        if hunk.old < line {
            moved += i64::from(hunk.new_count) - i64::from(hunk.old_count);
        }
    }
    u32::try_from(moved).ok()
}

/// Parses the hunks of a diff of one file without context lines.
pub(super) fn hunks(diff: &str) -> Vec<LineHunk> {
    diff.lines().filter_map(hunk).collect()
}

/// Parses `@@ -3,2 +4 @@ fn main`. A missing count is one.
fn hunk(line: &str) -> Option<LineHunk> {
    let mut words = line.strip_prefix("@@ ")?.split(' ');
    let (old, old_count) = range(words.next()?.strip_prefix('-')?)?;
    let (_, new_count) = range(words.next()?.strip_prefix('+')?)?;
    Some(LineHunk { old, old_count, new_count })
}

fn range(text: &str) -> Option<(u32, u32)> {
    match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_follows_what_happens_around_it() {
        for (diff, line, now, what) in [
            ("", 7, Some(7), "nothing"),
            ("@@ -0,0 +1,2 @@", 1, Some(3), "lines at the top"),
            ("@@ -3,0 +4,2 @@ fn x", 3, Some(3), "lines right behind"),
            ("@@ -3,0 +4,2 @@ fn x", 4, Some(6), "lines right before"),
            ("@@ -3 +3 @@", 3, None, "it was changed"),
            ("@@ -2,3 +1,0 @@", 3, None, "it was taken away"),
            ("@@ -2,3 +1,0 @@", 5, Some(2), "lines before were taken away"),
            ("@@ -2,3 +1,0 @@", 1, Some(1), "lines behind were taken away"),
            ("@@ -1,2 +1,5 @@\n-a\n+@@ -1 +1 @@\n@@ -9 +12,0 @@", 8, Some(11), "several hunks"),
        ] {
            assert_eq!(follow(line, &hunks(diff)), now, "{what}");
        }
    }

    proptest! {
        /// Compared with a naive model: kept lines are found at their new position, others are not found.
        #[test]
        fn kept_lines_are_found(edits in prop::collection::vec((0u8..4, 0u32..3), 1..40)) {
            let (mut old, mut new, mut hunks, mut kept) = (0u32, 0u32, vec![], vec![]);
            for (gone, added) in edits {
                let gone = u32::from(gone).saturating_sub(1);
                if gone > 0 || added > 0 {
                    let start = if gone > 0 { old + 1 } else { old };
                    hunks.push(LineHunk { old: start, old_count: gone, new_count: added });
                    kept.extend((0..gone).map(|line| (old + 1 + line, None)));
                    (old, new) = (old + gone, new + added);
                }
                (old, new) = (old + 1, new + 1);
                kept.push((old, Some(new)));
            }
            for (line, now) in kept {
                prop_assert_eq!(follow(line, &hunks), now);
            }
        }
    }
}
