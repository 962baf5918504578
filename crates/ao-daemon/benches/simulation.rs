//! Measures the inputs per second of a simulated engine on one core, with every invariant checked.

#![expect(clippy::print_stdout, reason = "a bench prints its own table")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ao_testkit::{SimConfig, run};

#[path = "../simulation/parts.rs"]
mod parts;

/// The budget.
const LIMIT: f64 = 50_000.0;
const LASTS: Duration = Duration::from_secs(6);

fn main() -> ExitCode {
    let (config, parts) = (SimConfig::default(), parts::parts());
    // The first worlds pay for cold caches.
    let mut seeds = 1_000_000..;
    for seed in seeds.by_ref().take(50) {
        run(seed, &config, &parts);
    }
    let (began, used) = (Instant::now(), core_seconds());
    let (mut steps, mut worlds) = (0, 0);
    for seed in seeds {
        let outcome = run(seed, &config, &parts);
        if let Some(violation) = outcome.violation {
            println!("seed {seed}: {violation}");
            return ExitCode::FAILURE;
        }
        (steps, worlds) = (steps + outcome.steps, worlds + 1);
        if began.elapsed() > LASTS {
            break;
        }
    }
    let seconds = match (used, core_seconds()) {
        (Some(before), Some(after)) => after - before,
        _ => began.elapsed().as_secs_f64(),
    };
    let speed = steps as f64 / seconds;
    let verdict = if speed >= LIMIT { "ok" } else { "over" };
    println!("what                            | limit     | measured  | ok/over");
    println!("simulated steps/s on one core   | {LIMIT:>9.0} | {speed:>9.0} | {verdict}");
    println!("({steps} steps of {worlds} worlds, each decided, stored, read back and checked)");
    if speed >= LIMIT { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the CPU time of this process, where the system reports it. On a busy machine the wall clock would measure the
/// other processes.
fn core_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/schedstat").ok()?;
    let nanos: f64 = stat.split_whitespace().next()?.parse().ok()?;
    Some(nanos / 1e9)
}
