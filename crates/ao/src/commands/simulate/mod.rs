//! `ao simulate`: what a configuration would have done, with recorded or made-up events.
//!
//! ```text
//!  recorded events ─┐
//!                   ├─► facts ─► simulation: the core with its own clock ─► actions ─► report
//!  a made-up world ─┘                    ▲                        │
//!                                        └─ the world reacts ◄────┘
//! ```
//!
//! The rules are those of the daemon, because it is the same code; agents, forges and people are simulated. Changes
//! nothing, sends nothing and needs no daemon.

mod action;
mod agents;
mod replay;
mod report;
mod simulation;
mod world;

use std::collections::BTreeMap;

use ao_core::Timestamp;
use ao_daemon::config;
use camino::Utf8PathBuf;

use self::simulation::Simulation;
use crate::cli::context::Context;
use crate::error::{CommandError, FailureKind};

/// Show what a configuration would do, with recorded or made-up events
///
/// Runs the configuration against recorded events (`ao events export`, or `ao events --json`), or against a made-up
/// world with agents that fail, ask, stop and conflict. Shows which reactions would run and why, what agents and
/// people would receive, what would be merged, and what would wait. Changes nothing and needs no daemon.
///
/// A recording is replayed as it was: what agents and people did then does not change with the configuration. In a
/// made-up world they react.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao simulate --config new.yaml
  ao simulate --config new.yaml --seed 7 --sessions 20 --days 3
  ao events export > events.ndjson && ao simulate --config new.yaml --events events.ndjson
  ao simulate --json | jq '.summary'")]
pub(crate) struct Args {
    /// Recorded events: the output of `ao events export` or `ao events --json`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seed", "sessions", "days"])]
    events: Option<Utf8PathBuf>,
    /// The seed of the made-up world
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of sessions in it
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=500))]
    sessions: u32,
    /// Number of days it lasts
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=60))]
    days: u32,
    /// Show every action, however many there are
    #[arg(long)]
    all: bool,
}

/// A made-up world begins on a Monday morning: 2024-01-01 08:00 UTC.
const MORNING: Timestamp = Timestamp(1_704_096_000_000);

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let file = match cx.config() {
        Some(file) => Some(absolute(file)?),
        None => configs_here()?,
    };
    let loaded = config::load(file.as_deref())?;
    let deeds = match &args.events {
        Some(path) => {
            let events = replay::read(path)?;
            let begins = events.first().map_or(MORNING, |event| event.at);
            replay::play(Simulation::new(&loaded.config, begins), events)?
        }
        None => {
            let simulation = Simulation::new(&loaded.config, MORNING);
            world::play(simulation, &loaded.config, args.seed, args.sessions, args.days)?
        }
    };
    let channels = report::NoticeChannels::of(&loaded.config);
    report::print(&deeds, &channels, args.all, cx)
}

fn absolute(path: &camino::Utf8Path) -> Result<Utf8PathBuf, CommandError> {
    let path = std::path::absolute(path).map_err(CommandError::environment)?;
    Utf8PathBuf::from_path_buf(path)
        .map_err(|path| CommandError::new(FailureKind::User, format!("`{}` is not UTF-8", path.display())))
}

/// Returns the configuration file in use in the current folder.
fn configs_here() -> Result<Option<Utf8PathBuf>, CommandError> {
    let places = ao_config::Places::of_process().map_err(config::config_error)?;
    let loaded = ao_config::load(&places).map_err(config::config_error)?;
    Ok(loaded.main_file().map(camino::Utf8Path::to_owned))
}

/// Parses a configuration, for tests.
#[cfg(test)]
fn config(text: &str) -> ao_config::shape::Config {
    let home = camino::Utf8Path::new("/nowhere");
    let places = ao_config::Places {
        cwd: home.to_owned(),
        ..ao_config::Places::of_process().expect("a process has places")
    };
    ao_config::parse_str(&home.join("ao.yaml"), text, &places).expect("it is right").config
}

/// Counts equal things.
fn counted<K: Ord>(things: impl IntoIterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for thing in things {
        *counts.entry(thing).or_default() += 1;
    }
    counts
}
