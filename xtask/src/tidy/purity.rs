//! Purity of the core: no clock, no disk, no network, no randomness, no async runtime.
//!
//! That makes replay exact and a simulated world possible. The rule is a list of what is allowed instead of what is
//! forbidden, so that it also finds a crate that was not thought of.

use super::TidyFinding;
use super::rust_text::{RustText, has_word, numbered};
use super::sources::{PackageGraph, SourceTree};

/// All crates that `ao-core` may depend on, directly or not.
const ALLOWED: &[&str] = &[
    // Serialization.
    "serde",
    "serde_core",
    "serde_json",
    "itoa",
    "memchr",
    "ryu",
    "zmij",
    // Tables with a fixed hash and an order that replays.
    "indexmap",
    "hashbrown",
    "equivalent",
    "rustc-hash",
    "foldhash",
    // Only traits of the allocator; a test dependency enables it in hashbrown.
    "allocator-api2",
    // Message templates of reactions: text to text, without a loader, a clock or a file.
    "minijinja",
    // Error types.
    "thiserror",
    // Run in the compiler, not in the product.
    "serde_derive",
    "thiserror-impl",
    "proc-macro2",
    "quote",
    "syn",
    "unicode-ident",
];

/// Paths that the core's source may not name, and their replacements.
const FORBIDDEN: &[(&str, &str)] = &[
    ("std::time::SystemTime", CLOCK),
    ("std::time::Instant", CLOCK),
    ("SystemTime::now", CLOCK),
    ("Instant::now", CLOCK),
    ("std::fs", IO),
    ("std::io", IO),
    ("std::net", IO),
    ("std::env", IO),
    ("std::process", IO),
    ("std::thread", IO),
    ("rand", RANDOMNESS),
    ("RandomState", RANDOMNESS),
    ("HashMap", ORDER),
    ("HashSet", ORDER),
];

const CLOCK: &str = "take the time as data: each input brings its `Timestamp`";
const IO: &str = "return an `Effect` and let the engine do it";
const RANDOMNESS: &str = "take new ids and chances as data, with the input";
const ORDER: &str =
    "use BTreeMap or BTreeSet: a hash map's order differs from run to run, and replay must not";

pub(super) fn check_dependencies(packages: &PackageGraph) -> Vec<TidyFinding> {
    let reachable = packages.reachable("ao-core");
    let strangers = reachable.into_iter().filter(|name| !ALLOWED.contains(name));
    let finding = |name| {
        TidyFinding::new(
            "crate ao-core",
            format!("is built from `{name}`, which is not on the core's list"),
            "do without it; or, if it has no clock, no I/O and no randomness, add it to ALLOWED in xtask/src/tidy/purity.rs",
        )
    };
    strangers.map(finding).collect()
}

pub(super) fn check_sources(tree: &SourceTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for (path, source) in tree.rust() {
        let Some(inside) = path.strip_prefix("crates/ao-core/src/") else {
            continue;
        };
        // A file of unit tests may read its fixtures.
        if inside.split('/').any(|part| part == "tests" || part == "tests.rs") {
            continue;
        }
        let text = RustText::of(source);
        let code = text.product_code();
        let imports = imports(code);
        for (name, fix) in FORBIDDEN {
            let in_code = numbered(code).find(|(_, line)| has_word(line, name)).map(|(line, _)| line);
            let in_import = imports.iter().find(|(_, import)| has_word(import, name)).map(|(line, _)| *line);
            if let Some(line) = in_code.or(in_import) {
                findings.push(TidyFinding::new(
                    format!("{path}:{line}"),
                    format!("the core names `{name}`"),
                    *fix,
                ));
            }
        }
    }
    findings
}

/// Returns all imports with their line, expanded: `use std::{fs, time::Instant};` is `std::fs` and
/// `std::time::Instant`.
fn imports(code: &str) -> Vec<(usize, String)> {
    let mut imports = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let starts_item =
            code[..at].trim_end_matches(' ').chars().next_back().is_none_or(|c| "\n;{})".contains(c));
        if !starts_item {
            continue;
        }
        let Some(end) = code[at..].find(';') else { continue };
        let line = code[..at].matches('\n').count() + 1;
        let tree: String = code[at + 4..at + end].split_whitespace().collect::<Vec<_>>().join(" ");
        imports.extend(written_out("", &tree).into_iter().map(|import| (line, import)));
    }
    imports
}

fn written_out(prefix: &str, tree: &str) -> Vec<String> {
    let Some((path, group)) = tree.split_once('{') else {
        return vec![format!("{prefix}{}", tree.trim())];
    };
    let prefix = format!("{prefix}{}", path.trim());
    let group = group.rsplit_once('}').map_or(group, |(inside, _)| inside);

    let mut depth = 0;
    let parts = group.split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    parts.filter(|part| !part.trim().is_empty()).flat_map(|part| written_out(&prefix, part)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, source: &str) -> Vec<String> {
        let findings = check_sources(&SourceTree::of(&[(path, source)]));
        findings.iter().map(|finding| format!("{} {}", finding.place, finding.what)).collect()
    }

    #[test]
    fn a_runtime_deep_below_the_core_is_found() {
        let packages =
            PackageGraph::of(&[("ao-core", &["serde", "nice"]), ("nice", &["tokio"]), ("serde", &[])]);
        let findings = check_dependencies(&packages);
        let names: Vec<_> = findings.iter().map(|finding| finding.what.split('`').nth(1).unwrap()).collect();
        assert_eq!(names, ["nice", "tokio"]);
    }

    #[test]
    fn a_clock_is_found_however_it_is_named() {
        let path = "crates/ao-core/src/a.rs";
        assert_eq!(found(path, "\nlet now = std::time::SystemTime::now();").len(), 2);
        assert_eq!(
            found(path, "use std::{\n    fmt,\n    time::{Duration, Instant},\n};"),
            ["crates/ao-core/src/a.rs:1 the core names `std::time::Instant`"]
        );
    }

    #[test]
    fn disk_threads_chance_and_hash_maps_are_found() {
        let path = "crates/ao-core/src/deep/b.rs";
        for (source, name) in [
            ("use std::fs;", "std::fs"),
            ("use std::{env, fmt};", "std::env"),
            ("std::process::exit(1)", "std::process"),
            ("std::thread::spawn(f)", "std::thread"),
            ("pub use std::net::IpAddr;", "std::net"),
            ("let n = rand::random();", "rand"),
            ("use std::collections::{BTreeMap, HashMap};", "HashMap"),
            ("seen: std::collections::HashSet<Id>", "HashSet"),
        ] {
            assert_eq!(found(path, source), [format!("{path}:1 the core names `{name}`")], "{source}");
        }
    }

    #[test]
    fn words_in_comments_strings_tests_and_other_crates_are_fine() {
        let source =
            "// std::fs is not for us.\nlet a = \"HashMap\"; let operand = 1;\nuse std::time::Duration;\n";
        assert_eq!(found("crates/ao-core/src/a.rs", source), [""; 0]);
        assert_eq!(found("crates/ao-core/src/a.rs", "#[cfg(test)]\nmod tests {\n use std::fs;\n}"), [""; 0]);
        assert_eq!(found("crates/ao-core/src/a/tests.rs", "use std::fs;"), [""; 0]);
        assert_eq!(found("crates/ao-store/src/a.rs", "use std::fs;"), [""; 0]);
    }
}
