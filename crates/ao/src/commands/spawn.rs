//! `ao spawn`: starts a session for an issue.

use ao_api::client::{Client, ItemName};
use ao_api::{NewSession, Spawned};

use super::new::SessionOptions;
use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_of_issue;
use crate::error::CommandError;
use crate::ui;

/// Start a session for an issue
///
/// The issue must exist in its tracker. If the tracker cannot be reached, nothing is started unless you pass
/// `--force`. An issue never gets two sessions: if it has one, that session is named and nothing is started.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao spawn 42
  ao spawn 42 --project my-app --agent codex
  ao spawn 42 --claim-pr 7               continue on the branch of pull request 7
  ao spawn 42 --prompt \"Only the parser; leave the printer alone.\"")]
pub(crate) struct Args {
    /// The issue, as in its tracker: 42, #42, my-app#42, GH-789
    issue: String,
    /// The project it belongs to [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
    #[command(flatten)]
    how: SessionOptions,
    /// Continue on the branch of this pull request
    #[arg(long, value_name = "NUMBER")]
    claim_pr: Option<u64>,
    /// The name of the session [default: derived from the issue]
    #[arg(long)]
    name: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    cx.call(async |client| {
        let wish = NewSession {
            project_id: project_of_issue(client, &args.issue, args.project.as_deref()).await?,
            issue: Some(args.issue.clone()),
            claim_pr: args.claim_pr,
            name: args.name.clone(),
            ..args.how.wish()
        };
        one(client, &wish, cx).await
    })
}

/// Requests a session and prints the outcome.
pub(super) async fn one(client: &Client, wish: &NewSession, cx: &Context) -> Result<(), CommandError> {
    let spawned = client.spawn(wish).await?;
    if let Some(pull) = wish.claim_pr {
        let project = Some(spawned.session.project_id.clone());
        let named = ItemName { name: pull.to_string(), project };
        if client.pull(&named).await.is_err() {
            ui::note(format_args!(
                "the project's forge does not know pull request {pull}: only its commits were fetched from the remote"
            ));
        }
    }
    cx.print(&spawned, || ui::line(describe(&spawned)))
}

/// Describes the outcome of a request in one line.
pub(super) fn describe(spawned: &Spawned) -> String {
    let session = &spawned.session;
    let (title, name, state) = (ui::TITLE, &session.name, &session.status.state);
    if spawned.created {
        return format!("{title}{name}{title:#}: {state}, on branch {}", session.branch);
    }
    match &session.issue {
        Some(issue) => format!("issue {issue} has a session already: {title}{name}{title:#}, {state}"),
        None => format!("the session exists already: {title}{name}{title:#}, {state}"),
    }
}
