//! Finds the words of a changed line that differ from the line it replaces.

use std::ops::Range;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffTag, capture_diff_slices_deadline, get_diff_ratio};

use super::parse::{DiffLine, LineKind};

/// Longer lines are generated, and their words are not compared.
const LONGEST: usize = 2000;
/// Two lines with less than this in common are unrelated.
const ALIKE: f32 = 0.4;
const VERY_ALIKE: f32 = 0.7;
/// Time limit for one pair of lines. After it, the whole line counts as changed.
const PATIENCE: Duration = Duration::from_millis(20);

/// Returns, for each line of a hunk, the byte ranges that differ from its counterpart.
pub(super) fn changed_words(lines: &[DiffLine<'_>]) -> Vec<Vec<Range<usize>>> {
    let mut changed = vec![vec![]; lines.len()];
    let mut at = 0;
    while at < lines.len() {
        let run = |from: usize, kind| lines[from..].iter().take_while(|line| line.kind == kind).count();
        let removed = run(at, LineKind::Removed);
        let added = run(at + removed, LineKind::Added);
        // If as many lines were added as removed, each most likely replaces the one in its position. Otherwise only
        // very similar lines are paired.
        let alike = if removed == added { ALIKE } else { VERY_ALIKE };
        for pair in 0..removed.min(added) {
            let (old, new) = (at + pair, at + removed + pair);
            if let Some((of_old, of_new)) = compare(lines[old].text, lines[new].text, alike) {
                (changed[old], changed[new]) = (of_old, of_new);
            }
        }
        at += (removed + added).max(1);
    }
    changed
}

type ChangedRanges = Vec<Range<usize>>;

fn compare(old: &str, new: &str, alike: f32) -> Option<(ChangedRanges, ChangedRanges)> {
    // A change of the line end is shown separately.
    let (old, new) = (old.trim_end_matches('\r'), new.trim_end_matches('\r'));
    if old.len() > LONGEST || new.len() > LONGEST || old == new {
        return None;
    }
    let (old_words, new_words) = (words(old), words(new));
    let deadline = Some(Instant::now() + PATIENCE);
    let steps = capture_diff_slices_deadline(Algorithm::Myers, &old_words, &new_words, deadline);
    if get_diff_ratio(&steps, old_words.len(), new_words.len()) < alike {
        return None;
    }
    let (old_ends, new_ends) = (ends(&old_words), ends(&new_words));
    let (mut of_old, mut of_new) = (vec![], vec![]);
    for step in steps.iter().filter(|step| step.tag() != DiffTag::Equal) {
        let (in_old, in_new) = (step.old_range(), step.new_range());
        of_old.push(old_ends[in_old.start]..old_ends[in_old.end]);
        of_new.push(new_ends[in_new.start]..new_ends[in_new.end]);
    }
    for parts in [&mut of_old, &mut of_new] {
        parts.retain(|part| !part.is_empty());
    }
    Some((of_old, of_new))
}

/// Splits a line into words: runs of letters and digits, runs of spaces, and single other characters.
fn words(line: &str) -> Vec<&str> {
    let class = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    let mut words = Vec::new();
    let mut start = 0;
    let mut before = None;
    for (at, c) in line.char_indices() {
        let class = class(c);
        if before.is_some_and(|before| before != class || class == 0) {
            words.push(&line[start..at]);
            start = at;
        }
        before = Some(class);
    }
    if start < line.len() {
        words.push(&line[start..]);
    }
    words
}

/// Returns the byte offsets at which words end.
fn ends(words: &[&str]) -> Vec<usize> {
    let mut end = 0;
    let behind = words.iter().map(|word| {
        end += word.len();
        end
    });
    std::iter::once(0).chain(behind.collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(old: &str, new: &str) -> Option<(String, String)> {
        let (of_old, of_new) = compare(old, new, ALIKE)?;
        let mark = |text: &str, parts: ChangedRanges| {
            let mut marked = text.to_owned();
            for part in parts.into_iter().rev() {
                marked.insert(part.end, ']');
                marked.insert(part.start, '[');
            }
            marked
        };
        Some((mark(old, of_old), mark(new, of_new)))
    }

    #[test]
    fn the_words_that_changed_are_found() {
        let pair = |old: &str, new: &str| Some((old.to_owned(), new.to_owned()));
        assert_eq!(
            marked("let a = one(x);", "let b = one(x);"),
            pair("let [a] = one(x);", "let [b] = one(x);")
        );
        assert_eq!(marked("f(a, b)", "f(a, b, c)"), pair("f(a, b)", "f(a, b[, c])"));
        assert_eq!(marked("größe = 漢字", "größe = 漢"), pair("größe = [漢字]", "größe = [漢]"));
        assert_eq!(marked("one two three", "entirely other words here"), None);
        assert_eq!(marked("same\r", "same"), None);
        assert_eq!(marked("", ""), None);
    }
}
