//! Locates conflicts inside a file: the lines on each side, and both versions with the common base.
//!
//! Git leaves conflict markers in the merged file. The line numbers in a branch's own file are found by comparing that
//! file with the merged one in which this branch has won.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::ClashFile;
use super::merges::{FileConflict, MergePair, MergeResult};
use crate::{Git, GitError};

/// Larger files are reported without line numbers.
const LARGE: usize = 256 * 1024;
/// Most conflicts that are reported per file.
const HUNKS: usize = 50;
/// Most files that are examined at a time.
const AT_ONCE: usize = 1000;
/// Most bytes of a conflict that are shown.
const SHOWN: usize = 16 * 1024;

/// A range of lines: the number of the first line, from 1, and the count. If the count is 0, the number is that of the
/// line behind the gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lines {
    pub first: u32,
    pub count: u32,
}

/// One conflict between two branches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// The lines in the file of the first branch.
    pub a: Lines,
    /// The lines in the file of the second branch.
    pub b: Lines,
}

/// A file in conflict, with the text of its conflicts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    pub file: ClashFile,
    /// For each conflict both versions and the base, between git's markers.
    pub places: Vec<String>,
}

/// Returns the files of each conflicting merge, with the lines in conflict.
pub(super) async fn located(
    git: &Git,
    merges: &[(&MergePair, &MergeResult)],
) -> Result<Vec<Vec<ClashFile>>, GitError> {
    let texts = texts(git, merges).await?;
    let mut texts = texts.into_iter();
    Ok(merges
        .iter()
        .map(|(question, merged)| {
            let file = |conflict: &FileConflict| {
                let mut file = conflict.file();
                if let Some(Some(texts)) = texts.next() {
                    file.hunks = places(question, &texts).into_iter().map(|place| place.hunk).collect();
                }
                file
            };
            merged.conflicts.iter().map(file).collect()
        })
        .collect())
}

/// Returns the same for one merge, with the text of the lines.
pub(super) async fn excerpts(
    git: &Git,
    question: &MergePair,
    merged: &MergeResult,
) -> Result<Vec<Excerpt>, GitError> {
    let texts = texts(git, &[(question, merged)]).await?;
    let excerpt = |(conflict, texts): (&FileConflict, Option<ConflictTexts>)| {
        let found = texts.map(|texts| places(question, &texts)).unwrap_or_default();
        let mut file = conflict.file();
        let mut shown = vec![];
        for place in found {
            file.hunks.push(place.hunk);
            shown.push(place.text);
        }
        Excerpt { file, places: shown }
    };
    Ok(merged.conflicts.iter().zip(texts).map(excerpt).collect())
}

/// The merged file, and the version of each side.
struct ConflictTexts {
    merged: Vec<u8>,
    a: Vec<u8>,
    b: Vec<u8>,
}

/// Reads the texts of all files in conflict, in order. `None` for those without lines or too large.
async fn texts(
    git: &Git,
    merges: &[(&MergePair, &MergeResult)],
) -> Result<Vec<Option<ConflictTexts>>, GitError> {
    let conflicts: Vec<(&str, &FileConflict)> = merges
        .iter()
        .flat_map(|(_, merged)| merged.conflicts.iter().map(|conflict| (merged.tree.as_str(), conflict)))
        .collect();
    let mut all: Vec<Option<ConflictTexts>> = conflicts.iter().map(|_| None).collect();
    let mut asked: Vec<(usize, [String; 3])> = vec![];
    for (at, (tree, conflict)) in conflicts.iter().enumerate() {
        if let (true, Some(a), Some(b)) = (conflict.exact, &conflict.a, &conflict.b) {
            asked.push((at, [format!("{tree}:{}", conflict.path), a.clone(), b.clone()]));
        }
    }
    asked.truncate(AT_ONCE);
    if asked.is_empty() {
        return Ok(all);
    }
    let input = |asked: &[(usize, [String; 3])]| -> String {
        asked.iter().flat_map(|(_, names)| names).map(|name| format!("{name}\n")).collect()
    };
    let sizes =
        git.read_with(&["cat-file", "--batch-check=%(objecttype) %(objectsize)"], &input(&asked)).await?;
    let small = |line: &str| {
        let size = line.strip_prefix("blob ").and_then(|size| size.parse::<usize>().ok());
        size.is_some_and(|size| size <= LARGE)
    };
    let sizes: Vec<bool> = sizes.lines().map(small).collect();
    let mut nth = 0;
    asked.retain(|_| {
        nth += 3;
        sizes.get(nth - 3..nth).is_some_and(|sizes| sizes.iter().all(|small| *small))
    });
    let output = git.read_bytes_with(&["cat-file", "--batch"], &input(&asked)).await?;
    let mut contents = contents(&output).into_iter();
    for (at, _) in asked {
        let (Some(merged), Some(a), Some(b)) = (contents.next(), contents.next(), contents.next()) else {
            break;
        };
        all[at] = Some(ConflictTexts { merged, a, b });
    }
    Ok(all)
}

