//! `ao session claim-pr`: makes a session the owner of a pull request, or starts one on its branch.

use ao_api::NewSession;
use ao_api::client::ItemName;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project;
use crate::commands::new::SessionOptions;
use crate::commands::pr::claim;
use crate::commands::spawn;
use crate::error::CommandError;

/// Make a session the owner of a pull request, or start one on its branch
///
/// The owner receives failed checks and reviews. Without a session, a new one starts on the branch of the pull
/// request.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "ao session claim-pr [OPTIONS] [SESSION] <PR>",
    after_help = "Examples:
  ao session claim-pr my-app-3 7
  ao session claim-pr 7
  ao session claim-pr https://forge.example/team/my-app/pull/7 --project my-app
  ao session claim-pr 7 --issue 42 --agent codex"
)]
pub(crate) struct Args {
    /// An existing session (optional), and the pull request: its number or address
    #[arg(value_name = "PR", required = true, num_args = 1..=2, add = completers::sessions())]
    names: Vec<String>,
    /// The project it belongs to [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
    /// The issue that it is for
    #[arg(long, short)]
    issue: Option<String>,
    #[command(flatten)]
    how: SessionOptions,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let (session, pull) = meant(&args.names)?;
    cx.call(async |client| {
        let project = project(client, args.project.as_deref()).await?;
        let named = ItemName { name: pull.to_string(), project: project.clone() };
        if let Some(session) = session {
            return claim::set_owner(client, &named, Some(session), cx).await;
        }
        // Take the title from the forge. Without a forge that knows it, its commits can still be fetched.
        let known = client.pull(&named).reply().await.ok();
        let title = known.map_or_else(|| format!("Pull request {pull}"), |known| known.value.pull.title);
        let wish = NewSession {
            project_id: project,
            issue: args.issue.clone(),
            title: args.issue.is_none().then_some(title),
            claim_pr: Some(pull),
            ..args.how.wish()
        };
        spawn::one(client, &wish, cx).await
    })
}

/// Returns the session and the pull request, which people write in either order.
fn meant(names: &[String]) -> Result<(Option<&str>, u64), CommandError> {
    let found = match names {
        [pull] => number(pull).map(|pull| (None, pull)),
        [session, pull] => match (number(session), number(pull)) {
            (_, Ok(pull)) => Ok((Some(session.as_str()), pull)),
            (Ok(number), Err(_)) => Ok((Some(pull.as_str()), number)),
            (Err(_), Err(err)) => Err(err),
        },
        _ => Err("name a session and a pull request".to_owned()),
    };
    found.map_err(CommandError::config)
}

/// Returns the number of a pull request from `7`, `#7`, `!7` or the end of its address.
fn number(typed: &str) -> Result<u64, String> {
    let last = typed.trim_end_matches('/').rsplit('/').next().unwrap_or(typed);
    last.trim_start_matches(['#', '!'])
        .parse()
        .map_err(|_| format!("`{typed}` is not a pull request; write it as 7, #7, or its address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pull_requests_are_known_by_number_and_by_address() {
        for typed in
            ["7", "#7", "!7", "https://forge.example/a/b/pull/7", "https://forge.example/a/b/pull/7/"]
        {
            assert_eq!(number(typed), Ok(7), "{typed}");
        }
        assert!(number("seven").is_err());
    }

    #[test]
    fn a_session_is_named_before_the_pull_request_or_behind_it() {
        let read = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            meant(&names).ok().map(|(session, pull)| (session.map(str::to_owned), pull))
        };
        assert_eq!(read(&["7"]), Some((None, 7)));
        assert_eq!(read(&["app-3", "7"]), Some((Some("app-3".into()), 7)));
        assert_eq!(read(&["!7", "app-3"]), Some((Some("app-3".into()), 7)));
        assert_eq!(read(&["app-3"]), None);
        assert_eq!(read(&["app-3", "app-4"]), None);
    }
}
