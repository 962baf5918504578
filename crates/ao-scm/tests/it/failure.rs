//! Failures in the outputs of many tools.
//!
//! Most fixtures were printed by the tools themselves, from small projects that fail on purpose.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use ao_ports::{FailureKind, FailureReport};
use ao_scm::failure::{Options, extract, extract_reader};
use proptest::prelude::*;

fn fixtures() -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/failure");
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() > 40, "fixtures are missing");
    paths
}

fn fixture(name: &str) -> Vec<u8> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/failure");
    fs::read(dir.join(name)).unwrap()
}

fn options() -> Options {
    let roots = ["py", "rs", "js", "go", "c", "java"].map(|name| format!("/build/app/{name}"));
    Options {
        roots: roots.to_vec(),
        exit_code: Some(1),
        command: Some("make test".into()),
        ..Options::default()
    }
}

fn read(log: impl AsRef<[u8]>) -> FailureReport {
    extract(log.as_ref(), &options())
}

fn names(failure: &FailureReport) -> Vec<&str> {
    let mut names: Vec<&str> = failure.items.iter().filter_map(|item| item.name.as_deref()).collect();
    names.sort_unstable();
    names
}

fn shown(failure: &FailureReport) -> String {
    let mut text = String::new();
    let step = failure.step.as_deref().unwrap_or("-");
    writeln!(text, "signature: {}\nstep: {step}\ncount: {}", failure.signature, failure.count).unwrap();
    for item in &failure.items {
        let kind = if item.kind == FailureKind::Test { "test" } else { "error" };
        let line = item.line.map_or("-".to_string(), |line| line.to_string());
        let (name, path) = (item.name.as_deref().unwrap_or("-"), item.path.as_deref().unwrap_or("-"));
        writeln!(text, "{kind} | {name} | {path}:{line} | {:?}", item.message).unwrap();
    }
    writeln!(text, "--- excerpt").unwrap();
    text.push_str(&failure.excerpt);
    text
}

#[test]
fn every_tool_is_understood() {
    for path in fixtures() {
        let failure = read(fs::read(&path).unwrap());
        let name = path.file_stem().unwrap().to_string_lossy();
        insta::assert_snapshot!(&*name, shown(&failure));
    }
}

#[test]
fn the_same_run_in_other_formats_has_the_same_signature() {
    let same = |names: &[&str]| {
        let signatures: Vec<String> = names.iter().map(|name| read(fixture(name)).signature).collect();
        assert!(signatures.iter().all(|signature| *signature == signatures[0]), "{names:?}: {signatures:?}");
    };
    same(&["cargo-build.log", "cargo-build-colour.log", "cargo-build-json.log"]);
    same(&["cargo-test.log", "nextest.log"]);
    same(&["go-test.log", "go-test-v.log", "go-test-json.log"]);
    same(&["jest.log", "jest-colour.log", "npm-jest.log"]);
    same(&["pytest-short.log", "pytest-colour.log", "pytest-xdist.log"]);
    same(&["tsc.log", "tsc-pretty.log", "npm-tsc.log"]);
}

#[test]
fn every_other_failure_has_another_signature() {
    let mut signatures: Vec<String> =
        ["cargo-build", "cargo-test", "go-test", "go-panic", "jest", "pytest-short", "tsc"]
            .map(|name| read(fixture(&format!("{name}.log"))).signature)
            .to_vec();
    signatures.sort();
    signatures.dedup();
    assert_eq!(signatures.len(), 7);
    assert!(signatures.iter().all(|signature| signature.len() == 16));
}

