//! `cargo xtask fuzz`: feeds random bytes to every parser of outside input.
//!
//! Runs without a sanitizer, for two reasons. Our code forbids `unsafe`, so only panics, hangs and broken promises can
//! be found, and without AddressSanitizer five times as many inputs are tried. Also it works with the stable toolchain
//! that builds the product; the sanitizer would need a nightly one.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::process::{FinishedProcess, cargo, root, success_if, watch};
use crate::{say, tools};

/// Fuzz each target for a while.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Seconds for which each target runs.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Only these targets; by default all.
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let known = known_targets()?;
    for target in &args.targets {
        ensure!(
            known.contains(target),
            "no fuzz target is called `{target}`; there are: {}",
            known.join(", ")
        );
    }
    tools::ensure(&[tools::CXX, tools::FUZZ])?;
    plant_seeds()?;
    say::aside("building…");
    let targets = if args.targets.is_empty() { &known } else { &args.targets };

    let mut results = Vec::new();
    for target in targets {
        say!("\n── {target} ──");
        let options = format!("-max_total_time={} -verbosity=0 -print_final_stats=1", args.seconds);
        let finished = watch(cargo(&format!("fuzz run --sanitizer none {target} -- {options}")))?;
        results.push((target, finished));
    }

    say!("");
    for (target, finished) in &results {
        let verdict = if finished.status.success() { "ok" } else { "failed: see fuzz/artifacts" };
        say!("{target:<24} {:>12} inputs  {verdict}", inputs_tried(finished).unwrap_or("?"));
    }
    let failed = results.iter().filter(|(_, finished)| !finished.status.success()).count();
    say!("{} held, {failed} failed", results.len() - failed);
    Ok(success_if(failed == 0))
}

/// Fills the corpus with the stored events of every released version, the example configurations and outputs of failed
/// checks: the fuzzer gets further from valid inputs than from nothing.
fn plant_seeds() -> Result<()> {
    let corpus = root().join("fuzz/corpus");
    fs::create_dir_all(corpus.join("config"))?;
    let document = fs::read_to_string(root().join("crates/ao/tests/fixtures/surface.md"))?;
    for (n, block) in document.split("```yaml\n").skip(1).enumerate() {
        fs::write(
            corpus.join("config").join(format!("{n}.yaml")),
            block.split("```").next().unwrap_or(block),
        )?;
    }
    let outputs = root().join("crates/ao-scm/tests/fixtures/failure");
    fs::create_dir_all(corpus.join("failure"))?;
    for entry in fs::read_dir(&outputs).with_context(|| format!("failed to read {}", outputs.display()))? {
        let entry = entry?;
        fs::copy(entry.path(), corpus.join("failure").join(entry.file_name()))?;
    }
    let fixtures = root().join("crates/ao-core/tests/fixtures");
    for dir in ["replay", "event_decode"] {
        fs::create_dir_all(corpus.join(dir))?;
    }
    for entry in fs::read_dir(&fixtures).with_context(|| format!("failed to read {}", fixtures.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let log = fs::read_to_string(entry.path())?;
        fs::write(corpus.join("replay").join(&name), &log)?;
        for (n, line) in log.lines().enumerate() {
            let event: Value =
                serde_json::from_str(line).with_context(|| format!("{name} line {}", n + 1))?;
            let word = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
            let seed =
                format!("{}\n{}\n{}\n{}", word("kind"), event["version"], word("scope"), event["body"]);
            fs::write(corpus.join("event_decode").join(format!("{name}-{n}")), seed)?;
        }
    }
    Ok(())
}

/// Returns the targets, from cargo instead of cargo-fuzz, which may not be installed yet.
fn known_targets() -> Result<Vec<String>> {
    let output = cargo("metadata --no-deps --format-version 1 --manifest-path fuzz/Cargo.toml").output()?;
    ensure!(
        output.status.success(),
        "failed to list fuzz targets\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let targets = metadata["packages"][0]["targets"].as_array().into_iter().flatten();
    let targets: Vec<String> =
        targets.filter_map(|target| Some(target["name"].as_str()?.to_owned())).collect();
    ensure!(!targets.is_empty(), "there are no fuzz targets in fuzz/Cargo.toml");
    Ok(targets)
}

fn inputs_tried(finished: &FinishedProcess) -> Option<&str> {
    finished.lines.iter().find_map(|line| line.strip_prefix("stat::number_of_executed_units:")).map(str::trim)
}
