//! `ao events prune`

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ao_core::Timestamp;
use ao_store::{Options, Retention, Store};

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::ui;

/// Remove old events that are no longer needed to start
///
/// An event is removed only if it is older than the given age and covered by two snapshots, so ao starts with the
/// same state as before. Its history is lost, so make a backup first if you may need it. ao must not be running.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  ao events prune --older-than-days 90")]
pub(crate) struct Args {
    /// Minimum age of the events to remove, in days
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    older_than_days: u32,
}

pub(super) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let dir = cx.data_dir()?;
    // Reports why a directory has no log; opening one for writing would create it.
    drop(super::open(&dir)?);
    let store = Store::open(&dir, Options::default())?;
    let age = Duration::from_secs(u64::from(args.older_than_days) * 24 * 3600);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp(i64::try_from(now.as_millis()).unwrap_or(i64::MAX));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(|err| CommandError::environment(format!("no runtime could be started: {err}")))?;
    let pruned = runtime.block_on(async {
        let pruned = store.prune(Retention { before: now - age }).await;
        store.close().await?;
        pruned
    })?;
    let events = ui::count(pruned.events, "event");
    ui::line(format_args!("{dir}: {events} removed"))?;
    Ok(())
}
