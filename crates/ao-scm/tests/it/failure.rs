//! What failed, from the outputs of many tools.
//!
//! Most fixtures were printed by the tools themselves, from small projects that fail on purpose.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use ao_ports::{Failure, FailureKind};
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

fn read(log: impl AsRef<[u8]>) -> Failure {
    extract(log.as_ref(), &options())
}

fn names(failure: &Failure) -> Vec<&str> {
    let mut names: Vec<&str> = failure.items.iter().filter_map(|item| item.name.as_deref()).collect();
    names.sort_unstable();
    names
}

fn shown(failure: &Failure) -> String {
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
