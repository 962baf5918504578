//! The steps of `cargo xtask test`, cheapest first.

use std::num::NonZero;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::Result;

use super::{StepOutcome, TestCount};
use crate::process::{FinishedProcess, bounded, cargo, watch};
use crate::tools::{self, NeededTool};
use crate::{agents, simulate, tidy};

/// A step of the test run.
pub(super) struct TestStep {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) needs: &'static [NeededTool],
    /// `true` if it compiles the workspace, so that it is skipped once that has failed.
    pub(super) needs_build: bool,
    pub(super) run: fn() -> Result<StepOutcome>,
}

pub(super) const STEPS: &[TestStep] = &[
    TestStep {
        name: "fmt",
        about: "the code is formatted",
        needs: &[tools::RUSTFMT],
        needs_build: false,
        run: fmt,
    },
    TestStep {
        name: "tidy",
        about: "rules of this repository, such as allowed dependencies between crates",
        needs: &[tools::GIT],
        needs_build: false,
        run: tidy,
    },
    TestStep {
        name: "deny",
        about: "dependencies: licenses, sources, bans",
        needs: &[tools::DENY],
        needs_build: false,
        run: deny,
    },
    TestStep {
        name: "advisories",
        about: "dependencies: known vulnerabilities",
        needs: &[tools::DENY, tools::GIT],
        needs_build: false,
        run: advisories,
    },
    TestStep {
        name: "clippy",
        about: "lints, with warnings as errors",
        needs: &[tools::CLIPPY, tools::CC],
        needs_build: false,
        run: clippy,
    },
    TestStep {
        name: "fuzz",
        about: "the fuzz targets compile; `cargo xtask fuzz` runs them",
        needs: &[tools::CXX],
        needs_build: false,
        run: fuzz,
    },
    TestStep {
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
            tools::SETPRIV,
            tools::SYSTEMD,
        ],
        needs_build: true,
        run: nextest,
    },
    TestStep {
        name: "agents",
        about: "the real agents against a stand-in for the model APIs",
        needs: &[tools::NEXTEST, tools::CC, tools::GIT],
        needs_build: true,
        run: agents,
    },
    TestStep {
        name: "doctest",
        about: "examples in the docs",
        needs: &[tools::CC],
        needs_build: true,
        run: doctest,
    },
    TestStep {
        name: "simulate",
        about: "the engine, its looks and its jobs in worlds full of faults",
        needs: &[tools::CC],
        needs_build: true,
        run: simulate,
    },
];

/// Steps that run only when they are named: each builds the program once more.
pub(super) const WHEN_NAMED: &[TestStep] = &[TestStep {
    name: "otlp",
    about: "the tests of the feature `otlp`; runs only when it is named",
    needs: &[tools::NEXTEST, tools::CC, tools::GIT],
    needs_build: true,
    run: otlp,
}];

/// Enough worlds for a minute; `cargo xtask simulate` runs any number.
const SEEDS: u64 = 5000;

/// Tests that run at once on one core. Most of them wait for programs most of the time.
const TESTS_PER_CORE: usize = 3;

/// Time limit of a fetch of a few megabytes.
const ADVISORIES_LIMIT: Duration = Duration::from_secs(60);

fn fmt() -> Result<StepOutcome> {
    let workspace = watch(cargo("fmt --all --check"))?;
    // A separate workspace, which `--all` does not include.
    let fuzz = watch(cargo("fmt --manifest-path fuzz/Cargo.toml --check"))?;
    let passed = workspace.status.success() && fuzz.status.success();
    let note = if passed { "" } else { "fix: `cargo fmt --all`, and the same in fuzz/" };
    let lines = [workspace.lines, fuzz.lines].concat();
    Ok(StepOutcome { note: note.to_owned(), ..StepOutcome::new(passed, lines) })
}

fn tidy() -> Result<StepOutcome> {
    let findings = tidy::check()?;
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    for line in &lines {
        say!("{line}");
    }
    let note = if lines.is_empty() { String::new() } else { format!("{} to fix", lines.len()) };
    Ok(StepOutcome { note, ..StepOutcome::new(lines.is_empty(), lines) })
}

fn clippy() -> Result<StepOutcome> {
    let whole = watch(cargo("clippy --workspace --all-targets -- -D warnings"))?;
    if !whole.status.success() {
        return Ok(outcome(whole));
    }
    // Builds without optional features break unnoticed unless they are built regularly, and so do features that are
    // off by default. The whole workspace is named, because a smaller choice of packages changes the features of
    // their dependencies, which would all be built again.
    let without = watch(cargo("clippy --workspace --no-default-features -- -D warnings"))?;
    if !without.status.success() {
        return Ok(outcome(without));
    }
    Ok(outcome(watch(cargo("clippy --workspace --features ao/otlp -- -D warnings"))?))
}

/// Compiles the fuzz targets. They are a separate workspace, so no other step would notice that they no longer compile.
/// The target folder is that of the main workspace, where most of their dependencies are checked already.
fn fuzz() -> Result<StepOutcome> {
    Ok(outcome(watch(cargo("check --manifest-path fuzz/Cargo.toml --bins --target-dir target"))?))
}

fn deny() -> Result<StepOutcome> {
    Ok(outcome(watch(cargo("deny check bans licenses sources"))?))
}

