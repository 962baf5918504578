//! Test files that no `mod` line names: they are never compiled, and look as if they passed.

use super::TidyFinding;
use super::rust_text::{RustText, has_word};
use super::sources::SourceTree;

pub(super) fn check(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (path, _) in tree.rust() {
        let Some((package, inside)) = path.split_once("/tests/it/") else {
            continue;
        };
        let it = format!("{package}/tests/it");
        let Some((module, parents)) = module_of(inside) else {
            // `main.rs` itself.
            continue;
        };
        let parents: Vec<String> = parents.iter().map(|parent| format!("{it}/{parent}")).collect();
        let declared =
            parents.iter().filter_map(|parent| tree.text(parent)).any(|text| declares(text, module));
        if !declared {
            findings.push(TidyFinding::new(
                path,
                "is never compiled, so its tests never run",
                format!("add `mod {module};` to {}", parents[0]),
            ));
        }
    }
    findings
}

/// Returns the name of a file's module, and the files that may declare it, relative to `tests/it/`.
fn module_of(inside: &str) -> Option<(&str, Vec<String>)> {
    let path = inside.strip_suffix(".rs")?;
    let path = path.strip_suffix("/mod").unwrap_or(path);
    match path.rsplit_once('/') {
        None if path == "main" => None,
        None => Some((path, vec!["main.rs".to_owned()])),
        Some((folder, module)) => Some((module, vec![format!("{folder}/mod.rs"), format!("{folder}.rs")])),
    }
}

fn declares(source: &str, module: &str) -> bool {
    let declaration = format!("mod {module}");
    RustText::of(source).code.lines().any(|line| has_word(line, &declaration))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        check(&SourceTree::of(files))
            .iter()
            .map(|finding| format!("{}: {}", finding.place, finding.fix))
            .collect()
    }

    #[test]
    fn a_forgotten_test_file_is_found() {
        let found = found(&[
            ("crates/a/tests/it/main.rs", "mod pause;\n// mod retry;\nmod retry_later;\n"),
            ("crates/a/tests/it/pause.rs", ""),
            ("crates/a/tests/it/retry.rs", ""),
            ("crates/a/tests/it/retry_later.rs", ""),
        ]);
        assert_eq!(found, ["crates/a/tests/it/retry.rs: add `mod retry;` to crates/a/tests/it/main.rs"]);
    }

    #[test]
    fn folders_are_followed() {
        let found = found(&[
            ("crates/a/tests/it/main.rs", "mod git;\n"),
            ("crates/a/tests/it/git/mod.rs", "pub mod clone;\n"),
            ("crates/a/tests/it/git/clone.rs", ""),
            ("crates/a/tests/it/git/fetch.rs", ""),
        ]);
        assert_eq!(
            found,
            ["crates/a/tests/it/git/fetch.rs: add `mod fetch;` to crates/a/tests/it/git/mod.rs"]
        );
    }

    #[test]
    fn without_a_main_file_nothing_runs() {
        assert_eq!(found(&[("crates/a/tests/it/pause.rs", "")]).len(), 1);
    }
}
