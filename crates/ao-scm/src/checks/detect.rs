//! Proposes checks for a project that has none, from the files of its repository. Runs nothing.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;

use camino::Utf8Path;

/// The most bytes that are read of a file. Files that configure tests are short.
const LONGEST: u64 = 1 << 20;

/// A suggested check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedCheck {
    pub name: String,
    pub command: String,
    /// The reason: the file that was found.
    pub because: String,
}

/// Proposes checks. They run in a clean checkout, so the commands install what they need first.
pub fn propose(root: &Utf8Path) -> Vec<ProposedCheck> {
    // A project with a script for all its checks needs no other.
    if is_executable(&root.join(".ci/run")) {
        return vec![proposed("ci", ".ci/run", "there is an executable `.ci/run`")];
    }
    [cargo(root), node(root), python(root), go(root), make(root)].into_iter().flatten().collect()
}

fn cargo(root: &Utf8Path) -> Vec<ProposedCheck> {
    if !is_file(root, "Cargo.toml") {
        return vec![];
    }
    let because = "there is a `Cargo.toml`";
    vec![
        proposed("cargo-test", "cargo test --workspace", because),
        proposed("cargo-clippy", "cargo clippy --workspace --all-targets -- -D warnings", because),
    ]
}

fn node(root: &Utf8Path) -> Vec<ProposedCheck> {
    let package: serde_json::Value =
        read(root, "package.json").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let Some(script) = package["scripts"]["test"].as_str() else { return vec![] };
    // The default of `npm init`.
    if script.trim().is_empty() || script.contains("no test specified") {
        return vec![];
    }
    let managers = [
        ("pnpm-lock.yaml", "pnpm", "pnpm install --frozen-lockfile && pnpm test"),
        ("yarn.lock", "yarn", "yarn install --frozen-lockfile && yarn test"),
        ("bun.lock", "bun", "bun install --frozen-lockfile && bun run test"),
        ("bun.lockb", "bun", "bun install --frozen-lockfile && bun run test"),
        ("package-lock.json", "npm", "npm ci && npm test"),
        ("npm-shrinkwrap.json", "npm", "npm ci && npm test"),
    ];
    let named = package["packageManager"].as_str().and_then(|text| text.split('@').next());
    let locked = managers.iter().find(|(lock, ..)| is_file(root, lock));
    match locked {
        Some((lock, manager, command)) => {
            let because = format!("`package.json` has a test script, and there is a `{lock}`");
            vec![proposed(&format!("{manager}-test"), command, &because)]
        }
        None => {
            let manager = named.filter(|name| ["pnpm", "yarn", "bun"].contains(name)).unwrap_or("npm");
            let run = if manager == "bun" { "bun run test".to_owned() } else { format!("{manager} test") };
            let because = "`package.json` has a test script";
            vec![proposed(&format!("{manager}-test"), &format!("{manager} install && {run}"), because)]
        }
    }
}

fn python(root: &Utf8Path) -> Vec<ProposedCheck> {
    let mentions = |name: &str, word: &str| read(root, name).is_some_and(|text| text.contains(word));
    // Tox creates the environments that its tests need, so it works in a clean checkout where pytest alone may not.
    let tox = [("tox.ini", "[testenv"), ("tox.ini", "[tox]"), ("pyproject.toml", "[tool.tox")];
    if let Some((file, _)) = tox.into_iter().find(|(file, word)| mentions(file, word)) {
        let command = if is_file(root, "uv.lock") { "uv run tox" } else { "tox" };
        return vec![proposed("tox", command, &format!("`{file}` configures tox"))];
    }
    let because = if is_file(root, "pytest.ini") {
        "there is a `pytest.ini`"
    } else if mentions("pyproject.toml", "pytest") {
        "`pyproject.toml` mentions pytest"
    } else if mentions("setup.cfg", "[tool:pytest]") {
        "`setup.cfg` has settings for pytest"
    } else if mentions("tox.ini", "[pytest]") {
        "`tox.ini` has settings for pytest"
    } else if has_python_tests(&root.join("tests")) {
        "there are Python tests in `tests`"
    } else {
        return vec![];
    };
    let command = if is_file(root, "uv.lock") { "uv run pytest" } else { "pytest" };
    vec![proposed("pytest", command, because)]
}

fn go(root: &Utf8Path) -> Vec<ProposedCheck> {
    match is_file(root, "go.mod") {
        true => vec![proposed("go-test", "go test ./...", "there is a `go.mod`")],
        false => vec![],
    }
}

fn make(root: &Utf8Path) -> Vec<ProposedCheck> {
    // In the order in which make looks for them.
    let files = ["GNUmakefile", "makefile", "Makefile"];
    let Some((file, text)) = files.iter().find_map(|file| Some((file, read(root, file)?))) else {
        return vec![];
    };
    let Some(target) = ["test", "check"].into_iter().find(|target| has_target(&text, target)) else {
        return vec![];
    };
    let because = format!("`{file}` has a target `{target}`");
    vec![proposed(&format!("make-{target}"), &format!("make {target}"), &because)]
}

/// Returns true if a makefile has a rule for a target: `test:`, `test check: build`, but not `test := x`.
fn has_target(text: &str, target: &str) -> bool {
    text.lines().any(|line| {
        let Some((targets, rest)) = line.split_once(':') else { return false };
        let is_setting = rest.trim_start_matches(':').starts_with('=');
        !line.starts_with(['\t', '#', ' '])
            && !is_setting
            && targets.split_whitespace().any(|it| it == target)
    })
}

fn has_python_tests(folder: &Utf8Path) -> bool {
    let is_test =
        |name: &str| name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"));
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(1_000);
    entries.into_iter().any(|entry| entry.file_name().to_str().is_some_and(is_test))
}

fn is_executable(path: &Utf8Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

fn is_file(root: &Utf8Path, name: &str) -> bool {
    root.join(name).is_file()
}

/// Returns the beginning of a file. Opens plain files only: reading a pipe would never end.
fn read(root: &Utf8Path, name: &str) -> Option<String> {
    if !is_file(root, name) {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(root.join(name)).ok()?.take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn proposed(name: &str, command: &str, because: &str) -> ProposedCheck {
    ProposedCheck { name: name.into(), command: command.into(), because: because.into() }
}
