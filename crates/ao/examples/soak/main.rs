//! The soak: merges for minutes on end through the real program, and what grows meanwhile.
//!
//! As many issues as there are slots are always on their way; each agent proposes one file, a check passes, and the merge
//! queue lands it. After every minute a line tells how many were merged and what the daemon and the repository hold. With
//! `--kills`, the daemon, the holders of agents and the agents are killed all the while, and everything must be merged or
//! told to a person in the end.
//!
//! `cargo xtask soak` builds and runs it.

mod driver;
mod kills;
mod measure;

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;

use crate::driver::Soak;

#[derive(Debug, clap::Parser)]
#[command(name = "soak", about = "Merge for minutes on end, and watch what grows")]
struct Args {
    /// How long to merge
    #[arg(long, default_value_t = 10)]
    minutes: u32,
    /// How many issues are on their way at a time
    #[arg(long, default_value_t = 8)]
    slots: usize,
    /// How often the daemon, a holder or an agent is killed, spread over the time
    #[arg(long, default_value_t = 0)]
    kills: usize,
    /// The seed that chooses who is killed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Leave the folder as it is, and say where
    #[arg(long)]
    keep: bool,
}

/// The rate of the last minute over that of the first which a run must reach.
const RATIO: f64 = 0.9;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args = Args::parse();
    let time = Duration::from_secs(60 * u64::from(args.minutes));
    let mut soak = Soak::begin(args.slots).await;
    say(&measure::heading());
    let outcome = soak.run(time, args.kills, args.seed).await;
    let mut faults = outcome.faults;
    if let (Some(first), Some(last)) = (outcome.minutes.first(), outcome.minutes.last())
        && outcome.minutes.len() > 1
    {
        let ratio = f64::from(last.merges) / f64::from(first.merges.max(1));
        say(&format!("minute {} over minute 1: {ratio:.2} (at least {RATIO})", outcome.minutes.len()));
        // Who is killed all the while has no rate to speak of.
        if args.kills == 0 && ratio < RATIO {
            faults.push("merges slow down as they grow in number".to_owned());
        }
    }
    if args.keep {
        say(&format!("kept in {}", soak.keep().display()));
    }
    for fault in &faults {
        say(&format!("fault: {fault}"));
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // With nobody left to read it, the exit code says enough.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
