//! `ao simulate`: replays recorded events under another configuration.
//!
//! ```text
//!  recorded events ─► facts ─► simulation: the core with its own clock ─► actions ─► report
//! ```
//!
//! The rules are those of the daemon, because it is the same code; agents, forges and people do what the record has.
//! Changes nothing, sends nothing and needs no daemon.

mod action;
mod agents;
mod replay;
mod report;
mod simulation;

use std::collections::BTreeMap;

use camino::Utf8PathBuf;

use self::replay::Record;
use self::simulation::Simulation;
use crate::cli::context::Context;
use crate::config::settings;
use crate::error::CommandError;
use crate::{findings, ui};

/// Show what a configuration would have done with recorded events
///
/// Runs the configuration against recorded events (`ao events export`, or `ao events --json`). Shows which reactions
/// would run and why, what agents and people would receive, what would be merged, and what would wait. Changes nothing
/// and needs no daemon.
///
/// The record is replayed as it was: what agents and people did then does not change with the configuration. A
/// configuration that cannot work is refused, and a record with missing events causes a warning.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao events export > events.ndjson && ao simulate --config new.yaml --events events.ndjson
  ao simulate --events events.ndjson --json | jq '.summary'")]
pub(crate) struct Args {
    /// Recorded events: the output of `ao events export` or `ao events --json`
    #[arg(long, value_name = "FILE")]
    events: Option<Utf8PathBuf>,
    /// Show every action, however many there are
    #[arg(long)]
    all: bool,
}

/// The begin of records in tests: 2024-01-01 08:00 UTC.
#[cfg(test)]
const MORNING: ao_core::Timestamp = ao_core::Timestamp(1_704_096_000_000);

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let Some(path) = &args.events else {
        return Err(CommandError::user("a simulation needs recorded events")
            .hint("`ao events export > events.ndjson` writes them; then add `--events events.ndjson`")
            .hint("without a record, `ao reactions test` shows the reaction to one event"));
    };
    let loaded = settings::load(cx)?;
    for finding in cx.wait_for(findings::without_errors(&loaded, cx))? {
        finding.print();
    }
    let Record { events, gap } = replay::read(path)?;
    if let Some(gap) = &gap {
        ui::warning(format_args!("{gap}; `ao events export` writes a whole record"));
    }
    let deeds = replay::play(Simulation::new(&loaded.config, events[0].at), events)?;
    report::print(&deeds, &loaded.config, gap.is_none(), args.all, cx)
}

/// Parses a configuration, for tests.
#[cfg(test)]
fn config(text: &str) -> ao_config::shape::Config {
    let home = camino::Utf8Path::new("/nowhere");
    let places = ao_config::Places {
        cwd: home.to_owned(),
        ..ao_config::Places::of_process(ao_daemon::registry::catalog()).expect("a process has places")
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
