//! `ao conflicts`: branches that will not merge with each other.

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_id;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// Show branches that will not merge with each other
///
/// Merges all open pull requests and the work of all live sessions with each other in memory, including uncommitted
/// changes. Changes nothing. With two names, shows the conflict between them: both versions of each place, and the
/// original.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao conflicts
  ao conflicts my-app-3 my-app-5     both versions of each place
  ao conflicts 12 my-app-5           a pull request and a session
  ao conflicts --json | jq -r '.clashes[] | \"\\(.a) \\(.b)\"'")]
pub(crate) struct Args {
    /// A session, a pull request or a branch
    #[arg(value_name = "A", requires = "b", add = completers::sessions())]
    a: Option<String>,
    /// Another session, pull request or branch
    #[arg(value_name = "B", add = completers::sessions())]
    b: Option<String>,
    /// The project [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let project = cx.call(async |client| project_id(client, args.project.as_deref()).await)?;
    if let (Some(a), Some(b)) = (&args.a, &args.b) {
        let conflict = cx.call(async |client| Ok(client.conflict(&project, a, b).await?))?;
        return cx.print(&conflict, || {
            if conflict.files.is_empty() {
                let (a, b) = (show::plain(&conflict.a), show::plain(&conflict.b));
                ui::note(format_args!("{a} and {b} merge as they are"));
                return Ok(());
            }
            ui::text(show::conflict(&conflict))
        });
    }
    let conflicts = cx.call(async |client| Ok(client.conflicts(&project).await?))?;
    if cx.json() {
        return Ok(ui::json(&conflicts)?);
    }
    if conflicts.branches.is_empty() {
        ui::note(
            "there is nothing to compare: no live session and no open pull request; `ao spawn` starts one",
        );
        return Ok(());
    }
    Ok(ui::text(show::conflicts(&conflicts, Canvas::here()))?)
}
