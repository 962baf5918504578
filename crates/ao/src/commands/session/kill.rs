//! `ao session kill`: the end of a session, and of its workspace if nothing is lost by that.

use ao_api::{CleanupOrder, Decision, Stop};

use crate::commands::stop;
use crate::context::Context;
use crate::error::CommandError;
use crate::show::{self, Canvas};
use crate::{calls, complete, ui};

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
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    cx.wait_for(async {
        for session in &args.sessions {
            let order = Stop { why: args.why.clone(), cleanup: false };
            let ended = stop::one(&client, session, &order).await?;
            let order = CleanupOrder { session: Some(ended.id.clone()), ..CleanupOrder::default() };
            let cleanup = calls::cleanup(&client, &order).await?;
            if cx.json() {
                ui::json(&cleanup)?;
                continue;
            }
            ui::line(format_args!("{}: {}", ended.name, ended.status.state))?;
            ui::text(match cleanup.trees.is_empty() {
                true => "its workspace is gone already\n".to_owned(),
                false => show::cleanup(&cleanup, Canvas::here()),
            })?;
            if cleanup.trees.iter().any(|tree| tree.decision == Decision::Keep) {
                ui::note(format_args!("its work is kept on branch {}", ended.branch));
            }
        }
        Ok(())
    })
}
