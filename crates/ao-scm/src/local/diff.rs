//! What a pull request changes: as a text, and as numbers.

use ao_core::Commit;
use ao_core::pull::ChangeSize;
use ao_git::GitError;

use super::repository::Repository;

impl Repository {
    /// The change as git tells it. If it is longer than `limit`, exactly so many bytes, which end with a line that says so.
    pub(super) async fn diff(&self, fork: &Commit, head: &Commit, limit: usize) -> Result<String, GitError> {
        // The plumbing command, because the user's taste for diffs does not reach it.
        let args = [
            "diff-tree",
            "-p",
            "-M",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--submodule=short",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            fork.as_str(),
            head.as_str(),
        ];
        Ok(bounded(self.git.read_bytes(&args, limit.saturating_add(1)).await?, limit))
    }

    /// The same since two commits parted, whatever that commit is; `None` if there are several, or none.
    pub(super) async fn size_since_parting(&self, base: &Commit, head: &Commit) -> Option<ChangeSize> {
        let args =
            ["diff-tree", "-r", "--numstat", "-z", "-M", "--no-ext-diff", "--no-textconv", "--merge-base"];
        let told = self.git.read(&[&args[..], &[base.as_str(), head.as_str()]].concat()).await;
        told.ok().map(|told| numbers(&told))
    }

    /// Every file that it touches, and how many lines.
    pub(super) async fn size(&self, fork: &Commit, head: &Commit) -> Result<ChangeSize, GitError> {
        let args = ["diff-tree", "-r", "--numstat", "-z", "-M", "--no-ext-diff", "--no-textconv"];
        let told = self.git.read(&[&args[..], &[fork.as_str(), head.as_str()]].concat()).await?;
        Ok(numbers(&told))
    }
}

/// A text that ends with this is not whole. Lines with a backslash are no part of what a diff changes.
const CUT: &str = "\\ the diff is longer, and is cut here";

fn bounded(bytes: Vec<u8>, limit: usize) -> String {
    let text =
        String::from_utf8(bytes).unwrap_or_else(|err| String::from_utf8_lossy(err.as_bytes()).into_owned());
    if text.len() <= limit {
        // A text as long as the limit would pass for one that was cut, and one that is not can spare its last newline.
        return match text.len() == limit {
            true => text.trim_end_matches('\n').to_owned(),
            false => text,
        };
    }
    let room = limit.saturating_sub(CUT.len() + 2);
    let room = (0..=room).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    // A line that is longer than a screen is rather broken than left out.
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

/// Reads `3\t1\tpath\0`, and of a renamed file `3\t1\t\0old\0new\0`. Binary files have `-` for numbers.
fn numbers(told: &str) -> ChangeSize {
    let mut size = ChangeSize::default();
    let mut fields = told.split('\0');
    while let Some(field) = fields.next() {
        let mut parts = field.splitn(3, '\t');
        let (Some(added), Some(removed), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        size.added += added.parse().unwrap_or(0);
        size.removed += removed.parse().unwrap_or(0);
        match path {
            "" => size.files.extend(fields.by_ref().take(2).map(str::to_owned)),
            path => size.files.push(path.to_owned()),
        }
    }
    size.files.sort();
    size.files.dedup();
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_are_counted_and_a_renamed_one_has_both_names() {
        let size = numbers("3\t1\tsrc/a b\0-\t-\tlogo.png\x002\t0\t\0old\0new\0");
        assert_eq!(size.files, ["logo.png", "new", "old", "src/a b"]);
        assert_eq!((size.added, size.removed), (5, 1));
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