/// A run of Rust tests, as the given day, machine and scheduling would have printed it.
fn rust_run(failing: &[(String, String)], way: &Way) -> Vec<u8> {
    let mut tests: Vec<&(String, String)> = failing.iter().collect();
    if way.reversed {
        tests.reverse();
    }
    let (red, plain) = if way.colour { ("\x1b[1m\x1b[31m", "\x1b[0m") } else { ("", "") };
    let mut log =
        format!("     Running unittests src/lib.rs (target/debug/deps/shop-{:016x})\n\n", way.number);
    for (name, _) in &tests {
        writeln!(log, "test {name} ... {red}FAILED{plain}").unwrap();
        writeln!(log, "test other_{name} ... ok").unwrap();
    }
    log.push_str("\nfailures:\n\n");
    for (name, message) in &tests {
        writeln!(log, "---- {name} stdout ----\n").unwrap();
        let (thread, line) = (way.number % 99_999, way.number % 5000 + 1);
        writeln!(log, "thread '{name}' ({thread}) panicked at src/lib.rs:{line}:9:").unwrap();
        writeln!(
            log,
            "{message} after {}ms in {}/file at 0x{:x}",
            way.number % 977,
            way.temporary,
            way.number
        )
        .unwrap();
        writeln!(log, "  left: {}\n right: {}\n", way.number % 31, way.number % 17).unwrap();
    }
    log.push_str("\nfailures:\n");
    for (name, _) in &tests {
        writeln!(log, "    {name}").unwrap();
    }
    writeln!(log, "\ntest result: FAILED. 1 passed; finished in 0.{}s\n", way.number % 100).unwrap();
    if way.dated {
        let day = way.number % 28 + 1;
        log = log.lines().map(|line| format!("2026-01-{day:02}T10:00:00.1234567Z {line}\n")).collect();
    }
    if way.crlf { log.replace('\n', "\r\n").into_bytes() } else { log.into_bytes() }
}

#[derive(Debug, Clone)]
struct Way {
    reversed: bool,
    colour: bool,
    crlf: bool,
    dated: bool,
    number: u64,
    temporary: String,
}

prop_compose! {
    fn way()(
        reversed in any::<bool>(), colour in any::<bool>(), crlf in any::<bool>(), dated in any::<bool>(),
        number in any::<u64>(), temporary in "/(tmp|var/folders|private/tmp)/\\.?[a-zA-Z0-9]{1,12}",
    ) -> Way {
        Way { reversed, colour, crlf, dated, number, temporary }
    }
}

fn failing() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::btree_map("tests::[a-z]{3,9}(::[a-z_]{3,9})?", "[a-z]{3,8} [a-z]{4,9}", 1..6)
        .prop_map(|tests| tests.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_signature_survives_another_day_machine_order_and_dress(tests in failing(), one in way(), other in way()) {
        let (one, other) = (read(rust_run(&tests, &one)), read(rust_run(&tests, &other)));
        prop_assert_eq!(one.count as usize, tests.len());
        prop_assert_eq!(names(&one), names(&other));
        prop_assert_eq!(one.signature, other.signature);
    }

    #[test]
    fn another_test_or_another_message_is_another_failure(tests in failing(), one in way(), other in way()) {
        let before = read(rust_run(&tests, &one)).signature;
        let mut more = tests.clone();
        more.push(("tests::zz_one_more".into(), "it broke".into()));
        prop_assert_ne!(&before, &read(rust_run(&more, &other)).signature);
        let mut changed = tests.clone();
        changed[0].1.push_str(" differently");
        prop_assert_ne!(&before, &read(rust_run(&changed, &other)).signature);
        if tests.len() > 1 {
            prop_assert_ne!(&before, &read(rust_run(&tests[1..], &other)).signature);
        }
    }

    #[test]
    fn any_bytes_give_something_within_the_limits(
        parts in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 0..60),
            prop::sample::select(fixtures()).prop_flat_map(|path| {
                let bytes = fs::read(path).unwrap();
                (0..bytes.len(), 0..2000_usize).prop_map(move |(start, length)| {
                    bytes[start..bytes.len().min(start + length)].to_vec()
                })
            }),
        ], 0..12),
        limit in prop_oneof![0..40_usize, 40..8000_usize],
        items in 0..30_usize,
        piece in 1..5000_usize,
    ) {
        let log = parts.concat();
        let options = Options { limit, items, ..options() };
        let failure = extract(&log, &options);
        prop_assert!(failure.excerpt.len() <= limit);
        prop_assert!(failure.items.len() <= items);
        prop_assert!(failure.items.len() <= failure.count as usize);
        prop_assert_eq!(failure.signature.len(), 16);
        prop_assert!(!failure.excerpt.contains(['\r', '\0', '\x1b']));
        prop_assert_eq!(extract_reader(Slowly { log: &log, piece }, &options).unwrap(), failure);
    }
}

