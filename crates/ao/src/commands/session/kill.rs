//! `ao session kill`: stops a session and removes its workspace, if no work is lost or the user confirms.

use std::time::Duration;

use ao_api::client::Client;
use ao_api::{Cleanup, CleanupOrder, Decision, Session, Stop};

use crate::cli::context::Context;
use crate::cli::{completers, duration_arg, text_input};
use crate::client::find_session;
use crate::commands::stop;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// Stop a session and remove its workspace, if no work is lost
///
/// The workspace is removed only if all of its work is saved elsewhere; otherwise it is kept, with the reason. It is
/// no error if nothing is left to remove, so the command can be repeated.
///
/// `--discard` throws the work away: the command lists the files and commits, and asks. A rescue ref keeps the last
/// state for a while, except ignored files and the contents of submodules.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao session kill my-app-3
  ao session kill my-app-3 --discard         shows what is lost, and asks
  ao session kill my-app-3 --discard --yes   does not ask
  ao session restore my-app-3   brings the last state of a removed workspace back")]
pub(crate) struct Args {
    /// The sessions
    #[arg(required = true, value_name = "SESSION", add = completers::sessions())]
    sessions: Vec<String>,
    /// The reason, for the log
    #[arg(long)]
    why: Option<String>,
    /// Throw its work away, including uncommitted and unpushed changes
    #[arg(long)]
    discard: bool,
    /// Do not ask before work is thrown away
    #[arg(long, short, requires = "discard")]
    yes: bool,
    /// Maximum time to wait for each session to end: 30, 30s, 5m
    #[arg(long, short, default_value = "2m", value_parser = duration_arg::parse)]
    timeout: Duration,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let order = Stop { why: args.why.clone(), cleanup: false };
    let kill = async |session: &str| {
        let ended = match args.discard {
            true => {
                // Use the full name from here on, so that no other session is discarded than the one confirmed.
                let known = find_session(&client, session).await?;
                consent(&client, &known, args, cx).await?;
                stop::one(&client, &known.name, &order, args.timeout).await?
            }
            false => stop::one(&client, session, &order, args.timeout).await?,
        };
        let discard = args.discard;
        let order = CleanupOrder { session: Some(ended.id.clone()), discard, ..CleanupOrder::default() };
        let cleanup = client.cleanup(&order).await?;
        Ok((ended, cleanup))
    };
    cx.wait_for(stop::each(&args.sessions, "killed", kill, |(ended, cleanup)| {
        print_result(&ended, &cleanup, args, cx)
    }))
}

/// Shows what would be lost and asks for confirmation, before anything is stopped.
async fn consent(client: &Client, known: &Session, args: &Args, cx: &Context) -> Result<(), CommandError> {
    let order = CleanupOrder {
        session: Some(known.id.clone()),
        dry_run: true,
        discard: true,
        ..CleanupOrder::default()
    };
    let found = client.cleanup(&order).await?;
    if !cx.json() {
        ui::text(show::discard(&known.name, &found))?;
    }
    let lost = |tree: &ao_api::TreeReport| {
        tree.work.as_ref().is_none_or(|work| work.files_in_all + work.commits_in_all > 0)
    };
    if args.yes || !found.trees.iter().any(lost) {
        return Ok(());
    }
    let name = &known.name;
    if cx.json() || !text_input::is_interactive() {
        let error = format!("the work of `{name}` is not discarded without your confirmation");
        return Err(CommandError::user(error)
            .hint(format!("`ao session kill {name} --discard --yes` does not ask"))
            .hint(format!("`ao session kill {name}` stops it and keeps its work")));
    }
    match text_input::confirm(&format!("Throw the work of {name} away?"))? {
        true => Ok(()),
        false => Err(CommandError::user("nothing was done")
            .hint(format!("`ao session kill {name}` stops it and keeps its work"))),
    }
}

fn print_result(ended: &Session, cleanup: &Cleanup, args: &Args, cx: &Context) -> Result<(), CommandError> {
    if cx.json() {
        return Ok(ui::json(cleanup)?);
    }
    ui::line(format_args!("{}: {}", ended.name, ended.status.state))?;
    ui::text(match cleanup.trees.is_empty() {
        true => "its workspace is already gone\n".to_owned(),
        false => show::cleanup(cleanup, Canvas::here()),
    })?;
    let kept = cleanup.trees.iter().any(|tree| tree.decision == Decision::Keep);
    if kept && args.discard {
        let error = format!("the workspace of `{}` is still there", ended.name);
        return Err(CommandError::user(error).hint("stop the programs that run in it, and try again"));
    }
    if kept {
        let tree = ended.workspace.as_ref().map_or_else(String::new, |tree| format!(" in {}", tree.path));
        ui::note(format_args!("its work is kept{tree} (branch {})", ended.branch));
    }
    if !args.discard && cleanup.trees.iter().any(|tree| tree.can_discard) {
        ui::note(format_args!("`ao session kill {} --discard` throws it away", ended.name));
    }
    if args.discard
        && let Some(rescue) = cleanup.trees.iter().find_map(|tree| tree.rescue.as_ref())
    {
        ui::note(format_args!("its last state is in {rescue} for a while"));
    }
    Ok(())
}
