//! `ao trust-project`: a person's word that a repository is as it should be.

use crate::cli::completers;
use crate::cli::context::Context;
use crate::error::CommandError;
use crate::{show, ui};

/// Confirm what was changed in a repository while agents were at work
///
/// Agents share the repository with you, so a base branch that moved by no landing, push or fetch, and settings, hooks or
/// attributes that changed, are an incident (`repository-changed`): the tip and the policy before stay in force, and nothing is
/// merged. Look at what `ao status` says of it; this takes the repository as it is now. Programs that its settings name may be
/// run by the daemon's git from then on.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao trust-project my-app")]
pub(crate) struct Args {
    /// The project's name
    #[arg(add = completers::projects())]
    project: String,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let client = cx.client()?;
    let (confirmed, trust) = cx.wait_for(async {
        let confirmed = client.trust_project(&args.project).await?;
        Ok((confirmed, client.repository_trust(&args.project).await?))
    })?;
    if cx.json() {
        return Ok(ui::json(&confirmed)?);
    }
    if confirmed.changes.is_empty() {
        return Ok(ui::line(format_args!(
            "Nothing in {} waits for your word; it is trusted as it is",
            args.project
        ))?);
    }
    for change in &confirmed.changes {
        // What is to be done about it is done.
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
