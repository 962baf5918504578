//! `ao spawn`: a session from an issue.

use std::path::Path;

use ao_api::client::Client;
use ao_api::{NewSession, Project, Spawned};

use super::new::How;
use crate::context::Context;
use crate::error::CommandError;
use crate::{calls, complete, ui};

/// Start a session for an issue
///
/// One issue never gets two sessions: if it has one, that one is named and nothing is started.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao spawn 42
  ao spawn 42 --project my-app --agent codex
  ao spawn 42 --claim-pr 7               go on with the branch of pull request 7
  ao spawn 42 --prompt \"Only the parser; leave the printer alone.\"")]
pub(crate) struct Args {
    /// The issue, as its tracker calls it: 42, #42, GH-789
    issue: String,
    /// The project it belongs to [default: the one of this folder]
    #[arg(long, short, add = complete::projects())]
    project: Option<String>,
    #[command(flatten)]
    how: How,
    /// Take over the branch of this pull request
    #[arg(long, value_name = "NUMBER")]
    claim_pr: Option<u64>,
    /// What people will call the session [default: made of the issue]
    #[arg(long)]
    name: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    cx.wait_for(async {
        let wish = NewSession {
            project_id: project(&client, args.project.as_deref()).await,
            issue: Some(args.issue.clone()),
            claim_pr: args.claim_pr,
            name: args.name.clone(),
            ..args.how.wish()
        };
        one(&client, &wish, cx).await
    })
}

/// Asks for a session and tells what came of it.
pub(super) async fn one(client: &Client, wish: &NewSession, cx: &Context) -> Result<(), CommandError> {
    let spawned = calls::spawn(client, wish).await?;
    if let Some(pull) = wish.claim_pr {
        ui::note(format_args!(
            "no forge is asked yet: of pull request {pull} only its commits are known, from the project's remote"
        ));
    }
    if cx.json() {
        return Ok(ui::json(&spawned)?);
    }
    Ok(ui::line(told(&spawned))?)
}

/// What a wish has come to, in one line.
pub(super) fn told(spawned: &Spawned) -> String {
    let session = &spawned.session;
    let (title, name, state) = (ui::TITLE, &session.name, &session.status.state);
    if spawned.created {
        return format!("{title}{name}{title:#}: {state}, on branch {}", session.branch);
    }
    match &session.issue {
        Some(issue) => format!("issue {issue} has a session already: {title}{name}{title:#}, {state}"),
        None => format!("there is such a session already: {title}{name}{title:#}, {state}"),
    }
}

/// The project that was named, or the one whose folder we are in. If neither is known, the daemon decides.
pub(super) async fn project(client: &Client, named: Option<&str>) -> Option<String> {
    if let Some(named) = named {
        return Some(named.to_owned());
    }
    let here = std::env::current_dir().ok()?.canonicalize().ok()?;
    let projects = calls::projects(client).await.ok()?;
    innermost(&projects, &here).map(str::to_owned)
}

/// The project that a folder lies in; the innermost, where one lies in another.
fn innermost<'a>(projects: &'a [Project], here: &Path) -> Option<&'a str> {
    let around = projects.iter().filter(|project| here.starts_with(&project.path));
    around.max_by_key(|project| project.path.len()).map(|project| project.id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_belongs_to_the_innermost_project_around_it() {
        let project = |id: &str, path: &str| Project {
            id: id.into(),
            path: path.into(),
            default_branch: "main".into(),
            repo: None,
            config: None,
            agent: "claude-code".into(),
            runtime: "process".into(),
            workspace: "worktree".into(),
            live_sessions: 0,
            max_parallel_agents: None,
        };
        let projects =
            [project("outer", "/w/app"), project("inner", "/w/app/docs"), project("other", "/w/ap")];
        let of = |here| innermost(&projects, Path::new(here));
        assert_eq!(of("/w/app/src"), Some("outer"));
        assert_eq!(of("/w/app/docs/en"), Some("inner"));
        assert_eq!(of("/w/app"), Some("outer"));
        assert_eq!(of("/w/apple"), None);
    }
}
