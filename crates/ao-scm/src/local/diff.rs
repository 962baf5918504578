//! The change of a pull request: as a patch, and as numbers.

use ao_core::Commit;
use ao_core::pull::ChangeSize;
use ao_git::GitError;

use super::repository::LocalRepository;

impl LocalRepository {
    /// Returns the change as a patch. If it is longer than `limit`, returns exactly so many bytes, which end with a
    /// note.
    pub(super) async fn diff(&self, fork: &Commit, head: &Commit, limit: usize) -> Result<String, GitError> {
        let args = [&PATCH[..], &[fork.as_str(), head.as_str()]].concat();
        Ok(bounded(self.git.read_bytes(&args, limit.saturating_add(1)).await?, limit))
    }

    /// Returns the patch with every file as text. One byte, or a line in `.gitattributes`, makes a file binary for
    /// git, and a scan of the change must not be evaded by either.
    pub(super) async fn diff_as_text(
        &self,
        fork: &Commit,
        head: &Commit,
        limit: usize,
    ) -> Result<String, GitError> {
        let args = [&PATCH[..], &["--text", fork.as_str(), head.as_str()]].concat();
        Ok(bounded(self.git.read_bytes(&args, limit.saturating_add(1)).await?, limit))
    }

    /// Returns the size since the merge base of two commits; `None` if there are several, or none.
    pub(super) async fn size_since_parting(&self, base: &Commit, head: &Commit) -> Option<ChangeSize> {
        self.measured(&["--merge-base", base.as_str(), head.as_str()]).await.ok()
    }

    /// Returns the touched files and the number of lines.
    pub(super) async fn size(&self, fork: &Commit, head: &Commit) -> Result<ChangeSize, GitError> {
        self.measured(&[fork.as_str(), head.as_str()]).await
    }

    async fn measured(&self, between: &[&str]) -> Result<ChangeSize, GitError> {
        let args = ["diff-tree", "-r", "--numstat", "-z", "-M", "--no-ext-diff", "--no-textconv"];
        let output = self.git.read(&[&args[..], between].concat()).await?;
        let (mut size, binary) = numbers(&output);
        if binary {
            // Git reports no line counts for binary files, so count them here.
            let args = [&PATCH[..], &["--text", "--unified=0"], between].concat();
            let patch = self.git.read_bytes(&args, COUNTED).await?;
            (size.added, size.removed) = lines(&patch);
            if patch.len() >= COUNTED {
                size.added = size.added.max(UNCOUNTED);
            }
        }
        Ok(size)
    }
}

