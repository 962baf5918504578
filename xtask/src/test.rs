//! `cargo xtask test`: runs all checks and tests, the cheapest first.
//!
//! All steps run even if an early one fails, so that one run shows everything. The exception is code that does not
//! compile: once the tests do not build, steps that need the same code are skipped.

mod steps;
mod summary;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::builder::PossibleValuesParser;

use crate::process::success_if;
use crate::tools;
use steps::{STEPS, TestStep, WHEN_NAMED};

/// Run all checks and tests; install what they need first.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run only this step; may be given more than once.
    #[arg(long, value_name = "STEP", value_parser = PossibleValuesParser::new(STEPS.iter().chain(WHEN_NAMED).map(|step| step.name)))]
    only: Vec<String>,
    /// List the steps and stop.
    #[arg(long)]
    list: bool,
}

/// The verdict of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
enum StepVerdict {
    Passed,
    Failed,
    /// Not run, for this reason. The reason is in the table, so that it never looks like a pass.
    Skipped(String),
}

/// The result of a step.
#[derive(Debug)]
struct StepOutcome {
    verdict: StepVerdict,
    /// The number of tests it ran, if it ran any.
    tests: Option<TestCount>,
    /// The remark in the table.
    note: String,
    /// Its output, which is shown again if it failed.
    lines: Vec<String>,
    /// `true` if the code did not compile.
    broken_build: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct TestCount {
    passed: usize,
    failed: usize,
}

/// A line of the final table.
#[derive(Debug)]
struct SummaryRow {
    step: &'static str,
    outcome: StepOutcome,
    took: Duration,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.list {
        for step in STEPS.iter().chain(WHEN_NAMED) {
            say!("{:<12} {}", step.name, step.about);
        }
        return Ok(ExitCode::SUCCESS);
    }

    let named = |step: &&TestStep| args.only.iter().any(|name| name == step.name);
    let chosen = || {
        let usual = STEPS.iter().filter(move |step| args.only.is_empty() || named(step));
        usual.chain(WHEN_NAMED.iter().filter(named))
    };
    let needed: Vec<_> = chosen().flat_map(|step| step.needs).copied().collect();
    tools::ensure(&needed)?;

    let mut rows: Vec<SummaryRow> = Vec::new();
    for step in chosen() {
        say!("\n── {} ── {}", step.name, step.about);
        let started = Instant::now();
        let outcome = if step.needs_build && rows.iter().any(|row| row.outcome.broken_build) {
            StepOutcome::skipped("the code does not compile")
        } else {
            // A step that cannot even be started has failed; the others still run.
            (step.run)().unwrap_or_else(|err| StepOutcome::failed(vec![format!("{err:#}")]))
        };
        rows.push(SummaryRow { step: step.name, outcome, took: started.elapsed() });
    }

    say!("\n{}", summary::render(&rows).trim_end());
    Ok(success_if(rows.iter().all(|row| row.outcome.verdict != StepVerdict::Failed)))
}

impl StepOutcome {
    fn new(passed: bool, lines: Vec<String>) -> StepOutcome {
        let verdict = if passed { StepVerdict::Passed } else { StepVerdict::Failed };
        StepOutcome { verdict, tests: None, note: String::new(), lines, broken_build: false }
    }

    fn failed(lines: Vec<String>) -> StepOutcome {
        StepOutcome::new(false, lines)
    }

    fn skipped(reason: impl Into<String>) -> StepOutcome {
        StepOutcome { verdict: StepVerdict::Skipped(reason.into()), ..StepOutcome::new(true, Vec::new()) }
    }
}
