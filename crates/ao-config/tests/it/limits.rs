//! Every file, however large, is read or refused quickly.

use std::time::{Duration, Instant};

use ao_config::{Layer, LayerKind, load_files};
use camino::Utf8Path;

use super::support::{places, wrong_with};

/// Far longer than any of it takes, even on a busy machine, and far shorter than without the limits.
const AT_ONCE: Duration = Duration::from_secs(20);

fn refused(text: &str) -> String {
    let start = Instant::now();
    let wrong = wrong_with(text);
    assert!(start.elapsed() < AT_ONCE, "took {:?}", start.elapsed());
    assert_ne!(wrong, "nothing");
    wrong
}

#[test]
fn aliases_cannot_grow_into_a_bomb() {
    let mut bomb = String::from("a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
    for n in 1..10 {
        let nine = vec![format!("*a{}", n - 1); 9].join(", ");
        bomb.push_str(&format!("a{n}: &a{n} [{nine}]\n"));
    }
    let wrong = refused(&bomb);
    assert!(
        wrong.contains("the aliases of this file expand to more than a configuration may contain"),
        "{wrong}"
    );
}

#[test]
fn aliases_of_ordinary_use_are_fine() {
    let text = "projects:\n  a: &base { path: /a, agent: codex }\n  b: { <<: *base, path: /b }\n";
    assert_eq!(wrong_with(text), "nothing");
}

#[test]
fn nesting_has_an_end() {
    for text in [
        "[".repeat(100_000),
        format!("tools: {{ t: {{ a: {}{} }} }}\n", "[".repeat(5000), "]".repeat(5000)),
        (0..1000).map(|n| format!("{}a:\n", " ".repeat(n))).collect(),
        "- ".repeat(50_000),
        "{a: ".repeat(100_000),
    ] {
        let wrong = refused(&text);
        assert!(wrong.contains("nested too deeply"), "{wrong}");
    }
    // A document at the limit is read, on the smallest stack of any thread.
    let deep = |n| format!("tools: {{ t: {{ a: {}{} }} }}\n", "[".repeat(n), "]".repeat(n));
    assert_eq!(wrong_with(&deep(18)), "nothing");
    refused(&deep(30));
}

#[test]
fn a_huge_file_is_not_even_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = Utf8Path::from_path(folder.path()).unwrap().join("agent-orchestrator.yaml");
    // A sparse file of fifty megabytes.
    std::fs::File::create(&path).unwrap().set_len(50 << 20).unwrap();
    let start = Instant::now();
    let err =
        load_files(vec![Layer { kind: LayerKind::Project, path: path.clone() }], &places()).unwrap_err();
    assert_eq!(err.to_string(), format!("{path}: is larger than a configuration may be (1024 KB)"));
    assert!(start.elapsed() < AT_ONCE);
    refused(&"a".repeat((1 << 20) + 1));
}

#[test]
fn a_file_just_below_the_limit_is_answered_at_once() {
    let long_line = format!("port: \"{}\"\n", "x".repeat((1 << 20) - 100));
    let wrong = refused(&long_line);
    assert!(wrong.len() < 1000, "an excerpt is short: {}", wrong.len());
    let many_keys: String = (0..60_000).map(|n| format!("k{n}: {n}\n")).collect();
    refused(&many_keys);
}

#[test]
fn what_is_no_text_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let binary = folder.join("binary.yaml");
    std::fs::write(&binary, b"port: 1\n\xff\xfe\n").unwrap();
    let wrong = |path: &Utf8Path| {
        let layer = Layer { kind: LayerKind::Project, path: path.to_path_buf() };
        load_files(vec![layer], &places()).unwrap_err().to_string().replace(folder.as_str(), "")
    };
    assert_eq!(wrong(&binary), "/binary.yaml: line 2 is not UTF-8 text");
    assert_eq!(wrong(folder), ": is not a file");
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let wrong = refused("prot: \"\u{9b}2J\u{7f}\"\n");
    assert!(!wrong.contains(['\u{9b}', '\u{7f}', '\u{1b}']), "{wrong:?}");
}
