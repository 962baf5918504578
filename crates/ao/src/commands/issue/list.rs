//! `ao issue list`.

use ao_api::client::IssueQuery;
use ao_api::{Issue, IssueStateFilter, Issues};

use crate::cli::context::Context;
use crate::cli::{choice, completers};
use crate::client::project_choice::project_or_all;
use crate::error::CommandError;
use crate::show::Canvas;
use crate::{show, ui};

/// More issues than any list has.
const ALL: usize = 10_000;

/// List issues and the sessions that work on them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao issue list
  ao issue list --label bug --state all
  ao issue list --free --json | jq -r '.issues[].key'   issues without a session")]
pub(crate) struct Args {
    /// Only issues in this state
    #[arg(long, short, default_value_t = IssueStateFilter::Open, value_parser = choice::<IssueStateFilter>())]
    state: IssueStateFilter,
    /// Only issues with all of these labels
    #[arg(long, short, value_delimiter = ',', value_name = "LABEL")]
    label: Vec<String>,
    /// Only issues of this assignee
    #[arg(long)]
    assignee: Option<String>,
    /// Only issues without a session and without open blockers
    #[arg(long)]
    free: bool,
    /// Maximum number of issues
    #[arg(long, default_value_t = 200)]
    limit: usize,
    /// Only issues of this project [default: the project of the current folder, or all]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let (Issues { mut issues, warnings }, closed) = cx.call(async |client| {
        let project = project_or_all(client, args.project.as_deref()).await?;
        let labels = args.label.join(",");
        let query = |state: IssueStateFilter, limit: usize| IssueQuery {
            project: project.clone(),
            state: Some(state),
            label: (!labels.is_empty()).then(|| labels.clone()),
            assignee: args.assignee.clone(),
            text: None,
            limit: Some(limit),
        };
        // The filter for free issues runs here, so it needs all of them.
        let limit = if args.free { ALL } else { args.limit };
        let found = client.issues(&query(args.state, limit)).await?;
        // If the list is empty, mention closed issues.
        let closed = match found.issues.is_empty() && args.state == IssueStateFilter::Open && !cx.json() {
            true => client.issues(&query(IssueStateFilter::Closed, ALL)).await?.issues.len(),
            false => 0,
        };
        Ok((found, closed))
    })?;
    issues.retain(|issue| args.wants(issue));
    issues.truncate(args.limit);
    if cx.json() {
        return Ok(ui::json(&Issues { issues, warnings })?);
    }
    // Issues with warnings are not in the list.
    for warning in &warnings {
        ui::note(show::plain(warning));
    }
    match (issues.is_empty(), closed) {
        (false, _) => {}
        (true, 0) => ui::note("there is no such issue; `ao issue add \"…\"` creates one"),
        (true, 1) => ui::note("the only such issue is closed; `ao issue list --state closed` shows it"),
        (true, closed) => ui::note(format!(
            "all {closed} such issues are closed; `ao issue list --state closed` shows them"
        )),
    }
    Ok(ui::text(show::issues(&issues, Canvas::here()))?)
}

impl Args {
    fn wants(&self, issue: &Issue) -> bool {
        (self.state == IssueStateFilter::All || self.state.to_string() == issue.state.to_string())
            && self.label.iter().all(|label| issue.labels.contains(label))
            && self.assignee.as_ref().is_none_or(|assignee| issue.assignee.as_ref() == Some(assignee))
            && !(self.free && (issue.session.is_some() || !issue.blocked_by.is_empty()))
    }
}
