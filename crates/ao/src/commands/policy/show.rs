//! `ao policy show`: the policy in force, and the source of each rule.

use std::io;

use ao_api::{PolicyField, PolicyShown};
use serde_json::Value;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project;
use crate::error::CommandError;
use crate::show::{Canvas, TableCell, TextTable, plain};
use crate::ui;

/// Show the policy in force, and where each rule comes from
///
/// The policy is read from the tip of the base branch and combined with `policy` of the project. If the file cannot
/// be read, the error is shown, and nothing is merged until it is fixed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao policy show
  ao policy show --project my-app --json")]
pub(crate) struct Args {
    /// The project [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
}

pub(super) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let shown = cx.call(async |client| {
        let project = project(client, args.project.as_deref()).await?;
        Ok(client.policy(project.as_deref()).await?)
    })?;
    cx.print(&shown, || {
        head(&shown)?;
        if shown.broken.is_none() {
            ui::text(table(&shown.fields).draw(Canvas::here().width))?;
        }
        Ok(())
    })
}

fn head(shown: &PolicyShown) -> io::Result<()> {
    let commit: String = shown.commit.as_deref().unwrap_or("no commit").chars().take(12).collect();
    if let Some(broken) = &shown.broken {
        let bad = ui::ERROR;
        ui::line(format_args!(
            "{bad}the policy at {} cannot be read{bad:#}; nothing is merged until it is fixed",
            plain(&commit)
        ))?;
        for line in broken.lines() {
            ui::line(format_args!("  {}", plain(line)))?;
        }
        ui::line("fix it on the base branch; `ao policy check` shows the line")?;
    } else if shown.written {
        ui::line(format_args!("the policy of {} at {}", plain(&shown.project_id), plain(&commit)))?;
    } else {
        ui::line(format_args!(
            "there is no policy for {}; the default applies. Start with `.ao/policy.yaml`: docs/policy.md",
            plain(&shown.project_id)
        ))?;
    }
    Ok(())
}

fn table(fields: &[PolicyField]) -> TextTable {
    let mut table = TextTable::new(&["KEY", "VALUE", "FROM"]);
    for field in fields {
        let value = match &field.value {
            Value::Null => None,
            Value::Array(list) if list.is_empty() => None,
            Value::String(text) => Some(plain(text)),
            value => Some(plain(&value.to_string())),
        };
        let from = if field.from.is_empty() { "default".to_owned() } else { field.from.join(", ") };
        table.row([TableCell::new(&field.key), TableCell::or_dash(value), TableCell::new(plain(&from))]);
    }
    table
}
