//! Leftovers of development, such as `dbg!` and paths of one machine.

use std::path::Path;

use super::TidyFinding;
use super::rust_text::{RustText, numbered};
use super::sources::SourceTree;

/// This file has to name the leftovers itself.
const THIS_FILE: &str = "xtask/src/tidy/leftovers.rs";

/// Searched in code only; in a comment or a string they are harmless.
const CODE: &[(&str, &str)] = &[
    ("todo!(", "implement it, or return an error that names what is missing"),
    ("unimplemented!(", "implement it, or return an error that names what is missing"),
    ("dbg!(", "remove it, or make it a `tracing` event"),
    ("#[ignore", "make the test run, or remove it: a test that is skipped proves nothing"),
];

/// Searched everywhere, like the folder of this checkout: a path of one machine is wrong in code, in a string and in a
/// comment.
const HOMES: &[&str] = &["/root/", "/home/"];

pub(super) fn check(tree: &SourceTree, checkout: &Path) -> Vec<TidyFinding> {
    let checkout = format!("{}/", checkout.display());
    let paths: Vec<&str> = HOMES.iter().copied().chain([checkout.as_str()]).collect();
    let mut findings = Vec::new();
    for (path, source) in tree.rust().filter(|(path, _)| *path != THIS_FILE) {
        for (line, text) in numbered(&RustText::of(source).code) {
            for (leftover, fix) in CODE.iter().filter(|(leftover, _)| text.contains(leftover)) {
                findings.push(TidyFinding::new(
                    format!("{path}:{line}"),
                    format!("has a leftover `{leftover}`"),
                    *fix,
                ));
            }
        }
        for (line, text) in numbered(source) {
            for machine_path in paths.iter().filter(|machine_path| starts_a_path(text, machine_path)) {
                findings.push(TidyFinding::new(
                    format!("{path}:{line}"),
                    format!("names `{machine_path}…`, which exists on one machine only"),
                    "use a temporary folder, or a path from the root of the repository",
                ));
            }
        }
    }
    findings
}

/// Returns `true` if a path starts with the folder and continues; `dir/home/x` and `/home/` alone do not count.
fn starts_a_path(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + folder.len()..].chars().next();
        !before.is_some_and(|c| c.is_alphanumeric() || "_.-~}/:>)*".contains(c))
            && after.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<String> {
        let findings = check(&SourceTree::of(&[("crates/a/src/lib.rs", source)]), Path::new("/src/ao"));
        findings.iter().map(|finding| format!("{} {}", finding.place, finding.what)).collect()
    }

    #[test]
    fn leftovers_are_found_where_they_stand() {
        for leftover in ["todo!(", "unimplemented!(", "dbg!(", "#[ignore"] {
            let expected = format!("crates/a/src/lib.rs:2 has a leftover `{leftover}`");
            assert_eq!(found(&format!("fn f() {{\n    {leftover}\n}}")), [expected]);
        }
    }

    #[test]
    fn in_a_string_or_comment_they_are_harmless() {
        assert_eq!(found("// Not todo!() any more.\nlet a = \"dbg!(x)\";"), [""; 0]);
    }

    #[test]
    fn paths_of_one_machine_are_found_everywhere() {
        assert_eq!(found("let a = \"/home/ann/x\";").len(), 1);
        assert_eq!(found("// see /root/notes").len(), 1);
        assert_eq!(found("let a = b\"/src/ao/main\";").len(), 1);
    }

    #[test]
    fn other_paths_are_fine() {
        assert_eq!(
            found("\"/tmp/x\" \"dir/home/x\" \"~/home/x\" \"{dir}/src/ao/x\" \"/homework/x\""),
            [""; 0]
        );
    }
}
