//! `ao notify`: the channels for notices.

use ao_api::{ChannelTest, NoticePriority, NotifyChannel, NotifyTest};

use crate::cli::choice;
use crate::cli::context::Context;
use crate::error::CommandError;
use crate::show::{Canvas, TableCell, TextTable};
use crate::ui;

subcommands! {
    /// List and test the channels for notices
    #[command(after_help = "Examples:
  ao notify list
  ao notify test
  ao notify test slack desktop")]
    pub(crate) struct Args;

    List(NotifyListArgs) => list,
    Test(NotifyTestArgs) => test,
}

/// List the channels, what is sent to each, and their state
///
/// Secrets in addresses are masked. Exits with 0 even if a channel does not work; `ao notify test` checks that.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao notify list
  ao notify list --json | jq '.[] | select(.problem)'")]
struct NotifyListArgs {}

/// Send a test notice on each channel, and show the results
///
/// Channels are tried independently, so a slow one delays no other. Quiet hours are ignored. Exits with 1 if one of
/// them failed. Secrets in addresses are masked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao notify test
  ao notify test slack desktop
  ao notify test --level urgent pager
  ao notify test --json | jq '.[] | select(.delivered | not)'")]
struct NotifyTestArgs {
    /// The channels, by their names in the configuration [default: all]
    channels: Vec<String>,
    /// The urgency of the notice
    #[arg(long, value_parser = choice::<NoticePriority>())]
    level: Option<NoticePriority>,
}

fn list(_: &NotifyListArgs, cx: &Context) -> Result<(), CommandError> {
    let channels = cx.call(async |client| Ok(client.notify_channels().await?))?;
    cx.print(&channels, || ui::text(listing(&channels).draw(Canvas::here().width)))
}

fn test(args: &NotifyTestArgs, cx: &Context) -> Result<(), CommandError> {
    let test = NotifyTest { channels: args.channels.clone(), level: args.level };
    let tests = cx.call(async |client| Ok(client.test_notify(&test).await?))?;
    cx.print(&tests, || ui::text(table(&tests).draw(Canvas::here().width)))?;
    let failed = tests.iter().filter(|test| !test.delivered).count();
    match (tests.len(), failed) {
        (0, _) => Err(CommandError::user("no channel is configured, so notices go nowhere")
            .hint("`ao config-help` shows how to add one under `notifiers`")),
        (_, 0) => Ok(()),
        (all, failed) => {
            let error = format!("{failed} of {} failed", ui::count(all as u64, "channel"));
            Err(CommandError::user(error))
        }
    }
}

fn table(tests: &[ChannelTest]) -> TextTable {
    let mut table = TextTable::new(&["CHANNEL", "PLUGIN?", "RESULT", "WHERE?", "PROBLEM"]);
    for test in tests {
        let (result, style) = if test.delivered { ("delivered", ui::GOOD) } else { ("failed", ui::ERROR) };
        table.row([
            TableCell::new(&test.channel),
            TableCell::new(&test.plugin),
            TableCell::styled(result, style),
            TableCell::new(test.target.as_deref().unwrap_or_default()),
            TableCell::new(test.problem.as_deref().unwrap_or_default()),
        ]);
    }
    table
}

fn listing(channels: &[NotifyChannel]) -> TextTable {
    let mut table = TextTable::new(&["CHANNEL", "PLUGIN?", "FOR", "NOW", "WHERE?", "LAST TOLD?", "PROBLEM"]);
    for channel in channels {
        let (now, style) = now(channel);
        table.row([
            TableCell::new(&channel.channel),
            TableCell::new(&channel.plugin),
            TableCell::new(audience(channel)),
            TableCell::styled(&now, style),
            TableCell::new(channel.target.as_deref().unwrap_or_default()),
            TableCell::new(
                channel.last_told.map(|at| at.strftime("%F %H:%MZ").to_string()).unwrap_or_default(),
            ),
            TableCell::new(channel.problem.as_deref().unwrap_or_default()),
        ]);
    }
    table
}

fn audience(channel: &NotifyChannel) -> String {
    let projects = channel.projects.iter().map(|project| format!("all of {project}"));
    let whom: Vec<String> = channel.levels.iter().map(ToString::to_string).chain(projects).collect();
    // A reaction may still name it.
    if whom.is_empty() { "what names it".to_owned() } else { whom.join(", ") }
}

fn now(channel: &NotifyChannel) -> (String, anstyle::Style) {
    let waiting = match channel.waiting {
        0 => String::new(),
        waiting => format!(", {waiting} wait"),
    };
    match (&channel.target, &channel.quiet_until, &channel.problem) {
        (None, _, _) => ("unusable".to_owned(), ui::ERROR),
        (Some(_), Some(until), _) => {
            (format!("quiet until {}{waiting}", until.strftime("%F %H:%MZ")), ui::FAINT)
        }
        (Some(_), None, Some(_)) => (format!("failing{waiting}"), ui::ERROR),
        (Some(_), None, None) => (format!("open{waiting}"), ui::GOOD),
    }
}
