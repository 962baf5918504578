//! `ao check list`: the checks of a project and their results.

use ao_api::client::{CheckRunQuery, Client};
use ao_api::{CheckRun, CheckRuns, Checks};
use serde::Serialize;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_id;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// List the checks of a project and their last runs
///
/// If none are configured, proposes checks that fit the files of the repository, with the lines for the
/// configuration. Runs nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao check list
  ao check list --pull 7
  ao check list --json | jq -r '.runs[] | select(.state == \"failed\") | .id'")]
pub(crate) struct Args {
    /// Only runs for this pull request
    #[arg(long, value_name = "PR", add = completers::pulls())]
    pull: Option<String>,
    /// Maximum number of runs
    #[arg(long, default_value_t = 20)]
    limit: usize,
    /// The project [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

/// Both responses of the daemon, combined.
#[derive(Debug, Serialize)]
struct ListedChecks {
    #[serde(flatten)]
    checks: Checks,
    runs: Vec<CheckRun>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let (project, listed) = cx.call(async |client| look(args, client).await)?;
    if cx.json() {
        return Ok(ui::json(&listed)?);
    }
    let ListedChecks { checks, runs } = listed;
    let canvas = Canvas::here();
    ui::text(show::checks(&checks, &project, canvas))?;
    match (checks.checks.is_empty(), checks.proposed.is_empty()) {
        (false, _) => {}
        (true, false) => ui::note(format_args!(
            "no checks are configured for `{project}`; paste the lines above to configure these. They never run by themselves"
        )),
        (true, true) => ui::note(format_args!(
            "no checks are configured for `{project}`, and nothing in it suggests any; `ao config-help checks` shows how to configure them"
        )),
    }
    if !runs.is_empty() {
        ui::text(format_args!("\n{}", show::runs(&runs, canvas)))?;
    }
    Ok(())
}

async fn look(args: &Args, client: &Client) -> Result<(String, ListedChecks), CommandError> {
    let project = match (&args.project, args.pull.as_deref().and_then(|pull| pull.split_once('!'))) {
        (Some(named), _) => named.clone(),
        (None, Some((project, _))) if !project.is_empty() => project.to_owned(),
        _ => project_id(client, None).await?,
    };
    let checks = client.project_checks(&project).await?;
    let query = CheckRunQuery { limit: Some(args.limit), ..CheckRunQuery::default() };
    let CheckRuns { mut runs } = super::runs(client, Some(&project), args.pull.as_deref(), query).await?;
    runs.truncate(args.limit);
    Ok((project, ListedChecks { checks, runs }))
}
