//! Runs many simulated worlds, or replays one: `cargo xtask simulate`.

mod parts;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ao_testkit::{Fault, SimConfig, SimOutcome, run};

use self::parts::parts;

/// Prints a line to stdout, without the panic of `println!` when its reader has gone.
macro_rules! out {
    ($($text:tt)*) => { line(format_args!($($text)*)) };
}

/// Seeds that once found a bug. Every run begins with them.
const KNOWN: &str = include_str!("seeds.txt");

const USAGE: &str = "usage: simulate [--seeds N] [--from S] [--seed X] [--steps N] [--events]

  --seeds N   how many worlds to run [default: 1000]
  --from S    the first seed [default: 0]
  --seed X    run this one world and print its trace
  --steps N   how many inputs the engine takes before the faults stop
  --events    count the events by kind";

/// Explanation of a trace.
const LEGEND: &str = "\
# seconds.millis since the world began, then: input (taken by the engine), fault (injected), world (everything else)
# below an input: ─► an event that followed, as in the log (subject, kind, body); ─x the reason of a refusal
# a census that changed nothing is left out; a long line ends with …
";

/// Exit code by which a shell reports a program that SIGPIPE ended.
const NO_READER: i32 = 141;

fn line(text: fmt::Arguments<'_>) {
    if writeln!(io::stdout().lock(), "{text}").is_err() {
        std::process::exit(NO_READER);
    }
}

/// The arguments of the command line.
struct Args {
    seeds: u64,
    from: u64,
    seed: Option<u64>,
    config: SimConfig,
}

fn main() -> ExitCode {
    match args() {
        Ok(Args { seed: Some(seed), config, .. }) => replay(seed, &config),
        Ok(args) => many(&args),
        Err(wrong) => {
            eprintln!("{wrong}\n{USAGE}");
            ExitCode::FAILURE
        }
    }
}

/// Parses by hand: four numbers do not justify an argument parser in every simulation.
fn args() -> Result<Args, String> {
    let mut args = Args { seeds: 1000, from: 0, seed: None, config: SimConfig::default() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64, String> {
            let value = words.next().ok_or_else(|| format!("`{word}` needs a number"))?;
            value.parse().map_err(|_| format!("`{value}` is not a number"))
        };
        match word.as_str() {
            "--seeds" => args.seeds = number()?,
            "--from" => args.from = number()?,
            "--seed" => args.seed = Some(number()?),
            "--steps" => args.config.steps = number()?,
            "--events" => args.config.count_events = true,
            other => return Err(format!("unknown argument `{other}`")),
        }
    }
    Ok(args)
}

/// Replays one world, with its whole trace.
fn replay(seed: u64, config: &SimConfig) -> ExitCode {
    let outcome = run(seed, &SimConfig { trace: 100_000, ..config.clone() }, &parts());
    out!("{LEGEND}\n{}", outcome.trace.last(usize::MAX));
    match outcome.violation {
        Some(violation) => {
            out!("seed {seed}: {violation}");
            ExitCode::FAILURE
        }
        None => {
            out!("seed {seed}: everything held for {} steps", outcome.steps);
            ExitCode::SUCCESS
        }
    }
}

/// Runs many worlds, on all cores, one thread each.
fn many(args: &Args) -> ExitCode {
    let known = KNOWN.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok());
    let seeds: Vec<u64> = known.chain(args.from..args.from + args.seeds).collect();
    let kept = seeds.len() as u64 - args.seeds;
    let began = Instant::now();
    let next = AtomicU64::new(0);
    let sum = Mutex::new(RunSummary::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    let outcome = run(*seed, &args.config, &parts());
                    if sum.lock().expect("no thread panics while it adds").add(outcome) {
                        // The others stop at their next seed.
                        next.store(u64::from(u32::MAX), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let sum = sum.into_inner().expect("no thread panics while it adds");
    let seconds = began.elapsed().as_secs_f64();
    let speed = sum.steps as f64 / seconds;
    // Counted separately only if all of them ran, which a failure prevents.
    let seeds = match sum.seeds.checked_sub(kept) {
        Some(asked) if asked == args.seeds => format!("{asked} seeds and {kept} kept ones"),
        _ => format!("{} seeds", sum.seeds),
    };
    out!("{seeds}, {} steps, {speed:.0} steps/s on {threads} threads", sum.steps);
    if !sum.faults.is_empty() {
        out!("faults injected:");
    }
    for (fault, times) in &sum.faults {
        out!("{times:>10}  {fault}");
    }
    if !sum.events.is_empty() {
        out!("events:");
    }
    for (kind, times) in &sum.events {
        out!("{times:>10}  {kind}");
    }
    match sum.broken {
        Some(SimOutcome { seed, .. }) => failed(seed, &args.config),
        None => {
            out!("everything held");
            ExitCode::SUCCESS
        }
    }
}

/// Replays the failing seed with a trace, which is too slow for all seeds.
fn failed(seed: u64, config: &SimConfig) -> ExitCode {
    let outcome = run(seed, &SimConfig { trace: 60, ..config.clone() }, &parts());
    out!("\n{LEGEND}\n{}", outcome.trace.last(60));
    match outcome.violation {
        Some(violation) => out!("seed {seed}: {violation}"),
        None => {
            out!("seed {seed} failed, but holds when it is run again: the world is not deterministic");
        }
    }
    out!("replay: cargo xtask simulate --seed {seed}");
    ExitCode::FAILURE
}

#[derive(Default)]
struct RunSummary {
    seeds: u64,
    steps: u64,
    faults: BTreeMap<Fault, u64>,
    events: BTreeMap<String, u64>,
    /// The failure with the lowest seed, so that two runs report the same one.
    broken: Option<SimOutcome>,
}

impl RunSummary {
    /// Adds an outcome, and returns true if it is a failure.
    fn add(&mut self, outcome: SimOutcome) -> bool {
        self.seeds += 1;
        self.steps += outcome.steps;
        for (fault, times) in &outcome.faults {
            *self.faults.entry(*fault).or_default() += times;
        }
        for (kind, times) in &outcome.events {
            *self.events.entry(kind.clone()).or_default() += times;
        }
        let failed = outcome.violation.is_some();
        if failed && self.broken.as_ref().is_none_or(|other| outcome.seed < other.seed) {
            self.broken = Some(outcome);
        }
        failed
    }
}
