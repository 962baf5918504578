//! The gauntlet: many scripted issues at once through the real program, with everything going wrong that does go wrong.
//!
//! Each issue has a trouble, dealt by the seed: red checks, comments, conflicts, flakes, agents that crash, lie, stop, hang,
//! ask or run into a provider's limit; and the daemon is killed all the while. What must hold at the end: whoever could be
//! helped without a person was, nobody was called for nothing, whoever needed a person got one, `main` passed its check at
//! every step, and nothing is left behind.
//!
//! `cargo xtask gauntlet` builds and runs it. The times are those of the machine, so a seed gives the same troubles and the
//! same waits again, but not the same moments.

mod place;
mod report;
mod run;
mod trouble;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

#[derive(Debug, clap::Parser)]
#[command(name = "gauntlet", about = "Many issues at once, with everything going wrong that does go wrong")]
struct Args {
    /// How many issues
    #[arg(long, default_value_t = 40)]
    issues: usize,
    /// The seed that deals the troubles
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many seeds to try, from that one on
    #[arg(long, default_value_t = 1)]
    seeds: u64,
    /// How often the daemon is killed [default: once for every four issues]
    #[arg(long)]
    kills: Option<usize>,
    /// Leave the place as it is when something did not hold, and say where
    #[arg(long)]
    keep: bool,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let kills = args.kills.unwrap_or(args.issues.div_ceil(4));
    let mut bad = Vec::new();
    for seed in args.seed..args.seed.saturating_add(args.seeds) {
        say(&format!("seed {seed}: {} issues, the daemon is killed {kills} times", args.issues));
        let (place, mut report) = run::run(args.issues, seed, kills);
        report.leftovers(&place);
        say(&report.to_string());
        if report.faults().is_empty() {
            continue;
        }
        bad.push(seed.to_string());
        if args.keep {
            say(&format!("kept in {}", place.keep().display()));
        }
    }
    if bad.is_empty() {
        return ExitCode::SUCCESS;
    }
    say(&format!("did not hold for: {}", bad.join(", ")));
    say(&format!("again: cargo xtask gauntlet --issues {} --seed {}", args.issues, bad[0]));
    ExitCode::FAILURE
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // With nobody left to read it, the exit code says enough.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
