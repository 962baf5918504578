//! `ao check list`: what is checked, and how it went.

use ao_api::client::Client;
use ao_api::{Check, CheckRun, CheckRuns, Checks};
use serde::Serialize;

use crate::calls::{self, forge, forge::Query};
use crate::context::Context;
use crate::error::CommandError;
use crate::show::{self, Canvas};
use crate::{complete, ui};

/// List the checks of a project and their last runs
///
/// If none are configured, those are proposed that the files of the repository suggest, with the lines for the
/// configuration. Nothing is run by that.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao check list
  ao check list --pull 7
  ao check list --json | jq -r '.runs[] | select(.state == \"failed\") | .id'")]
pub(crate) struct Args {
    /// Only runs for this pull request
    #[arg(long, value_name = "PR", add = complete::pulls())]
    pull: Option<String>,
    /// At most so many runs
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// The project [default: the one of this folder]
    #[arg(long, short, add = complete::projects())]
    project: Option<String>,
}

/// Both answers of the daemon, side by side.
#[derive(Debug, Serialize)]
struct Listed {
    checks: Vec<Check>,
    proposed: Vec<Check>,
    runs: Vec<CheckRun>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let (project, listed) = cx.wait_for(look(args, &client))?;
    if cx.json() {
        return Ok(ui::json(&listed)?);
    }
    let Listed { checks, proposed, runs } = listed;
    let canvas = Canvas::here();
    let (none, checks) = (checks.is_empty(), Checks { checks, proposed });
    match &project {
        Some(project) => {
            ui::text(show::checks(&checks, project, canvas))?;
            match (none, checks.proposed.is_empty()) {
                (false, _) => {}
                (true, false) => ui::note(format_args!(
                    "no checks are configured for `{project}`; these could be, with the lines above. They are never run unasked"
                )),
                (true, true) => ui::note(format_args!(
                    "no checks are configured for `{project}`, and nothing in it suggests any; \
                     `ao config-help` tells how to write `checks:`"
                )),
            }
        }
        None => {
            ui::note("which project is meant is not known, so only runs are shown; `--project` names one");
        }
    }
    if !runs.is_empty() {
        ui::text(format_args!("\n{}", show::runs(&runs, canvas)))?;
    }
    Ok(())
}

async fn look(args: &Args, client: &Client) -> Result<(Option<String>, Listed), CommandError> {
    let project = match (&args.project, args.pull.as_deref().and_then(|pull| pull.split_once('!'))) {
        (Some(named), _) => Some(named.clone()),
        (None, Some((project, _))) if !project.is_empty() => Some(project.to_owned()),
        _ => here_or_only(client).await?,
    };
    let Checks { checks, proposed } = match &project {
        Some(project) => forge::checks(client, project).await?,
        None => Checks { checks: vec![], proposed: vec![] },
    };
    let CheckRuns { mut runs } = super::runs(
        client,
        project.as_deref(),
        args.pull.as_deref(),
        Query::new().with("limit", &args.limit.to_string()),
    )
    .await?;
    runs.truncate(args.limit);
    Ok((project, Listed { checks, proposed, runs }))
}

/// The project of this folder, or the only one that there is.
pub(in crate::commands) async fn here_or_only(client: &Client) -> Result<Option<String>, CommandError> {
    if let Some(project) = forge::project_here(client).await {
        return Ok(Some(project.id));
    }
    let mut projects = calls::projects(client).await?;
    Ok(projects.pop().filter(|_| projects.is_empty()).map(|project| project.id))
}
