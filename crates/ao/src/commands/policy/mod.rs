//! `ao policy`: the rules that a pull request must meet to be merged.

mod cases;
mod check;
mod explain;
mod show;
mod test;

use ao_core::policy::POLICY_FILE;
use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::context::Context;
use crate::error::{CommandError, FailureKind};
use crate::repository::GitRepository;
use crate::system::paths;

subcommands! {
    /// Show, check and test the rules for merging
    ///
    /// A repository keeps its policy in `.ao/policy.yaml` on its base branch; the owner of ao can add rules under
    /// `policy` of the project. For each key, the stricter of the two applies.
    #[command(after_help = "Examples:
  ao policy check
  ao policy explain 7
  ao policy test
  ao policy show --project my-app")]
    pub(crate) struct Args;

    Check(check::Args) => check::run,
    Explain(explain::Args) => explain::run,
    Test(test::Args) => test::run,
    Show(show::Args) => show::run,
}

/// Returns the policy file: the one on the command line, or the one of the checkout around the current folder.
fn file(typed: Option<&Utf8Path>, cx: &Context) -> Result<Utf8PathBuf, CommandError> {
    let here = paths::here()?;
    if let Some(typed) = typed {
        return Ok(here.join(typed));
    }
    let root = cx.wait_for(async { Ok(GitRepository::at(&here).await?.root) })?;
    // A linked worktree has its own files.
    let around = here.ancestors().find(|folder| folder.join(POLICY_FILE).is_file()).map(ToOwned::to_owned);
    let path = around.unwrap_or(root).join(POLICY_FILE);
    if path.is_file() {
        return Ok(path);
    }
    let error = CommandError::new(FailureKind::Unknown, format!("there is no `{path}`"));
    Err(error.hint("write one: `approvals: 1` is enough to start with; docs/policy.md has every key"))
}

/// Returns the file with the test cases of a policy.
fn cases_of(policy: &Utf8Path) -> Utf8PathBuf {
    let stem = policy.file_stem().unwrap_or("policy");
    policy.with_file_name(format!("{stem}.test.yaml"))
}
