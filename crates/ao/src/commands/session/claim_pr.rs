//! `ao session claim-pr`: a session that goes on with a pull request.

use ao_api::NewSession;

use crate::commands::new::How;
use crate::commands::spawn;
use crate::complete;
use crate::context::Context;
use crate::error::{CommandError, Kind};

/// Start a session that goes on with the branch of a pull request
///
/// Its commits are fetched from the project's remote. No forge is asked yet, so its title, its checks and its reviews are not
/// known, and the agent is not told of them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao session claim-pr 7
  ao session claim-pr https://forge.example/team/my-app/pull/7 --project my-app
  ao session claim-pr 7 --issue 42 --agent codex")]
pub(crate) struct Args {
    /// The pull request: its number or its address
    #[arg(value_name = "PR", value_parser = number)]
    pull: u64,
    /// The project it belongs to [default: the one of this folder]
    #[arg(long, short, add = complete::projects())]
    project: Option<String>,
    /// The issue that it is for
    #[arg(long, short)]
    issue: Option<String>,
    #[command(flatten)]
    how: How,
    /// A session that is there already
    #[arg(hide = true)]
    session: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    if let Some(session) = &args.session {
        let error = format!("`{session}` works on its own branch and cannot change it");
        return Err(CommandError::new(Kind::User, error)
            .hint(format!("`ao stop {session}` and then `ao session claim-pr {}`", args.pull)));
    }
    let client = cx.client()?;
    cx.wait_for(async {
        let wish = NewSession {
            project_id: spawn::project(&client, args.project.as_deref()).await,
            issue: args.issue.clone(),
            title: args.issue.is_none().then(|| format!("Pull request {}", args.pull)),
            claim_pr: Some(args.pull),
            ..args.how.wish()
        };
        spawn::one(&client, &wish, cx).await
    })
}

/// The number of a pull request, from `7`, `#7`, `!7` or the end of its address.
fn number(typed: &str) -> Result<u64, String> {
    let last = typed.trim_end_matches('/').rsplit('/').next().unwrap_or(typed);
    last.trim_start_matches(['#', '!'])
        .parse()
        .map_err(|_| format!("`{typed}` is no pull request; write it as 7, #7, or its address"))
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
}
