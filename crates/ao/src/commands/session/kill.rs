//! `ao session kill`: the end of a session, and of its workspace if nothing is lost by that.

use std::time::Duration;

use ao_api::{Cleanup, CleanupOrder, Decision, Session, Stop};

use crate::commands::stop;
use crate::context::Context;
use crate::error::CommandError;
use crate::show::{self, Canvas};
use crate::{calls, complete, span, ui};

/// Stop a session and remove its workspace, if nothing is lost by that
///
/// The workspace goes only if all of its work is safe elsewhere; otherwise it is kept, and you are told why. It is no error
/// if there is nothing left to remove, so it can be repeated.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao session kill my-app-3
  ao session restore my-app-3   brings the last state of a removed workspace back")]
pub(crate) struct Args {
    /// The sessions
    #[arg(required = true, value_name = "SESSION", add = complete::sessions())]
    sessions: Vec<String>,
    /// Why, for the record
    #[arg(long)]
    why: Option<String>,
    /// How long to wait for each to end: 30, 30s, 5m
    #[arg(long, short, default_value = "2m", value_parser = span::parse)]
    timeout: Duration,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let order = Stop { why: args.why.clone(), cleanup: false };
    let kill = async |session: &str| {
        let ended = stop::one(&client, session, &order, args.timeout).await?;
        let order = CleanupOrder { session: Some(ended.id.clone()), ..CleanupOrder::default() };
        let cleanup = calls::cleanup(&client, &order).await?;
        Ok((ended, cleanup))
    };
    cx.wait_for(stop::each(&args.sessions, "killed", kill, |(ended, cleanup)| tell(&ended, &cleanup, cx)))
}

fn tell(ended: &Session, cleanup: &Cleanup, cx: &Context) -> Result<(), CommandError> {
    if cx.json() {
        return Ok(ui::json(cleanup)?);
    }
    ui::line(format_args!("{}: {}", ended.name, ended.status.state))?;
    ui::text(match cleanup.trees.is_empty() {
        true => "its workspace is gone already\n".to_owned(),
        false => show::cleanup(cleanup, Canvas::here()),
    })?;
    if cleanup.trees.iter().any(|tree| tree.decision == Decision::Keep) {
        ui::note(format_args!("its work is kept on branch {}", ended.branch));
    }
    Ok(())
}
