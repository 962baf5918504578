//! `ao resume`: a session goes on.

use std::time::Duration;

use ao_api::Resume;

use super::told_state;
use crate::cli::context::Context;
use crate::cli::{completers, duration_arg};
use crate::error::CommandError;

/// Let a paused session go on, with new limits if a budget was spent
///
/// A session that is `capped` has spent its budget, or one that it shares with others has been spent: that of its issue, of
/// its project, of the day. It goes on only with a new limit; `ao budget` shows which.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao resume my-app-3
  ao resume my-app-3 --usd 5
  ao resume my-app-3 --turns 40 --time 2h
  ao resume my-app-3 --of project-day --usd 20   today's limit of its project")]
pub(crate) struct Args {
    /// The session: its name, its id, or a beginning of either that only it has
    #[arg(add = completers::sessions())]
    session: String,
    /// Whose limit it is: the session's own, or one that it shares with others
    #[arg(long, value_name = "BUDGET", value_parser = ["session", "task", "project", "project-day", "day"])]
    of: Option<String>,
    /// The most it may cost, in US dollars
    #[arg(long, value_parser = dollars)]
    usd: Option<f64>,
    /// The most tokens it may use
    #[arg(long)]
    tokens: Option<u64>,
    /// The most turns it may take
    #[arg(long)]
    turns: Option<u64>,
    /// The longest it may work: 30m, 2h
    #[arg(long, value_parser = duration_arg::parse)]
    time: Option<Duration>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let limits = Resume {
        of: args.of.clone(),
        usd: args.usd,
        tokens: args.tokens,
        turns: args.turns,
        seconds: args.time.map(|time| time.as_secs()),
    };
    cx.wait_for(async { told_state(&client.resume(&args.session, &limits).await?, cx) })
}

fn dollars(typed: &str) -> Result<f64, String> {
    match typed.trim_start_matches('$').parse::<f64>() {
        Ok(usd) if usd.is_finite() && usd > 0.0 => Ok(usd),
        _ => Err(format!("`{typed}` is no amount of dollars; write it as 5 or 2.50")),
    }
}