/// A log that arrives in pieces.
struct Slowly<'a> {
    log: &'a [u8],
    piece: usize,
}

impl Read for Slowly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (now, later) = self.log.split_at(self.log.len().min(self.piece).min(buffer.len()));
        buffer[..now.len()].copy_from_slice(now);
        self.log = later;
        Ok(now.len())
    }
}

/// Neither the position in a long log nor the length of its lines matters.
#[test]
fn a_failure_is_found_anywhere_in_a_long_log() {
    let told = fixture("cargo-build.log");
    let alone = read(&told);
    for kilobytes in [0, 500, 895, 896, 1023, 1024, 1500] {
        for noise in ["nothing to see here\n", "no line ends here ", "50%\r100%\r"] {
            let mut log = noise.repeat(kilobytes * 1024 / noise.len());
            log.push('\n');
            let mut log = log.into_bytes();
            log.extend_from_slice(&told);
            log.extend_from_slice(&noise.repeat(300 * 1024 / noise.len()).into_bytes());
            let failure = read(&log);
            assert_eq!(
                (&failure.signature, &failure.items),
                (&alone.signature, &alone.items),
                "{kilobytes} {noise:?}"
            );
        }
    }
}

#[test]
fn failures_beyond_the_limit_are_counted_and_signed_in_any_order() {
    let line = |number: usize| format!("test tests::case_{number} ... FAILED\n");
    let one: String = (0..5000).map(line).collect();
    let other: String = (0..5000).rev().map(line).collect();
    let fewer: String = (0..4999).map(line).collect();
    let (one, other, fewer) = (read(one), read(other), read(fewer));
    assert_eq!((one.count, one.items.len()), (5000, 20));
    assert!(one.excerpt.ends_with("… and 4980 more"), "{}", one.excerpt);
    assert_eq!(one.signature, other.signature);
    assert_ne!(one.signature, fewer.signature);
}

#[test]
fn the_first_error_of_a_compiler_comes_before_the_tests_that_it_broke() {
    let log =
        "test tests::a ... FAILED\nsrc/a.c:3:1: error: expected ‘;’\nsrc/b.c:9:1: error: unknown type\n";
    let failure = read(log);
    assert!(failure.excerpt.starts_with("src/a.c:3\n  expected ‘;’\n"), "{}", failure.excerpt);
    assert_eq!(failure.count, 3);
}

#[test]
fn progress_bars_do_not_push_out_what_matters() {
    let mut log = "cannot open the lock file: it is held by 4242\n".to_string();
    log.push_str(&"fetching  12%\r".repeat(100_000));
    log.push_str("\n[=====>    ] 50%\n");
    let failure = read(&log);
    assert!(failure.excerpt.contains("cannot open the lock file"), "{}", failure.excerpt);
    assert!(failure.excerpt.len() < 1000);
}

/// Logs that make a careless reader read the same part again and again.
#[test]
fn hostile_logs_take_no_longer_than_their_length() {
    let lines = [
        "--- FAIL: TestX (0.00s)\n",
        "  Traceback (most recent call last):\n",
        "<testsuite><error>\n",
        "<error>",
        "  1 failing\n",
        "   1:2  error  x  y\n",
        "TypeError: x\n",
        "src/a.c:1:2: error: x\n   indented\n",
        "---- x stdout ----\n",
        "    thread 'a::b' panicked at src/a.rs:1:2:\n",
        "{\"Action\":\"fail\",\"Test\":\"T\",\"Package\":\"p\"}\n",
        "Traceback (most recent call last):\nX\n\nanother exception occurred\n\n",
        "error ",
        "not ok\n",
        "  ● x\n",
        "FAIL a.js > b\n",
    ];
    for line in lines {
        let start = std::time::Instant::now();
        let failure = read(line.repeat(1024 * 1024 / line.len()));
        assert!(failure.excerpt.len() <= 6 * 1024);
        // Ten times what the slowest takes without optimisation; reading again would take minutes.
        assert!(start.elapsed().as_secs() < 60, "{line:?} took {:?}", start.elapsed());
    }
}
