//! `ao check`: commands that test a change.

mod flakes;
mod follow;
mod list;
mod logs;
mod rerun;
mod run;

use ao_api::client::{CheckRunQuery, Client, ClientError};
use ao_api::{CheckRun, CheckRuns};

use crate::cli::completers;
use crate::client::project_choice::{project, project_of_pull};
use crate::error::{CommandError, FailureKind};
use crate::show;

pub(super) use self::follow::{RunWatch, verdict};

subcommands! {
    /// Run checks, list them and read their output
    ///
    /// Checks are commands in a project's configuration (`checks:`). They run in a clean checkout of what would land: a
    /// pull request is merged onto its base first. The same command never runs twice on the same tree, unless you ask for
    /// it.
    #[command(after_help = "Examples:
  ao check list
  ao check run 7
  ao check run --revision HEAD --only test
  ao check logs test --pull 7
  ao check rerun test --pull 7
  ao check flakes")]
    pub(crate) struct Args;

    Run(run::Args) => run::run,
    #[command(alias = "ls")]
    List(list::Args) => list::run,
    Logs(logs::Args) => logs::run,
    Rerun(rerun::Args) => rerun::run,
    Flakes(flakes::Args) => flakes::run,
}

/// A check run named on the command line: by its id, or the newest of a check.
#[derive(Debug, Clone, clap::Args)]
struct RunArg {
    /// The id of a run, or the name of a check for its newest run
    #[arg(value_name = "RUN|CHECK")]
    run: String,
    /// Only runs for this pull request
    #[arg(long, value_name = "PR", add = completers::pulls())]
    pull: Option<String>,
    /// The project it belongs to [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

impl RunArg {
    async fn find(&self, client: &Client) -> Result<CheckRun, CommandError> {
        match client.check_run(&self.run).await {
            Ok(run) => return Ok(run),
            Err(ClientError::Refused(problem)) if problem.status == 404 => {}
            Err(err) => return Err(err.into()),
        }
        let of = async |query| runs(client, self.project.as_deref(), self.pull.as_deref(), query).await;
        // The newest come first.
        let named =
            of(CheckRunQuery { check: Some(self.run.clone()), limit: Some(1), ..CheckRunQuery::default() })
                .await?
                .runs;
        if let Some(run) = named.into_iter().find(|run| run.check == self.run) {
            return Ok(run);
        }
        let others = of(CheckRunQuery::default()).await?.runs;
        let mut names: Vec<String> =
            others.iter().map(|run| format!("`{}`", show::plain(&run.check))).collect();
        names.sort();
        names.dedup();
        let error =
            format!("there is no run `{}`, and no check of that name has run in this project", self.run);
        let error = CommandError::new(FailureKind::Unknown, error);
        Err(match names.is_empty() {
            true => error.hint("`ao check run` runs the checks of a project"),
            false => error.hint(format!("checks that have run: {}", names.join(", "))),
        })
    }
}

/// Lists runs of a project, or of one of its pull requests, newest first.
async fn runs(
    client: &Client,
    named: Option<&str>,
    pull: Option<&str>,
    query: CheckRunQuery,
) -> Result<CheckRuns, CommandError> {
    let project = project_of(client, pull, named).await?;
    let query = CheckRunQuery { project, pull: pull.map(str::to_owned), ..query };
    Ok(client.check_runs(&query).await?)
}

/// Returns the project of a pull request; without one, like [`project`].
async fn project_of(
    client: &Client,
    pull: Option<&str>,
    named: Option<&str>,
) -> Result<Option<String>, CommandError> {
    match pull {
        Some(pull) => project_of_pull(client, pull, named).await,
        None => project(client, named).await,
    }
}