/// The plumbing command, because the user's diff settings do not affect it.
const PATCH: [&str; 9] = [
    "diff-tree",
    "-p",
    "-M",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// The most bytes in which lines of binary files are counted.
const COUNTED: usize = 32 << 20;
/// Line count of a longer change, which exceeds any limit, because the rest is unknown.
const UNCOUNTED: u64 = u32::MAX as u64;

/// Marks a text that is not complete. Lines with a backslash are not part of a change.
const CUT: &str = "\\ the diff is longer, and is cut here";

fn bounded(bytes: Vec<u8>, limit: usize) -> String {
    let text =
        String::from_utf8(bytes).unwrap_or_else(|err| String::from_utf8_lossy(err.as_bytes()).into_owned());
    if text.len() <= limit {
        // A text as long as the limit would look like one that was cut; a complete one can spare its last newline.
        return match text.len() == limit {
            true => text.trim_end_matches('\n').to_owned(),
            false => text,
        };
    }
    let room = text.floor_char_boundary(limit.saturating_sub(CUT.len() + 2));
    // Break a line that is longer than a screen instead of leaving it out.
    let end = match text[..room].rfind('\n') {
        Some(newline) if room - newline < 4096 => newline + 1,
        _ => room,
    };
    let mut cut = text[..end].to_owned();
    if !cut.ends_with('\n') {
        cut.push('\n');
    }
    cut.push_str(CUT);
    while cut.len() + 1 < limit {
        cut.push(' ');
    }
    cut.push('\n');
    cut.truncate(limit);
    cut
}

/// Parses `3\t1\tpath\0`, and of a renamed file `3\t1\t\0old\0new\0`. Binary files have `-` for numbers; returns true
/// beside the size if there are any.
fn numbers(output: &str) -> (ChangeSize, bool) {
    let (mut size, mut binary) = (ChangeSize::default(), false);
    let mut fields = output.split('\0');
    while let Some(field) = fields.next() {
        let mut parts = field.splitn(3, '\t');
        let (Some(added), Some(removed), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        match (added.parse::<u64>(), removed.parse::<u64>()) {
            (Ok(added), Ok(removed)) => {
                (size.added, size.removed) = (size.added + added, size.removed + removed);
            }
            _ => binary = true,
        }
        match path {
            "" => size.files.extend(fields.by_ref().take(2).map(str::to_owned)),
            path => size.files.push(path.to_owned()),
        }
    }
    size.files.sort();
    size.files.dedup();
    (size, binary)
}

/// Counts the lines that a patch without context adds and removes, by the hunk headers: `@@ -1,2 +3 @@`. The lines
/// inside hunks can look like anything.
fn lines(patch: &[u8]) -> (u64, u64) {
    let (mut added, mut removed, mut inside) = (0, 0, 0);
    for line in patch.split(|byte| *byte == b'\n') {
        if inside > 0 {
            // `\ No newline at end of file` is no line of either file.
            inside -= u64::from(line.first() != Some(&b'\\'));
        } else if let Some((old, new)) = hunk(line) {
            (added, removed, inside) = (added + new, removed + old, old + new);
        }
    }
    (added, removed)
}

fn hunk(line: &[u8]) -> Option<(u64, u64)> {
    let line = str::from_utf8(line.strip_prefix(b"@@ -")?.split(|byte| *byte == b'@').next()?).ok()?;
    let (old, new) = line.trim_end().split_once(" +")?;
    let count = |range: &str| range.split_once(',').map_or(Some(1), |(_, count)| count.parse().ok());
    Some((count(old)?, count(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_counted_and_a_renamed_one_has_both_names() {
        let (size, binary) = numbers("3\t1\tsrc/a b\0-\t-\tlogo.png\x002\t0\t\0old\0new\0");
        assert_eq!(size.files, ["logo.png", "new", "old", "src/a b"]);
        assert_eq!((size.added, size.removed, binary), (5, 1, true));
        assert!(!numbers("3\t1\ta\0").1);
    }

    #[test]
    fn lines_of_a_patch_are_counted_whatever_they_look_like() {
        let patch =
            b"+++ b/a\n@@ -1 +1,2 @@ fn a@b\n-x\n+@@ -9,9 +9,9 @@\n+\xff\0\n\\ No newline at end of file\n\
            diff --git a/b b/b\n--- a/b\n+++ b/b\n@@ -4,2 +3,0 @@\n-+\n--\n";
        assert_eq!(lines(patch), (2, 3));
        assert_eq!(lines(b""), (0, 0));
    }

    #[test]
    fn a_long_diff_has_exactly_the_length_that_was_asked_for() {
        let long = "+line\n".repeat(1000);
        for limit in [0, 10, 100, 101, 777, 5999] {
            let cut = bounded(long.clone().into_bytes(), limit);
            assert_eq!(cut.len(), limit);
            assert!(limit < 60 || cut.trim_end().ends_with("cut here"), "{cut}");
        }
        assert!(bounded(long.clone().into_bytes(), 6000).len() < 6000, "whole, and shorter than the limit");
        assert_eq!(bounded(long.clone().into_bytes(), 7000), long);
        assert_eq!(bounded("é".repeat(500).into_bytes(), 301).len(), 301);
    }
}
