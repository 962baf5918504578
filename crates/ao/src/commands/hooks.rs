//! `ao hooks`: the user's commands on the way from a task to a merge.

use ao_api::{HookLog, HookTest, Hooks};
use ao_core::hook::HookPoint;
use clap::builder::PossibleValuesParser;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_about;
use crate::error::CommandError;
use crate::show::{Canvas, TableCell, TextTable};
use crate::{show, ui};

subcommands! {
    /// List, test and read the output of hooks
    ///
    /// Hooks are commands in the configuration (`hooks:`) that run on the way from a task to a merge, with a JSON
    /// document on stdin. A `before-…` hook can prevent the step by failing; the last line of its output is the reason.
    #[command(after_help = "Examples:
  ao hooks list
  ao hooks logs
  ao hooks logs before-merge-job_12
  ao hooks test before-assign --session issue-42")]
    pub(crate) struct Args;

    #[command(alias = "ls")]
    List(HookListArgs) => list,
    Logs(HookLogsArgs) => logs,
    Test(HookTestArgs) => test,
}

/// List the configured hooks, in the order in which they run
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao hooks list
  ao hooks list --project my-app --json | jq -r '.hooks[].command'")]
struct HookListArgs {
    /// Only hooks of this project
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

/// List recent hook logs, or show one
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao hooks logs
  ao hooks logs before-merge-job_12")]
struct HookLogsArgs {
    /// The id of a log, or any unique part of it
    id: Option<String>,
}

/// Run the hooks of a hook point now, and show the result
///
/// The hooks really run, with all their side effects; only ao's reaction to their result is left out. Exits with 1 if
/// one of them failed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao hooks test before-assign --session issue-42
  ao hooks test merged --project my-app")]
struct HookTestArgs {
    /// The hook point
    #[arg(value_parser = PossibleValuesParser::new(HookPoint::ALL.map(HookPoint::word)))]
    point: String,
    /// The session that the document describes
    #[arg(long, short, add = completers::sessions())]
    session: Option<String>,
    /// The project that the hooks belong to [default: the session's, or the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

fn list(args: &HookListArgs, cx: &Context) -> Result<(), CommandError> {
    let hooks = cx.call(async |client| Ok(client.hooks(args.project.as_deref()).await?))?;
    cx.print(&hooks, || match hooks.hooks.is_empty() {
        true => ui::line("no hooks are configured; `hooks:` in the configuration adds some"),
        false => ui::text(listed(&hooks).draw(Canvas::here().width)),
    })
}

fn listed(hooks: &Hooks) -> TextTable {
    let mut table = TextTable::new(&["PROJECT", "POINT", "TIMEOUT?", "COMMAND"]);
    for hook in &hooks.hooks {
        table.row([
            TableCell::new(&hook.project_id),
            TableCell::styled(hook.point, ui::TITLE),
            TableCell::new(format!("{}s", hook.timeout_seconds)),
            TableCell::new(&hook.command),
        ]);
    }
    table
}

fn logs(args: &HookLogsArgs, cx: &Context) -> Result<(), CommandError> {
    if let Some(id) = &args.id {
        let log = cx.call(async |client| Ok(client.hook_log(id).await?))?;
        let text = log.text.as_deref().unwrap_or_default();
        return cx.print(&log, || ui::text(ao_core::text::sanitise(text)));
    }
    let logs = cx.call(async |client| Ok(client.hook_logs().await?))?;
    cx.print(&logs, || match logs.logs.is_empty() {
        true => ui::line("no hook has run yet"),
        false => ui::text(log_table(&logs.logs, Canvas::here()).draw(Canvas::here().width)),
    })
}

fn log_table(logs: &[HookLog], canvas: Canvas) -> TextTable {
    let mut table = TextTable::new(&["LOG", "HOOK", "AGE?", "ENDED"]);
    for log in logs {
        let age = log.at.map(|at| show::age(at, canvas.now));
        table.row([
            TableCell::styled(&log.id, ui::TITLE),
            TableCell::new(&log.what),
            TableCell::or_dash(age),
            TableCell::or_dash(log.ended.as_ref()),
        ]);
    }
    table
}

fn test(args: &HookTestArgs, cx: &Context) -> Result<(), CommandError> {
    let tested = cx.call(async |client| {
        let project_id =
            project_about(client, args.session.as_deref(), None, args.project.as_deref()).await?;
        let test = HookTest { project_id, session: args.session.clone() };
        Ok(client.test_hook(&args.point, &test).await?)
    })?;
    if tested.results.is_empty() {
        return Err(CommandError::user(format!("no hook is configured at `{}`", args.point))
            .hint("`ao hooks list` shows what is configured"));
    }
    if cx.json() {
        ui::json(&tested)?;
    } else {
        ui::line(format!(
            "these were really run, with this on their standard input:\n{}",
            tested.document.trim_end()
        ))?;
        for result in &tested.results {
            let how = match (&result.objection, result.exit_code) {
                (None, _) => "succeeded".to_owned(),
                (Some(why), Some(code)) => format!("ended with code {code}: {why}"),
                (Some(why), None) => format!("was ended: {why}"),
            };
            ui::line(format!(
                "`{}` {}; its log is {}",
                show::plain(&result.command),
                show::plain(&how),
                result.log
            ))?;
        }
    }
    match tested.results.iter().filter(|result| result.objection.is_some()).count() {
        0 => Ok(()),
        failed => {
            let of = ui::count(tested.results.len() as u64, "hook");
            Err(CommandError::user(format!("{failed} of {of} failed")))
        }
    }
}
