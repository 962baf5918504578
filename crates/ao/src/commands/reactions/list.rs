//! `ao reactions list`: the reaction to each kind of event.

use ao_api::Reaction;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::client::project_choice::project_or_all;
use crate::error::CommandError;
use crate::show::{Canvas, TableCell, TextTable};
use crate::{show, ui};

/// List the reaction to each kind of event, and where it is configured
///
/// The last column shows what differs from the default: `top` is the top level of the configuration, followed by the
/// project's settings and the agent's. Custom events are at the end.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao reactions list
  ao reactions list --project my-app --agent frontend-specialist
  ao reactions list --json | jq '.reactions[] | select(.auto and .action == \"merge\")'")]
pub(crate) struct Args {
    /// The reactions of this project [default: the project of the current folder]
    #[arg(long, short, add = completers::projects())]
    project: Option<String>,
    /// The reactions of this agent, by its name or that of a specialist
    #[arg(long)]
    agent: Option<String>,
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    let reactions = cx.call(async |client| {
        let project = project_or_all(client, args.project.as_deref()).await?;
        Ok(client.reactions(project.as_deref(), args.agent.as_deref()).await?)
    })?;
    cx.print(&reactions, || ui::text(table(&reactions.reactions).draw(Canvas::here().width)))
}

fn table(reactions: &[Reaction]) -> TextTable {
    let mut table = TextTable::new(&[
        "EVENT",
        "ACTION",
        "AUTO",
        "RETRIES",
        "ESCALATES",
        "PRIORITY?",
        "CONDITION?",
        "FROM",
    ]);
    for reaction in reactions {
        let priority = match &reaction.channel {
            Some(channel) => format!("{} ({channel})", reaction.priority),
            None => reaction.priority.to_string(),
        };
        table.row([
            TableCell::new(&reaction.event),
            TableCell::new(reaction.action),
            TableCell::styled(
                if reaction.auto { "yes" } else { "no" },
                if reaction.auto { ui::GOOD } else { ui::FAINT },
            ),
            TableCell::new(reaction.retries.to_string()),
            TableCell::new(show::span(reaction.escalate_after_seconds)),
            TableCell::new(priority),
            TableCell::or_dash(reaction.condition.as_deref()),
            from(reaction),
        ]);
    }
    table
}

/// `top: action, retries; project my-app: message`.
fn from(reaction: &Reaction) -> TableCell {
    let mut layers: Vec<(&str, Vec<&str>)> = vec![];
    for (field, layer) in &reaction.from {
        match layers.iter_mut().find(|(known, _)| known == layer) {
            Some((_, fields)) => fields.push(field),
            None => layers.push((layer, vec![field])),
        }
    }
    layers.sort();
    let told: Vec<String> =
        layers.iter().map(|(layer, fields)| format!("{layer}: {}", fields.join(", "))).collect();
    TableCell::or_dash((!told.is_empty()).then(|| told.join("; ")))
}
