//! `ao trust-project`: confirms that a repository is as it should be.

use crate::cli::completers;
use crate::cli::context::Context;
use crate::error::CommandError;
use crate::{show, ui};

/// Confirm changes to a repository that were made while agents were at work
///
/// Agents share the repository with you. A base branch that moved without a merge, push or fetch, and changed
/// settings, hooks or attributes, raise an incident (`repository-changed`): the previous tip and policy stay in
/// force, and nothing is merged. Look at the changes in `ao status`; this command accepts the repository as it is
/// now. From then on the daemon's git may run the programs that its settings name.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao trust-project my-app")]
pub(crate) struct Args {
    /// The name of the project
    #[arg(add = completers::projects())]
    project: String,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let (confirmed, trust) = cx.call(async |client| {
        let confirmed = client.trust_project(&args.project).await?;
        Ok((confirmed, client.repository_trust(&args.project).await?))
    })?;
    if cx.json() {
        return Ok(ui::json(&confirmed)?);
    }
    if confirmed.changes.is_empty() {
        return Ok(ui::line(format_args!("Nothing in {} waits for your confirmation", args.project))?);
    }
    for change in &confirmed.changes {
        // The next step has been taken.
        let told = change
            .lines()
            .take_while(|line| !line.starts_with("Until you") && !line.starts_with("If it was"));
        for line in told {
            ui::line(format_args!("{line}"))?;
        }
    }
    ui::line(format_args!("Trusted {} as it is now", args.project))?;
    for program in &trust.programs {
        ui::line(format_args!("  git may run {}", show::plain(program)))?;
    }
    Ok(())
}
