//! Acceptance cases. A test names its cases in its doc comment.

use std::collections::BTreeMap;

use super::TidyFinding;
use super::rust_text::{RustText, numbered};
use super::sources::SourceTree;

/// The mark before the ids in a comment.
const MARK: &str = "acceptance:";

/// The groups of cases, by first letter.
const GROUPS: &str = "SMWLFBXNJG";

pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let unknown = named(tree).filter(|(id, _)| case(id).is_none());
    unknown
        .map(|(id, place)| {
            TidyFinding::new(
                place,
                format!("`{id}` is not an acceptance case"),
                format!("name one or more with a letter of {GROUPS} and a number, such as `{MARK} S1, M4`"),
            )
        })
        .collect()
}

/// Returns each case that is named, in order, with its places.
pub(super) fn covered(tree: &SourceTree) -> Vec<(String, Vec<String>)> {
    let mut covered: BTreeMap<(usize, u32), Vec<String>> = BTreeMap::new();
    for (id, place) in named(tree) {
        if let Some(case) = case(&id) {
            covered.entry(case).or_default().push(place);
        }
    }
    let written = |(group, number)| format!("{}{number}", &GROUPS[group..=group]);
    covered.into_iter().map(|(case, places)| (written(case), places)).collect()
}

/// Returns every id after a mark, valid or not, with its place.
fn named(tree: &SourceTree) -> impl Iterator<Item = (String, String)> {
    tree.rust().flat_map(|(path, source)| {
        let text = RustText::of(source);
        let ids = numbered(&text.comments).flat_map(|(line, comment)| {
            ids(comment).into_iter().map(move |id| (id, format!("{path}:{line}"))).collect::<Vec<_>>()
        });
        ids.collect::<Vec<_>>()
    })
}

/// Parses the list after the mark, such as `S1, M4`; it ends with the first item that is not followed by a comma.
fn ids(comment: &str) -> Vec<String> {
    let Some((_, list)) = comment.split_once(MARK) else {
        return Vec::new();
    };
    let mut ids = Vec::new();
    for part in list.split(',') {
        let part = part.trim();
        let id: String = part.chars().take_while(|c| c.is_alphanumeric()).collect();
        let goes_on = id.len() == part.len();
        ids.push(id);
        if !goes_on {
            break;
        }
    }
    ids
}

/// Returns the group and number of a valid id.
fn case(id: &str) -> Option<(usize, u32)> {
    let mut chars = id.chars();
    let group = GROUPS.find(chars.next()?)?;
    let digits = chars.as_str();
    digits.chars().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok())?.map(|number| (group, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_cannot_exist_is_found() {
        for bad in ["Q1", "S", "s1", "1", "", "S1x"] {
            let source = format!("/// Shows it.\n///\n/// acceptance: {bad}\n#[test]\nfn f() {{}}\n");
            let findings = check(&SourceTree::of(&[("a.rs", &source)]));
            assert_eq!(findings.len(), 1, "{bad}: {findings:?}");
            assert_eq!(findings[0].place, "a.rs:3");
        }
    }

    #[test]
    fn cases_are_listed_in_order_with_their_places() {
        let tree = SourceTree::of(&[
            ("a.rs", "/// acceptance: M10, S2\nfn f() {}\n/// It heals (acceptance: M4).\nfn g() {}\n"),
            ("b.rs", "//! acceptance: S2. And more, S9\nconst A: &str = \"acceptance: S7\";\n"),
        ]);
        assert_eq!(check(&tree), []);
        let covered: Vec<_> =
            covered(&tree).into_iter().map(|(id, places)| format!("{id} {}", places.join(" "))).collect();
        assert_eq!(covered, ["S2 a.rs:1 b.rs:1", "M4 a.rs:3", "M10 a.rs:1"]);
    }
}
