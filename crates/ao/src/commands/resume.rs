//! `ao resume`: continues a paused session.

use std::time::Duration;

use ao_api::{BudgetKind, Resume};

use super::print_state;
use crate::cli::context::Context;
use crate::cli::{choice, completers, duration_arg};
use crate::error::CommandError;

/// Continue a paused session, with new limits if its budget is used up
///
/// A `capped` session has used up its own budget or one that it shares: that of its issue, its project or the day. It
/// continues only with a new limit; `ao budget` shows which one. A session that has ended is refused; `ao session
/// restore` restores it.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao resume my-app-3
  ao resume my-app-3 --usd 5
  ao resume my-app-3 --turns 40 --time 2h
  ao resume my-app-3 --of project-day --usd 20   today's limit of its project")]
pub(crate) struct Args {
    /// The session: its name, its id, or a unique prefix of either
    #[arg(add = completers::sessions())]
    session: String,
    /// The budget to raise: the session's own, or one that it shares
    #[arg(long, value_name = "BUDGET", value_parser = choice::<BudgetKind>())]
    of: Option<BudgetKind>,
    /// Maximum cost, in US dollars
    #[arg(long, value_parser = dollars)]
    usd: Option<f64>,
    /// Maximum number of tokens
    #[arg(long)]
    tokens: Option<u64>,
    /// Maximum number of turns
    #[arg(long)]
    turns: Option<u64>,
    /// Maximum working time: 30m, 2h
    #[arg(long, value_parser = duration_arg::parse)]
    time: Option<Duration>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let limits = Resume {
        of: args.of,
        usd: args.usd,
        tokens: args.tokens,
        turns: args.turns,
        seconds: args.time.map(|time| time.as_secs()),
    };
    cx.call(async |client| print_state(&client.resume(&args.session, &limits).await?, cx))
}

fn dollars(typed: &str) -> Result<f64, String> {
    match typed.trim_start_matches('$').parse::<f64>() {
        Ok(usd) if usd.is_finite() && usd > 0.0 => Ok(usd),
        _ => Err(format!("`{typed}` is not an amount in dollars; write it as 5 or 2.50")),
    }
}
