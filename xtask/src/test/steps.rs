//! The steps of `cargo xtask test`, cheapest first.

use std::time::Duration;

use anyhow::Result;

use super::{Count, Outcome};
use crate::process::{Finished, bounded, cargo, watch};
use crate::tools::{self, Tool};
use crate::{simulate, tidy};

/// One thing that must hold.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) needs: &'static [Tool],
    /// Whether it compiles the workspace, and so is pointless once that has failed.
    pub(super) needs_build: bool,
    pub(super) run: fn() -> Result<Outcome>,
}

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        about: "the code is formatted",
        needs: &[tools::RUSTFMT],
        needs_build: false,
        run: fmt,
    },
    Step {
        name: "tidy",
        about: "what we would otherwise forget, such as which crate may know which",
        needs: &[tools::GIT],
        needs_build: false,
        run: tidy,
    },
    Step {
        name: "deny",
        about: "dependencies: licenses, sources, bans",
        needs: &[tools::DENY],
        needs_build: false,
        run: deny,
    },
    Step {
        name: "advisories",
        about: "dependencies: known vulnerabilities",
        needs: &[tools::DENY, tools::GIT],
        needs_build: false,
        run: advisories,
    },
    Step {
        name: "clippy",
        about: "lints, with warnings as errors",
        needs: &[tools::CLIPPY, tools::CC],
        needs_build: false,
        run: clippy,
    },
    Step {
        name: "fuzz",
        about: "the fuzz targets compile; `cargo xtask fuzz` runs them",
        needs: &[tools::CXX],
        needs_build: false,
        run: fuzz,
    },
    Step {
        name: "nextest",
        about: "unit and integration tests",
        needs: &[
            tools::NEXTEST,
            tools::CC,
            tools::GIT,
            tools::PYTHON,
            tools::DBUS,
            tools::TMUX,
            tools::CURL,
            tools::ZSH,
            tools::FISH,
        ],
        needs_build: true,
        run: nextest,
    },
    Step {
        name: "doctest",
        about: "examples in the docs",
        needs: &[tools::CC],
        needs_build: true,
        run: doctest,
    },
    Step {
        name: "simulate",
        about: "the engine in worlds full of faults",
        needs: &[tools::CC],
        needs_build: true,
        run: simulate,
    },
];

/// Steps that only run when they are named: each builds the program once more.
pub(super) const WHEN_NAMED: &[Step] = &[Step {
    name: "otlp",
    about: "the tests of the feature `otlp`; only runs when it is named",
    needs: &[tools::NEXTEST, tools::CC, tools::GIT],
    needs_build: true,
    run: otlp,
}];

/// Enough worlds for a minute; `cargo xtask simulate` runs as many as one likes.
const SEEDS: u64 = 5000;

/// A fetch that takes longer will not come: the database is a few megabytes.
const ADVISORIES_LIMIT: Duration = Duration::from_secs(60);

fn fmt() -> Result<Outcome> {
    let workspace = watch(cargo("fmt --all --check"))?;
    // A workspace of its own, which `--all` does not see.
    let fuzz = watch(cargo("fmt --manifest-path fuzz/Cargo.toml --check"))?;
    let passed = workspace.status.success() && fuzz.status.success();
    let note = if passed { "" } else { "fix: `cargo fmt --all`, and the same in fuzz/" };
    let lines = [workspace.lines, fuzz.lines].concat();
    Ok(Outcome { note: note.to_owned(), ..Outcome::new(passed, lines) })
}

fn tidy() -> Result<Outcome> {
    let findings = tidy::check()?;
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    for line in &lines {
        say!("{line}");
    }
    let note = if lines.is_empty() { String::new() } else { format!("{} to fix", lines.len()) };
    Ok(Outcome { note, ..Outcome::new(lines.is_empty(), lines) })
}

fn clippy() -> Result<Outcome> {
    let whole = watch(cargo("clippy --workspace --all-targets -- -D warnings"))?;
    if !whole.status.success() {
        return Ok(outcome(whole));
    }
    // What can be left out of the program has to be left out sometimes, or nobody would notice that it cannot.
    let without = watch(cargo("clippy -p ao --no-default-features --all-targets -- -D warnings"))?;
    if !without.status.success() {
        return Ok(outcome(without));
    }
    // And what can be added has to be added.
    Ok(outcome(watch(cargo("clippy -p ao --features otlp --all-targets -- -D warnings"))?))
}

/// A workspace of its own, so nobody else would notice that a target no longer fits what it calls.
fn fuzz() -> Result<Outcome> {
    Ok(outcome(watch(cargo("check --manifest-path fuzz/Cargo.toml --bins"))?))
}

fn deny() -> Result<Outcome> {
    Ok(outcome(watch(cargo("deny check bans licenses sources"))?))
}

