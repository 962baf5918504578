//! `ao issue list`.

use ao_api::{Issue, Issues};

use crate::calls::forge::{self, Query};
use crate::context::Context;
use crate::error::CommandError;
use crate::show::{self, Canvas};
use crate::which_project::project_or_all;
use crate::{complete, ui};

/// More than any list has.
const ALL: usize = 10_000;

/// List issues, with the sessions that work on them
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao issue list
  ao issue list --label bug --state all
  ao issue list --free --json | jq -r '.issues[].key'   what nobody works on yet")]
pub(crate) struct Args {
    /// Only those in this state
    #[arg(long, short, default_value = "open", value_parser = ["open", "closed", "all"])]
    state: String,
    /// Only those with all of these labels
    #[arg(long, short, value_delimiter = ',', value_name = "LABEL")]
    label: Vec<String>,
    /// Only those of this person
    #[arg(long)]
    assignee: Option<String>,
    /// Only those that nobody works on and nothing blocks
    #[arg(long)]
    free: bool,
    /// At most so many
    #[arg(long, default_value_t = 200)]
    limit: usize,
    /// Only those of this project [default: the one of this folder, or all]
    #[arg(long, short, add = complete::projects())]
    project: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let Issues { mut issues, warnings } = cx.wait_for(async {
        let project = project_or_all(&client, args.project.as_deref()).await?;
        let labels = args.label.join(",");
        let query = Query::new()
            .maybe("project", project.as_deref())
            .with("state", &args.state)
            .maybe("label", (!labels.is_empty()).then_some(&labels))
            .maybe("assignee", args.assignee.as_deref())
            // Which of them are free is seen only here, and so all of them are needed for it.
            .with("limit", &if args.free { ALL } else { args.limit }.to_string());
        Ok(forge::issues(&client, query).await?)
    })?;
    issues.retain(|issue| args.wants(issue));
    issues.truncate(args.limit);
    if cx.json() {
        return Ok(ui::json(&Issues { issues, warnings })?);
    }
    // Some issues are not in the list because of these.
    for warning in &warnings {
        ui::note(show::plain(warning));
    }
    if issues.is_empty() {
        ui::note("there is no such issue; `ao issue add \"…\"` writes one down");
    }
    Ok(ui::text(show::issues(&issues, Canvas::here()))?)
}

impl Args {
    fn wants(&self, issue: &Issue) -> bool {
        (self.state == "all" || self.state == issue.state)
            && self.label.iter().all(|label| issue.labels.contains(label))
            && self.assignee.as_ref().is_none_or(|assignee| issue.assignee.as_ref() == Some(assignee))
            && !(self.free && (issue.session.is_some() || !issue.blocked_by.is_empty()))
    }
}
