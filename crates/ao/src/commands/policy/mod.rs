//! `ao policy`: what must hold before a pull request is merged.

mod cases;
mod check;
mod explain;
mod show;
mod test;

use ao_core::policy::POLICY_FILE;
use camino::{Utf8Path, Utf8PathBuf};

use crate::cli::context::Context;
use crate::error::{CommandError, Kind};
use crate::repository::Repository;
use crate::system::paths;

/// Show what must hold before a pull request is merged, and try it
///
/// A repository says it in `.ao/policy.yaml` on its base branch, and whoever runs ao in `policy` of the project. Of the two,
/// the stricter one counts, key by key.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao policy check
  ao policy explain 7
  ao policy test
  ao policy show --project my-app")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Check(check::Args),
    Explain(explain::Args),
    Test(test::Args),
    Show(show::Args),
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    match &args.command {
        Command::Check(args) => check::run(args, cx),
        Command::Explain(args) => explain::run(args, cx),
        Command::Test(args) => test::run(args, cx),
        Command::Show(args) => show::run(args, cx),
    }
}

/// The policy's file that is meant: the one that was typed, or that of the checkout around here.
fn file(typed: Option<&Utf8Path>, cx: &Context) -> Result<Utf8PathBuf, CommandError> {
    let here = paths::here()?;
    if let Some(typed) = typed {
        return Ok(here.join(typed));
    }
    let root = cx.wait_for(async { Ok(Repository::at(&here).await?.root) })?;
    // A linked worktree has files of its own.
    let around = here.ancestors().find(|folder| folder.join(POLICY_FILE).is_file()).map(ToOwned::to_owned);
    let path = around.unwrap_or(root).join(POLICY_FILE);
    if path.is_file() {
        return Ok(path);
    }
    let error = CommandError::new(Kind::Unknown, format!("there is no `{path}`"));
    Err(error.hint("write one: `approvals: 1` is enough to begin with; docs/policy.md has every key"))
}

/// The file with the cases of a policy, beside it.
fn cases_of(policy: &Utf8Path) -> Utf8PathBuf {
    let stem = policy.file_stem().unwrap_or("policy");
    policy.with_file_name(format!("{stem}.test.yaml"))
}
