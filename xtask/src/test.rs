//! `cargo xtask test`: everything that must hold, in order of cheapness.
//!
//! All steps run even if an early one fails, so that one run shows everything. The exception is what cannot be
//! built: once the tests do not compile, steps that need the same code are not run and say so.

mod steps;
mod summary;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::builder::PossibleValuesParser;

use crate::process::success_if;
use crate::tools;
use steps::{STEPS, Step, WHEN_NAMED};

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

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Verdict {
    Passed,
    Failed,
    /// It could not be tried, and why. Never a silent pass: the reason stands in the table.
    Skipped(&'static str),
}

/// What a step found.
#[derive(Debug)]
struct Outcome {
    verdict: Verdict,
    /// How many tests it ran, if it ran any.
    tests: Option<Count>,
    /// What the table says beside it.
    note: String,
    /// What it printed, to be shown again if it failed.
    lines: Vec<String>,
    /// Whether the code could not be compiled.
    broken_build: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Count {
    passed: usize,
    failed: usize,
}

/// A line of the closing table.
#[derive(Debug)]
struct Row {
    step: &'static str,
    outcome: Outcome,
    took: Duration,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.list {
        for step in STEPS.iter().chain(WHEN_NAMED) {
            say!("{:<12} {}", step.name, step.about);
        }
        return Ok(ExitCode::SUCCESS);
    }

    let named = |step: &&Step| args.only.iter().any(|name| name == step.name);
    let chosen = || {
        let usual = STEPS.iter().filter(move |step| args.only.is_empty() || named(step));
        usual.chain(WHEN_NAMED.iter().filter(named))
    };
    let needed: Vec<_> = chosen().flat_map(|step| step.needs).copied().collect();
    tools::ensure(&needed)?;

    let mut rows: Vec<Row> = Vec::new();
    for step in chosen() {
        say!("\n── {} ── {}", step.name, step.about);
        let started = Instant::now();
        let outcome = if step.needs_build && rows.iter().any(|row| row.outcome.broken_build) {
            Outcome::skipped("the code does not compile")
        } else {
            // A step that cannot even be started has failed; the others still have their say.
            (step.run)().unwrap_or_else(|err| Outcome::failed(vec![format!("{err:#}")]))
        };
        rows.push(Row { step: step.name, outcome, took: started.elapsed() });
    }

    say!("\n{}", summary::render(&rows).trim_end());
    Ok(success_if(rows.iter().all(|row| row.outcome.verdict != Verdict::Failed)))
}

impl Outcome {
    fn new(passed: bool, lines: Vec<String>) -> Outcome {
        let verdict = if passed { Verdict::Passed } else { Verdict::Failed };
        Outcome { verdict, tests: None, note: String::new(), lines, broken_build: false }
    }

    fn failed(lines: Vec<String>) -> Outcome {
        Outcome::new(false, lines)
    }

    fn skipped(reason: &'static str) -> Outcome {
        Outcome { verdict: Verdict::Skipped(reason), ..Outcome::new(true, Vec::new()) }
    }
}
