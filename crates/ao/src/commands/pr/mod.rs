//! `ao pr`: pull requests, from opening to merging.

mod checks;
pub(super) mod claim;
mod comments;
mod create;
mod diff;
mod list;
mod location;
mod merge;
mod review;
mod show;
mod state;

use ao_api::client::{Client, ItemName};

use crate::cli::completers;
use crate::client::project_choice::project_of_pull;
use crate::error::CommandError;

pub(super) use self::merge::refused;
pub(super) use self::review::pinned;

subcommands! {
    /// Open, read, review and merge pull requests
    ///
    /// Pull requests live on the project's forge; without one, ao keeps them itself. Name one by its number (7 or !7), or
    /// with its project (my-app!7).
    #[command(after_help = "Examples:
  ao pr create
  ao pr list
  ao pr show 7
  ao pr diff 7 --comments
  ao pr approve 7
  ao pr merge 7 --squash --delete-branch")]
    pub(crate) struct Args;

    Create(create::Args) => create::run,
    #[command(alias = "ls")]
    List(list::Args) => list::run,
    Show(show::Args) => show::run,
    Diff(diff::Args) => diff::run,
    Checks(checks::Args) => checks::run,
    Review(review::Args) => review::run,
    Approve(review::ApproveArgs) => review::approve,
    RequestChanges(review::RequestArgs) => review::request_changes,
    Comment(comments::CommentArgs) => comments::comment,
    Reply(comments::ReplyArgs) => comments::reply,
    Resolve(comments::ResolveArgs) => comments::resolve,
    Ready(state::ReadyArgs) => state::ready,
    Merge(merge::Args) => merge::run,
    Close(state::PullCloseArgs) => state::close,
    Reopen(state::PullReopenArgs) => state::reopen,
    Edit(state::EditArgs) => state::edit,
    Claim(claim::ClaimArgs) => claim::claim,
    Release(claim::ReleaseArgs) => claim::release,
}

/// A pull request named on the command line.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::commands) struct PullArg {
    /// The pull request: 7, !7 or my-app!7
    #[arg(value_name = "PR", add = completers::pulls())]
    pull: String,
    /// The project it belongs to [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

impl PullArg {
    /// Returns its name, with the project to look in unless the name includes it.
    pub(in crate::commands) async fn named(&self, client: &Client) -> Result<ItemName, CommandError> {
        let project = project_of_pull(client, &self.pull, self.project.as_deref()).await?;
        Ok(ItemName { name: self.pull.clone(), project })
    }

    /// Returns the name as typed, with the `!` that marks a pull request.
    pub(in crate::commands) fn name(&self) -> String {
        let is_number = self.pull.bytes().all(|byte| byte.is_ascii_digit());
        if is_number { format!("!{}", self.pull) } else { self.pull.clone() }
    }
}
