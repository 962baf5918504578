//! `ao pr list`.

use ao_api::client::PullQuery;
use ao_api::{Pull, PullStateFilter, Pulls};

use crate::cli::context::Context;
use crate::cli::{choice, completers};
use crate::client::project_choice::project_or_all;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// List pull requests, newest first
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao pr list
  ao pr list --state all --author anna
  ao pr list --session my-app-3
  ao pr list --json | jq -r '.pulls[] | select(.checks == \"failed\") | .id'")]
pub(crate) struct Args {
    /// Only pull requests in this state
    #[arg(long, default_value_t = PullStateFilter::Open, value_parser = choice::<PullStateFilter>())]
    state: PullStateFilter,
    /// Only pull requests that this session owns
    #[arg(long, short, add = completers::sessions())]
    session: Option<String>,
    /// Only pull requests by this author
    #[arg(long)]
    author: Option<String>,
    /// Only pull requests with all of these labels
    #[arg(long, short, value_delimiter = ',', value_name = "LABEL")]
    label: Vec<String>,
    /// Maximum number of pull requests
    #[arg(long, default_value_t = 30)]
    limit: usize,
    /// Only pull requests of this project [default: the project of the current folder, or all]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let Pulls { mut pulls, total } = cx.call(async |client| {
        let project = project_or_all(client, args.project.as_deref()).await?;
        let labels = args.label.join(",");
        let query = PullQuery {
            project,
            state: Some(args.state),
            session: args.session.clone(),
            author: args.author.clone(),
            label: (!labels.is_empty()).then_some(labels),
            limit: Some(args.limit),
            ..PullQuery::default()
        };
        Ok(client.pulls(&query).await?)
    })?;
    pulls.retain(|pull| args.wants(pull));
    pulls.truncate(args.limit);
    if cx.json() {
        return Ok(ui::json(&Pulls { pulls, total })?);
    }
    match (pulls.len() as u64, total) {
        (0, _) => ui::note("there is no such pull request; `ao pr create` opens one for the current branch"),
        (shown, Some(total)) if total > shown => {
            ui::note(format_args!("{shown} of {total} are shown; `--limit` shows more"));
        }
        _ => {}
    }
    Ok(ui::text(show::pulls(&pulls, Canvas::here()))?)
}

impl Args {
    /// The daemon matches sessions, because a prefix or an id names one too.
    fn wants(&self, pull: &Pull) -> bool {
        (self.state == PullStateFilter::All || self.state.to_string() == pull.state.to_string())
            && self.author.as_ref().is_none_or(|author| *author == pull.author.login)
            && self.label.iter().all(|label| pull.labels.contains(label))
    }
}
