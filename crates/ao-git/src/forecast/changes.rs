//! The paths that a branch has changed, and whether two sets of changes can conflict at all.
//!
//! Two branches that parted at one commit are merged path by path, so that only these can conflict:
//!
//! - a path that both have changed: edited, deleted, made executable, moved to another commit of a submodule. A renamed file
//!   counts with both its names, so that a rename on one side and an edit, a deletion or another rename of the same file on
//!   the other have the old name in common, and two files that get the same name have that;
//! - a path that one side has changed into a file and below which the other has files of its own;
//! - a folder that one side has emptied, and into which the other puts a file: git takes that for a renamed folder.
//!
//! Git takes everything else from the one side that changed it, so pairs with none of these cases are not merged. A
//! test of this crate merges all pairs of many random repositories and compares the results.

use std::collections::HashSet;

use crate::{Git, GitError};

const TREE: &[u8] = b"040000";
const NOTHING: &[u8] = b"000000";

/// File names as git stores them, in bytes.
type PathSet = HashSet<Box<[u8]>>;

/// The changes of a branch since its merge base.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct BranchChanges {
    paths: PathSet,
    /// The parent folders of the paths, up to the root and without it.
    folders: PathSet,
    /// The parent folders of the paths that are new.
    receiving: PathSet,
    /// Folders that no longer exist.
    gone: PathSet,
}

impl BranchChanges {
    /// Returns true if merging the two may conflict; false only if it cannot.
    pub(super) fn can_clash_with(&self, other: &BranchChanges) -> bool {
        meet(&self.paths, &other.paths)
            || meet(&self.paths, &other.folders)
            || meet(&self.folders, &other.paths)
            || meet(&self.gone, &other.receiving)
            || meet(&self.receiving, &other.gone)
    }

    /// Returns the first `most` paths in order. Bytes that are not UTF-8 are replaced.
    pub(super) fn named(&self, most: usize) -> Vec<String> {
        let mut paths: Vec<String> =
            self.paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        paths.sort_unstable();
        paths.truncate(most);
        paths
    }

    fn add(&mut self, before: &[u8], after: &[u8], path: &[u8]) {
        if before == TREE && after != TREE {
            self.gone.insert(path.into());
        }
        // A folder is described by its files, which are listed themselves.
        if matches!((before, after), (TREE, TREE) | (TREE, NOTHING) | (NOTHING, TREE)) {
            return;
        }
        self.paths.insert(path.into());
        for folder in folders(path) {
            self.folders.insert(folder.into());
            if before == NOTHING || before == TREE {
                self.receiving.insert(folder.into());
            }
        }
    }
}

fn meet(one: &PathSet, other: &PathSet) -> bool {
    let (few, many) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    few.iter().any(|path| many.contains(path))
}

/// Returns the parent folders of a path.
fn folders(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

/// Lists the changes between many pairs of base and tip, with one process.
pub(super) async fn all(git: &Git, pairs: &[(String, String)]) -> Result<Vec<BranchChanges>, GitError> {
    if pairs.is_empty() {
        return Ok(vec![]);
    }
    // A commit, and the commit to take for its parent.
    let input: String = pairs.iter().map(|(base, tip)| format!("{tip} {base}\n")).collect();
    let args = ["diff-tree", "--stdin", "-r", "-t", "-z", "--raw", "--no-renames", "--no-abbrev", "--always"];
    let output = git.read_bytes_with(&args, &input).await?;
    let found = parse(&output);
    if found.len() == pairs.len() {
        return Ok(found);
    }
    let why = format!("it listed {} of {} differences", found.len(), pairs.len());
    Err(git.failure(args.join(" "), why))
}

/// Parses the output: each difference begins with the commit; then come, for each path, modes, ids and a letter, and
/// the path.
fn parse(output: &[u8]) -> Vec<BranchChanges> {
    let mut all: Vec<BranchChanges> = vec![];
    let mut fields = output.split(|byte| *byte == 0);
    while let Some(field) = fields.next() {
        if let Some(entry) = field.strip_prefix(b":") {
            let mut modes = entry.split(|byte| *byte == b' ');
            let (before, after) = (modes.next().unwrap_or_default(), modes.next().unwrap_or_default());
            if let (Some(changes), Some(path)) = (all.last_mut(), fields.next()) {
                changes.add(before, after, path);
            }
        } else if !field.is_empty() {
            all.push(BranchChanges::default());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(entries: &[(&str, &str, &str)]) -> BranchChanges {
        let mut changes = BranchChanges::default();
        for (before, after, path) in entries {
            changes.add(before.as_bytes(), after.as_bytes(), path.as_bytes());
        }
        changes
    }

    #[test]
    fn only_changes_that_can_conflict_are_merged() {
        let edits = |path| changes(&[("040000", "040000", "d"), ("100644", "100644", path)]);
        let adds = |path| changes(&[("000000", "100644", path)]);
        let moves = changes(&[
            ("040000", "000000", "d"),
            ("100644", "000000", "d/f"),
            ("000000", "040000", "e"),
            ("000000", "100644", "e/f"),
        ]);
        for (a, b, can) in [
            (edits("d/f"), edits("d/f"), true),
            (edits("d/f"), edits("d/g"), false),
            (edits("d/f"), adds("d/h"), false),
            (adds("x"), adds("x/y"), true),
            (moves.clone(), edits("d/f"), true),
            (moves.clone(), adds("d/new"), true),
            (moves.clone(), adds("d/sub/new"), true),
            (moves.clone(), adds("e/new"), false),
            (moves, adds("other"), false),
        ] {
            assert_eq!(a.can_clash_with(&b), can, "{a:?} {b:?}");
            assert_eq!(b.can_clash_with(&a), can, "{b:?} {a:?}");
        }
    }

    #[test]
    fn differences_are_parsed_one_after_another() {
        let zero = "0".repeat(40);
        let output = format!(
            "aaa\0:040000 040000 {zero} {zero} M\0d\0:100644 100644 {zero} {zero} M\0d/:f\0bbb\0ccc\0:000000 100644 {zero} {zero} A\0g\0"
        );
        let found: Vec<Vec<String>> =
            parse(output.as_bytes()).iter().map(|changes| changes.named(9)).collect();
        assert_eq!(found, [vec!["d/:f".to_owned()], vec![], vec!["g".to_owned()]]);
    }
}
