//! Runs many worlds, or one again: `cargo xtask simulate`.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ao_testkit::{Config, Fault, Outcome, run};

/// Prints a line to stdout, without the panic of `println!` when its reader has gone.
macro_rules! say {
    ($($words:tt)*) => { line(format_args!($($words)*)) };
}

/// Seeds that once found something. They come first in every run.
const KNOWN: &str = include_str!("../../seeds.txt");

const USAGE: &str = "usage: simulate [--seeds N] [--from S] [--seed X] [--steps N] [--events]

  --seeds N   how many worlds to run [default: 1000]
  --from S    the first seed [default: 0]
  --seed X    run this one world and show what happened in it
  --steps N   how many inputs the engine takes before the faults stop
  --events    count what happened, by kind";

/// How a trace is read.
const LEGEND: &str = "\
# seconds.millis since the world began, then: input (what the engine took), fault (what was made to go wrong), world (the rest)
# below an input: ─► an event that came of it, as the log has it (whom it concerns, its kind, its body); ─x why it was refused
# a census that changed nothing is left out; what is too long for a line ends with …
";

/// How a shell tells that a program was ended by the signal that a missing reader sends.
const NO_READER: i32 = 141;

fn line(words: fmt::Arguments<'_>) {
    if writeln!(io::stdout().lock(), "{words}").is_err() {
        std::process::exit(NO_READER);
    }
}

/// What was asked for on the command line.
struct Args {
    seeds: u64,
    from: u64,
    seed: Option<u64>,
    config: Config,
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

/// By hand: four numbers are no reason to build an argument parser for every simulation.
fn args() -> Result<Args, String> {
    let mut args = Args { seeds: 1000, from: 0, seed: None, config: Config::default() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || -> Result<u64, String> {
            let value = words.next().ok_or_else(|| format!("`{word}` wants a number"))?;
            value.parse().map_err(|_| format!("`{value}` is no number"))
        };
        match word.as_str() {
            "--seeds" => args.seeds = number()?,
            "--from" => args.from = number()?,
            "--seed" => args.seed = Some(number()?),
            "--steps" => args.config.steps = number()?,
            "--events" => args.config.count_events = true,
            other => return Err(format!("what is `{other}`?")),
        }
    }
    Ok(args)
}

/// One world again, with everything that happened in it.
fn replay(seed: u64, config: &Config) -> ExitCode {
    let outcome = run(seed, &Config { trace: 100_000, ..config.clone() });
    say!("{LEGEND}\n{}", outcome.trace.last(usize::MAX));
    match outcome.violation {
        Some(violation) => {
            say!("seed {seed}: {violation}");
            ExitCode::FAILURE
        }
        None => {
            say!("seed {seed}: everything held for {} steps", outcome.steps);
            ExitCode::SUCCESS
        }
    }
}

/// Many worlds, on all cores, a thread each.
fn many(args: &Args) -> ExitCode {
    let known = KNOWN.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok());
    let seeds: Vec<u64> = known.chain(args.from..args.from + args.seeds).collect();
    let kept = seeds.len() as u64 - args.seeds;
    let began = Instant::now();
    let next = AtomicU64::new(0);
    let sum = Mutex::new(Sum::default());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed) as usize) {
                    let outcome = run(*seed, &args.config);
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
    // Told apart while all of them were run, which a failure prevents.
    let seeds = match sum.seeds.checked_sub(kept) {
        Some(asked) if asked == args.seeds => format!("{asked} seeds and {kept} kept ones"),
        _ => format!("{} seeds", sum.seeds),
    };
    say!("{seeds}, {} steps, {speed:.0} steps/s on {threads} threads", sum.steps);
    if !sum.faults.is_empty() {
        say!("faults injected:");
    }
    for (fault, times) in &sum.faults {
        say!("{times:>10}  {fault}");
    }
    if !sum.events.is_empty() {
        say!("events:");
    }
    for (kind, times) in &sum.events {
        say!("{times:>10}  {kind}");
    }
    match sum.broken {
        Some(Outcome { seed, .. }) => failed(seed, &args.config),
        None => {
            say!("everything held");
            ExitCode::SUCCESS
        }
    }
}

/// Runs the failing seed once more, because only now is it worth keeping a trace.
fn failed(seed: u64, config: &Config) -> ExitCode {
    let outcome = run(seed, &Config { trace: 60, ..config.clone() });
    say!("\n{LEGEND}\n{}", outcome.trace.last(60));
    match outcome.violation {
        Some(violation) => say!("seed {seed}: {violation}"),
        None => {
            say!("seed {seed} failed, but holds when it is run again: the world is not deterministic");
        }
    }
    say!("replay: cargo xtask simulate --seed {seed}");
    ExitCode::FAILURE
}

#[derive(Default)]
struct Sum {
    seeds: u64,
    steps: u64,
    faults: BTreeMap<Fault, u64>,
    events: BTreeMap<String, u64>,
    /// The failure with the lowest seed, so that two runs name the same one.
    broken: Option<Outcome>,
}

impl Sum {
    /// Counts an outcome in, and says whether it is a failure.
    fn add(&mut self, outcome: Outcome) -> bool {
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
