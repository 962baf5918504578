//! `ao session cleanup`: frees disk space without losing work.

use ao_api::CleanupOrder;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_about;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// Remove the workspaces of ended sessions whose work is saved
///
/// A workspace is removed only if ao created it, nothing runs in it, and all of its work is saved elsewhere; even
/// then its last state can be restored for a while. Kept workspaces are listed with the reason. The main checkout is
/// never touched.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao session cleanup --dry-run
  ao session cleanup
  ao session cleanup my-app-3
  ao session cleanup --all         those of all projects
  ao session cleanup --artifacts   also frees build output in what has to stay")]
pub(crate) struct Args {
    /// Only the workspace of this session
    #[arg(add = completers::sessions())]
    session: Option<String>,
    /// Only this project [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
    /// All projects
    #[arg(long, conflicts_with_all = ["session", "project"])]
    all: bool,
    /// Only show the size, decision and reason for each
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Delete ignored files, such as build output, in workspaces that are kept
    #[arg(long)]
    artifacts: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let cleanup = cx.call(async |client| {
        let project_id = match args.all {
            true => None,
            false => project_about(client, args.session.as_deref(), None, args.project.as_deref()).await?,
        };
        let order = CleanupOrder {
            session: args.session.clone(),
            project_id,
            dry_run: args.dry_run,
            artifacts: args.artifacts,
            discard: false,
        };
        Ok(client.cleanup(&order).await?)
    })?;
    cx.print(&cleanup, || ui::text(show::cleanup(&cleanup, Canvas::here())))
}