/// Parses `cat-file --batch`: for each object an id, a kind and a size on a line, then the content and a line end.
fn contents(mut output: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![];
    while let Some(end) = output.iter().position(|byte| *byte == b'\n') {
        let size = String::from_utf8_lossy(&output[..end]);
        let Some(size) = size.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok()) else { break };
        let Some(content) = output.get(end + 1..end + 1 + size) else { break };
        all.push(content.to_vec());
        output = output.get(end + 2 + size..).unwrap_or_default();
    }
    all
}

/// A conflict and its text.
#[derive(Debug, PartialEq, Eq)]
struct ConflictPlace {
    hunk: Hunk,
    text: String,
}

fn places(question: &MergePair, texts: &ConflictTexts) -> Vec<ConflictPlace> {
    let merged = lines(&texts.merged);
    let marks = marks(question, &merged);
    if marks.is_empty() {
        return vec![];
    }
    let in_a = numbers(&lines(&texts.a), &merged, &marks, |mark| (mark.start + 1, mark.base));
    let in_b = numbers(&lines(&texts.b), &merged, &marks, |mark| (mark.middle + 1, mark.end));
    let hunks = in_a.into_iter().zip(in_b).map(|(a, b)| Hunk { a, b });
    hunks
        .zip(&marks)
        .take(HUNKS)
        .map(|(hunk, mark)| ConflictPlace { hunk, text: mark.text(&merged) })
        .collect()
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The line indexes of the markers of a conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ConflictMarks {
    start: usize,
    base: usize,
    middle: usize,
    end: usize,
}

impl ConflictMarks {
    fn text(&self, merged: &[&[u8]]) -> String {
        let text = String::from_utf8_lossy(&merged[self.start..=self.end].concat()).into_owned();
        let cut = (0..=SHOWN.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        if cut < text.len() { format!("{}\n[…]\n", &text[..cut]) } else { text }
    }
}

/// Finds the markers. The first and the last name the commits, which no file contains by chance; their length can be
/// configured, and those in between have the same length.
fn marks(question: &MergePair, merged: &[&[u8]]) -> Vec<ConflictMarks> {
    let names = |line: &[u8], mark: u8, name: &str| {
        let long = line.iter().take_while(|byte| **byte == mark).count();
        let rest = &line[long..];
        (long > 0 && rest.first() == Some(&b' ') && rest[1..].starts_with(name.as_bytes())).then_some(long)
    };
    let is = |line: &[u8], mark: u8, long: usize| {
        line.iter().take_while(|byte| **byte == mark).count() == long
            && matches!(line.get(long), None | Some(b' ' | b'\n' | b'\r'))
    };
    let mut all = vec![];
    let mut at = 0;
    while at < merged.len() {
        let start = at;
        at += 1;
        let Some(long) = names(merged[start], b'<', &question.a) else { continue };
        let find =
            |from: usize, fits: &dyn Fn(&[u8]) -> bool| (from..merged.len()).find(|at| fits(merged[*at]));
        let base = find(at, &|line| is(line, b'|', long));
        let middle = base.and_then(|base| find(base + 1, &|line| is(line, b'=', long)));
        let end = middle.and_then(|middle| {
            find(middle + 1, &|line| names(line, b'>', &question.b).is_some_and(|its| its == long))
        });
        if let (Some(base), Some(middle), Some(end)) = (base, middle, end) {
            all.push(ConflictMarks { start, base, middle, end });
            at = end + 1;
        }
    }
    all
}

/// Returns the line range of each conflict in the file of one side.
fn numbers(
    own: &[&[u8]],
    merged: &[&[u8]],
    marks: &[ConflictMarks],
    part: impl Fn(&ConflictMarks) -> (usize, usize),
) -> Vec<Lines> {
    // The merged file in which this side has won, and the positions of its parts in it.
    let mut won: Vec<&[u8]> = vec![];
    let mut parts = vec![];
    let mut from = 0;
    for mark in marks {
        won.extend(&merged[from..mark.start]);
        let (first, end) = part(mark);
        parts.push((won.len(), end - first));
        won.extend(&merged[first..end]);
        from = mark.end + 1;
    }
    won.extend(&merged[from..]);
    let ops = capture_diff_slices(Algorithm::Myers, &won, own);
    let place = |line: usize| {
        let op = ops.iter().find(|op| op.old_range().contains(&line));
        match op {
            Some(DiffOp::Equal { old_index, new_index, .. }) => new_index + (line - old_index),
            Some(op) => op.new_range().start,
            None => own.len(),
        }
    };
    let number = |line: usize| u32::try_from(line).unwrap_or(u32::MAX);
    parts
        .into_iter()
        .map(|(start, count)| Lines { first: number(place(start)).saturating_add(1), count: number(count) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> MergePair {
        MergePair { base: None, a: "aaaa".into(), b: "bbbb".into() }
    }

    #[test]
    fn lines_are_counted_in_each_side_s_own_file() {
        // The other side has put two lines in front, which merges cleanly.
        let texts = ConflictTexts {
            merged:
                b"new\nnew\n1\n<<<<<<< aaaa\ntwo\n||||||| base\n2\n=======\nTWO\nand more\n>>>>>>> bbbb\n3\n"
                    .into(),
            a: b"1\ntwo\n3\n".into(),
            b: b"new\nnew\n1\nTWO\nand more\n3\n".into(),
        };
        let found = places(&question(), &texts);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].hunk.a, Lines { first: 2, count: 1 });
        assert_eq!(found[0].hunk.b, Lines { first: 4, count: 2 });
        assert!(found[0].text.starts_with("<<<<<<< aaaa\ntwo\n|||||||"), "{}", found[0].text);
        assert!(found[0].text.ends_with(">>>>>>> bbbb\n"));
    }

    #[test]
    fn a_side_that_deleted_the_lines_has_none() {
        let texts = ConflictTexts {
            merged: b"1\n<<<<<<< aaaa:f\n||||||| base:f\n2\n=======\nTWO\n>>>>>>> bbbb:g\n3\n".into(),
            a: b"1\n3\n".into(),
            b: b"1\nTWO\n3\n".into(),
        };
        let found = places(&question(), &texts);
        assert_eq!(found[0].hunk.a, Lines { first: 2, count: 0 });
        assert_eq!(found[0].hunk.b, Lines { first: 2, count: 1 });
    }

    #[test]
    fn marks_that_a_file_has_itself_are_none_of_ours() {
        let text = b"<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> other\n<<<<<<<<< aaaa\n=======\n||||||||| b\n=========\n>>>>>>>>> bbbb\n";
        let found = marks(&question(), &lines(text));
        assert_eq!(found, [ConflictMarks { start: 5, base: 7, middle: 8, end: 9 }]);
    }
}
