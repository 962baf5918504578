//! `ao session`: session commands under the names that users of other orchestrators know.

mod claim_pr;
mod cleanup;
mod kill;
mod restore;

use super::list;

subcommands! {
    /// List, kill, restore and clean up sessions
    #[command(after_help = "Examples:
  ao session ls
  ao session kill my-app-3
  ao session restore my-app-3
  ao session cleanup --dry-run
  ao session claim-pr 7 --project my-app")]
    pub(crate) struct Args;

    #[command(alias = "list")]
    Ls(list::Args) => list::run,
    Kill(kill::Args) => kill::run,
    Restore(restore::Args) => restore::run,
    Cleanup(cleanup::Args) => cleanup::run,
    ClaimPr(claim_pr::Args) => claim_pr::run,
}
