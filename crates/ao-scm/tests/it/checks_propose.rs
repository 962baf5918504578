//! Proposed checks, by the files of a repository.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ao_scm::checks::propose;
use camino::Utf8Path;

/// The commands that are proposed for a folder with these files.
fn proposed(files: &[(&str, &str)]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(dir.path()).unwrap();
    for (name, text) in files {
        let (name, executable) = name.strip_suffix('*').map_or((*name, false), |name| (name, true));
        fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
        fs::write(root.join(name), text).unwrap();
        let mode = if executable { 0o755 } else { 0o644 };
        fs::set_permissions(root.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let proposed = propose(root);
    assert!(proposed.iter().all(|it| !it.name.is_empty() && it.because.contains('`')), "{proposed:?}");
    proposed.into_iter().map(|it| it.command).collect()
}

#[test]
fn files_suggest_checks() {
    let script = |text: &str| format!(r#"{{"scripts": {{"test": "{text}"}}}}"#);
    let (jest, none) = (script("jest"), script("echo \\\"Error: no test specified\\\" && exit 1"));
    let cargo = ["cargo test --workspace", "cargo clippy --workspace --all-targets -- -D warnings"];
    for (files, commands) in [
        (&[][..], &[][..]),
        (&[("README.md", "")], &[]),
        (&[(".ci/run*", ""), ("Cargo.toml", ""), ("Makefile", "test:\n")], &[".ci/run"]),
        (&[(".ci/run", ""), ("Cargo.toml", "not [ toml")], &cargo),
        (&[("package.json", &jest)], &["npm install && npm test"]),
        (&[("package.json", &jest), ("package-lock.json", "")], &["npm ci && npm test"]),
        (
            &[("package.json", &jest), ("pnpm-lock.yaml", "")],
            &["pnpm install --frozen-lockfile && pnpm test"],
        ),
        (&[("package.json", &jest), ("yarn.lock", "")], &["yarn install --frozen-lockfile && yarn test"]),
        (&[("package.json", &jest), ("bun.lockb", "")], &["bun install --frozen-lockfile && bun run test"]),
        (
            &[("package.json", r#"{"packageManager": "pnpm@9.1", "scripts": {"test": "x"}}"#)],
            &["pnpm install && pnpm test"],
        ),
        (&[("package.json", &none), ("package-lock.json", "")], &[]),
        (&[("package.json", r#"{"scripts": {"build": "x"}}"#)], &[]),
        (&[("package.json", r#"{"scripts": "#)], &[]),
        (&[("package.json", "[1]")], &[]),
        (&[("pytest.ini", "")], &["pytest"]),
        (&[("pyproject.toml", "[tool.pytest.ini_options]"), ("uv.lock", "")], &["uv run pytest"]),
        (&[("pyproject.toml", "[project]")], &[]),
        (&[("pytest.ini", ""), ("uv.lock", "")], &["uv run pytest"]),
        (&[("tox.ini", "[tox]\nenv_list = py3\n"), ("tests/test_a.py", "")], &["tox"]),
        (&[("tox.ini", "[testenv]\ncommands = pytest\n"), ("uv.lock", "")], &["uv run tox"]),
        (&[("tox.ini", "[pytest]\n")], &["pytest"]),
        (&[("pyproject.toml", "[tool.tox]\n")], &["tox"]),
        (&[("tests/test_a.py", "")], &["pytest"]),
        (&[("tests/a.rs", "")], &[]),
        (&[("go.mod", "module x")], &["go test ./..."]),
        (&[("Makefile", "all: x\n\ntest check: all\n\t./t\n")], &["make test"]),
        (&[("Makefile", "check:\n\t./t\n")], &["make check"]),
        (&[("Makefile", ".PHONY: test\ntest := x\n\ttest: y\n# test: z\nlatest: a\n")], &[]),
        (&[("Makefile", "test::\n")], &["make test"]),
        (&[("go.mod", ""), ("Makefile", "test:\n")], &["go test ./...", "make test"]),
    ] {
        assert_eq!(proposed(files), commands, "{files:?}");
    }
}

#[test]
fn odd_files_are_no_obstacle() {
    let dir = tempfile::tempdir().unwrap();
    let root = Utf8Path::from_path(dir.path()).unwrap();
    fs::create_dir(root.join("Cargo.toml")).unwrap();
    fs::write(root.join("Makefile"), b"test:\n\xff\xfe".repeat(1 << 20)).unwrap();
    std::os::unix::fs::symlink("/dev/zero", root.join("package.json")).unwrap();
    std::os::unix::fs::symlink("pytest.ini", root.join("pytest.ini")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(root.join("pyproject.toml")).status().unwrap();
    assert!(fifo.success());
    let commands: Vec<_> = propose(root).into_iter().map(|it| it.command).collect();
    assert_eq!(commands, ["make test"]);
    assert_eq!(propose(&root.join("nowhere")), []);
}
