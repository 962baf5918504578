//! `ao events export`

use std::io::{BufWriter, stdout};
use std::ops::Bound;

use ao_ports::Seq;

use crate::cli::context::Context;
use crate::error::CommandError;
use crate::ui;

/// Write events to stdout as JSON, one per line, oldest first
///
/// Works while ao runs, and ends with the last event at the time of the call. Events that cannot be read are left out
/// and counted, and the command then fails after the last line. Without a range, the documents beside the log, such
/// as local issues and pull requests, follow the last event, one per line, each with its `shelf` and `key`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao events export > events.ndjson
  ao events export --from 1000 | jq -r .kind | sort | uniq -c")]
pub(crate) struct Args {
    /// The number of the first event
    #[arg(long, value_name = "N")]
    from: Option<Seq>,
    /// The number of the last event
    #[arg(long, value_name = "N")]
    to: Option<Seq>,
}

pub(super) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    if let (Some(from), Some(to)) = (args.from, args.to)
        && from > to
    {
        let error = format!("the range {from} to {to} is empty: the first number is higher than the last");
        return Err(CommandError::user(error).hint("swap the two numbers"));
    }
    let dir = cx.data_dir()?;
    let store = super::open(&dir)?;
    let from = args.from.map_or(Bound::Unbounded, Bound::Included);
    let to = args.to.map_or(Bound::Unbounded, Bound::Included);
    let mut out = BufWriter::new(stdout().lock());
    let exported = store.export(&mut out, (from, to))?;
    match exported.first_unreadable {
        None if exported.unreadable_records > 0 => Err(CommandError::environment(format!(
            "{} could not be read and are left out",
            ui::count(exported.unreadable_records, "document")
        ))
        .hint("keep the file; `ao events check` shows what is wrong with it")),
        None if exported.events == 0 => {
            let range = if args.from.or(args.to).is_some() { "in this range" } else { "yet" };
            ui::note(format_args!("the event log in `{dir}` has no events {range}"));
            Ok(())
        }
        None => Ok(()),
        Some((seq, fault)) => Err(CommandError::environment(format!(
            "{} of {} could not be read and are left out, the first of them {seq}: {fault}",
            exported.unreadable,
            ui::count(exported.unreadable + exported.events, "event")
        ))
        .hint("keep the file; `ao events check` shows what is wrong with it")),
    }
}
