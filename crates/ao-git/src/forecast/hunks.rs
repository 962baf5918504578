//! Where in a file two branches do not agree: the lines of each, and both versions with what was there before.
//!
//! Git leaves its marks in the merged file. Which lines of a branch's own file they are about is found by comparing that
//! file with the merged one in which this branch has won.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::ClashFile;
use super::merges::{Conflict, Merged, Question};
use crate::{Git, GitError};

/// Larger files are told without their lines.
const LARGE: usize = 256 * 1024;
/// So many places of one file are told.
const HUNKS: usize = 50;
/// So many files are looked into at one time.
const AT_ONCE: usize = 1000;
/// So much of one place is shown.
const SHOWN: usize = 16 * 1024;

/// Lines of a file: the first one's number, from 1, and how many. If there are none, the number is that of the line that
/// they would stand before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lines {
    pub first: u32,
    pub count: u32,
}

/// A place that two branches do not agree on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// In the file as the one branch has it.
    pub a: Lines,
    /// As the other one does.
    pub b: Lines,
}

/// What two branches do not agree on in a file, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    pub file: ClashFile,
    /// For each place both versions with what was there before, between git's marks.
    pub places: Vec<String>,
}

/// The files of each conflict with the lines that it is about.
pub(super) async fn located(
    git: &Git,
    merges: &[(&Question, &Merged)],
) -> Result<Vec<Vec<ClashFile>>, GitError> {
    let texts = texts(git, merges).await?;
    let mut texts = texts.into_iter();
    Ok(merges
        .iter()
        .map(|(question, merged)| {
            let file = |conflict: &Conflict| {
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

/// The same for one conflict, with what the lines say.
pub(super) async fn excerpts(
    git: &Git,
    question: &Question,
    merged: &Merged,
) -> Result<Vec<Excerpt>, GitError> {
    let texts = texts(git, &[(question, merged)]).await?;
    let excerpt = |(conflict, texts): (&Conflict, Option<Texts>)| {
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

/// A file merged, and as each side has it.
struct Texts {
    merged: Vec<u8>,
    a: Vec<u8>,
    b: Vec<u8>,
}

/// The texts of all files in conflict, one after another, if they have lines and not too many.
async fn texts(git: &Git, merges: &[(&Question, &Merged)]) -> Result<Vec<Option<Texts>>, GitError> {
    let conflicts: Vec<(&str, &Conflict)> = merges
        .iter()
        .flat_map(|(_, merged)| merged.conflicts.iter().map(|conflict| (merged.tree.as_str(), conflict)))
        .collect();
    let mut all: Vec<Option<Texts>> = conflicts.iter().map(|_| None).collect();
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
    let told = git.read_bytes_with(&["cat-file", "--batch"], &input(&asked)).await?;
    let mut contents = contents(&told).into_iter();
    for (at, _) in asked {
        let (Some(merged), Some(a), Some(b)) = (contents.next(), contents.next(), contents.next()) else {
            break;
        };
        all[at] = Some(Texts { merged, a, b });
    }
    Ok(all)
}

/// Each is an id, a kind and a size on a line, then the content and the end of a line.
fn contents(mut told: &[u8]) -> Vec<Vec<u8>> {
    let mut all = vec![];
    while let Some(end) = told.iter().position(|byte| *byte == b'\n') {
        let size = String::from_utf8_lossy(&told[..end]);
        let Some(size) = size.rsplit(' ').next().and_then(|size| size.parse::<usize>().ok()) else { break };
        let Some(content) = told.get(end + 1..end + 1 + size) else { break };
        all.push(content.to_vec());
        told = told.get(end + 2 + size..).unwrap_or_default();
    }
    all
}

/// A place with what it says.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    hunk: Hunk,
    text: String,
}

fn places(question: &Question, texts: &Texts) -> Vec<Place> {
    let merged = lines(&texts.merged);
    let marks = marks(question, &merged);
    if marks.is_empty() {
        return vec![];
    }
    let in_a = numbers(&lines(&texts.a), &merged, &marks, |mark| (mark.start + 1, mark.base));
    let in_b = numbers(&lines(&texts.b), &merged, &marks, |mark| (mark.middle + 1, mark.end));
    let hunks = in_a.into_iter().zip(in_b).map(|(a, b)| Hunk { a, b });
    hunks.zip(&marks).take(HUNKS).map(|(hunk, mark)| Place { hunk, text: mark.text(&merged) }).collect()
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Where the marks of a conflict are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks {
    start: usize,
    base: usize,
    middle: usize,
    end: usize,
}

impl Marks {
    fn text(&self, merged: &[&[u8]]) -> String {
        let text = String::from_utf8_lossy(&merged[self.start..=self.end].concat()).into_owned();
        let cut = (0..=SHOWN.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        if cut < text.len() { format!("{}\n[…]\n", &text[..cut]) } else { text }
    }
}

/// Finds the marks. The first and the last name the commits, which no file has in it by chance; how long they are can be
/// configured, and those in between are as long.
fn marks(question: &Question, merged: &[&[u8]]) -> Vec<Marks> {
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
            all.push(Marks { start, base, middle, end });
            at = end + 1;
        }
    }
    all
}

/// Which lines of a side's own file its part of each conflict is.
fn numbers(
    own: &[&[u8]],
    merged: &[&[u8]],
    marks: &[Marks],
    part: impl Fn(&Marks) -> (usize, usize),
) -> Vec<Lines> {
    // The merged file in which this side has won, and where its parts are in it.
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

    fn question() -> Question {
        Question { base: None, a: "aaaa".into(), b: "bbbb".into() }
    }

    #[test]
    fn lines_are_counted_in_each_side_s_own_file() {
        // The other side has put two lines in front, which merges cleanly.
        let texts = Texts {
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
        let texts = Texts {
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
        assert_eq!(found, [Marks { start: 5, base: 7, middle: 8, end: 9 }]);
    }
}