/// Checks against the database only if it can be had: an old copy would say less than it seems to.
fn advisories() -> Result<Outcome> {
    let mut fetch = cargo("deny fetch db");
    fetch.env("GIT_TERMINAL_PROMPT", "0");
    let fetched = bounded(fetch, ADVISORIES_LIMIT)?;
    if !fetched.is_some_and(|status| status.success()) {
        say!("the advisory database could not be fetched: known vulnerabilities were not checked");
        return Ok(Outcome::skipped("advisory database unreachable"));
    }
    Ok(outcome(watch(cargo("deny check --disable-fetch advisories"))?))
}

fn nextest() -> Result<Outcome> {
    tests("--workspace")
}

fn otlp() -> Result<Outcome> {
    let agent = watch(cargo("build -p ao-testkit --bin scripted-agent"))?;
    if !agent.status.success() {
        return Ok(outcome(agent));
    }
    tests("-p ao --features otlp otlp::")
}

fn tests(which: &str) -> Result<Outcome> {
    let profile = if std::env::var_os("CI").is_some() { "ci" } else { "default" };
    let finished = watch(cargo(&format!("nextest run --profile {profile} {which}")))?;
    let tests = finished.lines.iter().rev().find_map(|line| nextest_count(line));
    // nextest's own exit code for a build that failed.
    let broken_build = finished.status.code() == Some(101);
    Ok(Outcome { tests, broken_build, ..outcome(finished) })
}

fn doctest() -> Result<Outcome> {
    let finished = watch(cargo("test --workspace --doc --no-fail-fast"))?;
    let counts: Vec<Count> = finished.lines.iter().filter_map(|line| cargo_count(line)).collect();
    let tests = Count {
        passed: counts.iter().map(|count| count.passed).sum(),
        failed: counts.iter().map(|count| count.failed).sum(),
    };
    Ok(Outcome { tests: Some(tests), ..outcome(finished) })
}

fn simulate() -> Result<Outcome> {
    let args = simulate::Args { seeds: Some(SEEDS), ..Default::default() };
    let finished = watch(simulate::command(&args))?;
    Ok(Outcome { note: format!("{SEEDS} seeds"), ..outcome(finished) })
}

fn outcome(finished: Finished) -> Outcome {
    Outcome::new(finished.status.success(), finished.lines)
}

/// Reads `Summary [ 1.2s] 34 tests run: 32 passed (1 slow), 1 failed, 1 timed out, 2 skipped`.
fn nextest_count(line: &str) -> Option<Count> {
    let (_, counts) = line.trim_start().strip_prefix("Summary [")?.split_once("run: ")?;
    let mut total = Count::default();
    for part in without_brackets(counts).split(',') {
        let (number, what) = part.trim().split_once(' ')?;
        let number: usize = number.parse().ok()?;
        match what.trim() {
            "passed" => total.passed += number,
            "skipped" => {}
            // failed, timed out, exec failed, and whatever comes: none of them has passed.
            _ => total.failed += number,
        }
    }
    Some(total)
}

/// What brackets add, such as how many of the passed were slow, is counted already.
fn without_brackets(text: &str) -> String {
    let mut depth = 0;
    let outside = |c: &char| {
        depth += i32::from(*c == '(');
        let outside = depth == 0;
        depth -= i32::from(*c == ')');
        outside
    };
    text.chars().filter(outside).collect()
}

/// Reads `test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s`.
fn cargo_count(line: &str) -> Option<Count> {
    let (_, counts) = line.trim_start().strip_prefix("test result: ")?.split_once(". ")?;
    let number = |what: &str| {
        counts
            .split("; ")
            .find_map(|part| part.strip_suffix(what))
            .and_then(|number| number.trim().parse().ok())
    };
    Some(Count { passed: number("passed")?, failed: number("failed")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nextest_summary_is_counted() {
        let count = |line| nextest_count(line).map(|count| (count.passed, count.failed));
        assert_eq!(count("     Summary [   1.221s] 34 tests run: 34 passed, 0 skipped"), Some((34, 0)));
        assert_eq!(
            count(
                "     Summary [   9.0s] 9/12 tests run: 4 passed (1 slow, 1 leaky), 3 failed (1 due to being leaky), 2 timed out, 1 skipped"
            ),
            Some((4, 5))
        );
        assert_eq!(count("     Running tests/it/main.rs"), None);
    }

    #[test]
    fn cargo_summary_is_counted() {
        let line = "test result: FAILED. 3 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.30s";
        assert_eq!(cargo_count(line), Some(Count { passed: 3, failed: 2 }));
        assert_eq!(cargo_count("test foo ... ok"), None);
    }

    #[test]
    fn steps_have_names_of_their_own() {
        let mut names: Vec<_> = STEPS.iter().chain(WHEN_NAMED).map(|step| step.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len() + WHEN_NAMED.len());
    }
}