/// Checks advisories only if the database can be fetched: an old copy would give false confidence.
fn advisories() -> Result<StepOutcome> {
    let mut fetch = cargo("deny fetch db");
    fetch.env("GIT_TERMINAL_PROMPT", "0");
    let fetched = bounded(fetch, ADVISORIES_LIMIT)?;
    if !fetched.is_some_and(|status| status.success()) {
        say!("the advisory database could not be fetched: known vulnerabilities were not checked");
        return Ok(StepOutcome::skipped("advisory database unreachable"));
    }
    Ok(outcome(watch(cargo("deny check --disable-fetch advisories"))?))
}

/// The tests named `as_root_…` are another user, or mount a disk; without the right to do so, they are left out visibly.
fn nextest() -> Result<StepOutcome> {
    let probe = Command::new("unshare").args(["--mount", "true"]).output();
    if probe.is_ok_and(|output| output.status.success()) {
        return tests("--workspace");
    }
    let outcome = tests("--workspace -E not(test(/as_root_/))")?;
    Ok(StepOutcome { note: "without the tests that need root".to_owned(), ..outcome })
}

/// Installs the real agents and runs the tests that need them. A machine without npm, its registry or the right to make
/// namespaces cannot, which is no failure of the code.
fn agents() -> Result<StepOutcome> {
    // Like the build of the step before, which includes the programs of the testkit.
    let built = watch(cargo("nextest run --workspace --no-run"))?;
    if !built.status.success() {
        return Ok(StepOutcome { broken_build: true, ..outcome(built) });
    }
    // The cheap check goes first, since npm is large.
    for (needed, task) in [(&agents::BOX[..], "--check"), (&[tools::NPM][..], "--install")] {
        if let Err(err) = tools::ensure(needed) {
            say!("{err:#}\nthe real agents were not tested");
            return Ok(StepOutcome::skipped(format!("real agents: {}", first_line(&err.to_string()))));
        }
        let mut program = agents::program();
        program.arg(task);
        let ready = watch(program)?;
        if ready.status.code() == Some(agents::UNAVAILABLE) {
            say!("the real agents were not tested");
            return Ok(StepOutcome::skipped(ready.lines.last().map_or("not available", String::as_str)));
        }
        if !ready.status.success() {
            return Ok(outcome(ready));
        }
    }
    tests("--workspace --ignore-default-filter -E test(/^real_agents::/)")
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

fn otlp() -> Result<StepOutcome> {
    let agent = watch(cargo("build -p ao-testkit --bin scripted-agent"))?;
    if !agent.status.success() {
        return Ok(outcome(agent));
    }
    tests("-p ao --features otlp otlp::")
}

fn tests(which: &str) -> Result<StepOutcome> {
    let profile = if std::env::var_os("CI").is_some() { "ci" } else { "default" };
    let threads = TESTS_PER_CORE * available_parallelism().map_or(1, NonZero::get);
    let finished =
        watch(cargo(&format!("nextest run --profile {profile} --test-threads {threads} {which}")))?;
    let tests = finished.lines.iter().rev().find_map(|line| nextest_count(line));
    // The exit code of nextest for a failed build.
    let broken_build = finished.status.code() == Some(101);
    Ok(StepOutcome { tests, broken_build, ..outcome(finished) })
}

fn doctest() -> Result<StepOutcome> {
    let finished = watch(cargo("test --workspace --doc --no-fail-fast"))?;
    let counts: Vec<TestCount> = finished.lines.iter().filter_map(|line| cargo_count(line)).collect();
    let tests = TestCount {
        passed: counts.iter().map(|count| count.passed).sum(),
        failed: counts.iter().map(|count| count.failed).sum(),
    };
    Ok(StepOutcome { tests: Some(tests), ..outcome(finished) })
}

fn simulate() -> Result<StepOutcome> {
    let args = simulate::Args { seeds: Some(SEEDS), ..Default::default() };
    let built = watch(simulate::build())?;
    if !built.status.success() {
        return Ok(outcome(built));
    }
    let finished = watch(simulate::command(&args))?;
    Ok(StepOutcome { note: format!("{SEEDS} seeds"), ..outcome(finished) })
}

fn outcome(finished: FinishedProcess) -> StepOutcome {
    StepOutcome::new(finished.status.success(), finished.lines)
}

/// Parses `Summary [ 1.2s] 34 tests run: 32 passed (1 slow), 1 failed, 1 timed out, 2 skipped`.
fn nextest_count(line: &str) -> Option<TestCount> {
    let (_, counts) = line.trim_start().strip_prefix("Summary [")?.split_once("run: ")?;
    let mut total = TestCount::default();
    for part in without_brackets(counts).split(',') {
        let (number, what) = part.trim().split_once(' ')?;
        let number: usize = number.parse().ok()?;
        match what.trim() {
            "passed" => total.passed += number,
            "skipped" => {}
            // failed, timed out, exec failed and any other: none of them has passed.
            _ => total.failed += number,
        }
    }
    Some(total)
}

/// Removes remarks in brackets, such as the number of slow tests, which are counted already.
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

/// Parses `test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.1s`.
fn cargo_count(line: &str) -> Option<TestCount> {
    let (_, counts) = line.trim_start().strip_prefix("test result: ")?.split_once(". ")?;
    let number = |what: &str| {
        counts
            .split("; ")
            .find_map(|part| part.strip_suffix(what))
            .and_then(|number| number.trim().parse().ok())
    };
    Some(TestCount { passed: number("passed")?, failed: number("failed")? })
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
        assert_eq!(cargo_count(line), Some(TestCount { passed: 3, failed: 2 }));
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
