//! `ao batch-spawn`: starts a session for each of several issues.

use std::collections::{BTreeMap, BTreeSet};

use ao_api::NewSession;
use ao_api::client::ClientError;

use super::new::SessionOptions;
use super::spawn;
use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_of_issue;
use crate::error::{CommandError, FailureKind};
use crate::ui;

/// Start a session for each of several issues
///
/// Continues after a failure. Exits with 5 if every failure was a missing issue, and with 1 if one failed for another reason.
/// An issue that has a session keeps it, so the command can be repeated.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao batch-spawn 101 102 103
  ao batch-spawn 101 102 --project my-app --agent codex")]
pub(crate) struct Args {
    /// The issues, as in their tracker
    #[arg(required = true)]
    issues: Vec<String>,
    /// The project they belong to [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
    #[command(flatten)]
    how: SessionOptions,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        // Resolve all of them before the first one is started.
        let mut projects = BTreeMap::new();
        for issue in &args.issues {
            let project = project_of_issue(client, issue, args.project.as_deref()).await?;
            projects.insert(issue.as_str(), project);
        }
        let (mut failed, mut unknown, mut seen) = (0, 0, BTreeSet::new());
        for issue in args.issues.iter().filter(|issue| seen.insert(issue.as_str())) {
            let wish = NewSession {
                project_id: projects.get(issue.as_str()).cloned().flatten(),
                issue: Some(issue.clone()),
                ..args.how.wish()
            };
            match client.spawn(&wish).await {
                Ok(spawned) if cx.json() => ui::json(&spawned)?,
                Ok(spawned) => ui::line(format_args!("{issue} → {}", spawn::describe(&spawned)))?,
                Err(ClientError::Refused(problem)) => {
                    failed += 1;
                    unknown += u32::from(problem.status == 404);
                    if cx.json() {
                        ui::json(&problem)?;
                    } else {
                        let style = ui::ERROR;
                        ui::line(format_args!("{issue} → {style}failed{style:#}: {}", describe(&problem)))?;
                    }
                }
                // The others would fail too.
                Err(err) => return Err(err.into()),
            }
        }
        match failed {
            0 => Ok(()),
            failed => Err(CommandError::new(
                if failed == unknown { FailureKind::Unknown } else { FailureKind::User },
                format!("{failed} of {} got no session", ui::count(seen.len() as u64, "issue")),
            )),
        }
    })
}

/// Describes a refusal in one line.
fn describe(problem: &ao_api::Problem) -> String {
    let mut told = problem.title.clone();
    for more in problem.detail.iter().chain(&problem.hints) {
        told.push_str("; ");
        told.push_str(more);
    }
    told
}
