//! `ao emit`: reports a custom event.

use ao_api::NewEvent;

use super::reactions::{data, render_steps};
use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_about;
use crate::error::CommandError;
use crate::show::{Canvas, plain};
use crate::ui;

/// Report a custom event, and run the reactions configured for it
///
/// Configure the reaction under `reactions`, by the name of the event: `deploy-failed: { action: send-to-agent }`.
/// Repeating an event has no effect unless its content changes. `--key` distinguishes events of the same name, and
/// `--clear` resolves one. An agent reports for its own session. `--json` prints what was done at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao emit deploy-failed --session my-app-3 --data env=production --detail \"$(tail -n 20 deploy.log)\"
  ao emit deploy-failed --pr 7 --data '{\"env\": \"staging\", \"code\": 3}' --key staging
  ao emit deploy-failed --pr 7 --key staging --clear
  ao emit nightly-done --project my-app --json")]
pub(crate) struct Args {
    /// The name of the event, as in the configuration
    event: String,
    /// The session it is about [default: the agent's own]
    #[arg(long, add = completers::sessions(), conflicts_with = "pr")]
    session: Option<String>,
    /// The pull request it is about: `7`, `my-app!7`, a branch
    #[arg(long, value_name = "PR", alias = "pull", add = completers::pulls())]
    pr: Option<String>,
    /// The project it is about, or of the pull request [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
    /// Values for conditions and messages, available as `data`: `key=value`, or a JSON object
    #[arg(long, value_name = "KEY=VALUE|JSON")]
    data: Vec<String>,
    /// Details for the agent or person who handles it
    #[arg(long, value_name = "TEXT", default_value = "")]
    detail: String,
    /// A key that distinguishes it from other events of the same name
    #[arg(long)]
    key: Option<String>,
    /// Resolve the event
    #[arg(long)]
    clear: bool,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let data = data(&args.data)?;
    let taken = cx.call(async |client| {
        let (session, pull) = (args.session.as_deref(), args.pr.as_deref());
        let project_id = project_about(client, session, pull, args.project.as_deref()).await?;
        let event = NewEvent {
            event: args.event.clone(),
            session: args.session.clone(),
            pull: args.pr.clone(),
            project_id,
            data,
            detail: args.detail.clone(),
            key: args.key.clone(),
            clear: args.clear,
        };
        Ok(client.emit(&event).await?)
    })?;
    cx.print(&taken, || {
        let over = if args.clear { "is over" } else { "is reported" };
        ui::line(format_args!("{} on {} {over}", taken.event, plain(&taken.subject)))?;
        ui::text(render_steps(&taken.steps, Canvas::here()))?;
        if taken.steps.is_empty() && !args.clear {
            ui::note("the same event was reported before, so nothing more is done");
        }
        Ok(())
    })
}
