//! `ao plugin`: the ports and their adapters.

use serde::Serialize;

use crate::cli::context::Context;
use crate::error::{CommandError, FailureKind};
use crate::show::{TableCell, TableColumn, TextTable};
use crate::ui;

/// List and manage plugins
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao plugin list
  ao plugin search tmux")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List every slot with its plugins
    #[command(alias = "ls", after_help = "Examples:\n  ao plugin list\n  ao plugin list --json")]
    List,
    /// List plugins whose name, slot or description contains a text
    #[command(after_help = "Examples:\n  ao plugin search runtime\n  ao plugin search git")]
    Search {
        /// The text
        word: String,
    },
    /// Install a plugin (not available yet)
    Install {
        /// Its name or path
        plugin: String,
    },
    /// Create a plugin from a template (not available yet)
    Create {
        /// Its name
        name: String,
    },
    /// Test a plugin against the contract of its slot (not available yet)
    Test {
        /// Its name or path
        plugin: String,
    },
}

/// A plugin.
#[derive(Debug, Clone, Serialize)]
struct PluginRow {
    slot: &'static str,
    name: String,
    /// A one-line description.
    about: String,
}

/// Lists the built-in plugins. A slot without any has none here.
fn built_in() -> Vec<PluginRow> {
    const FIXED: [(&str, &str, &str); 11] = [
        ("runtime", "process", "its own process, held by a small program that outlives the daemon"),
        ("runtime", "tmux", "a pane of a private tmux server; needs tmux"),
        ("workspace", "worktree", "a git worktree inside the repository"),
        ("workspace", "clone", "its own clone"),
        ("notifier", "desktop", "a desktop notification"),
        ("notifier", "slack", "a message through a Slack webhook"),
        ("notifier", "discord", "a message through a Discord webhook"),
        ("notifier", "telegram", "a message through a Telegram bot"),
        ("notifier", "webhook", "JSON to a URL of yours"),
        ("notifier", "composio", "a tool of a service connected to Composio"),
        ("notifier", "openclaw", "a hook of an OpenClaw gateway"),
    ];
    let fixed = FIXED.map(|(slot, name, about)| PluginRow { slot, name: name.into(), about: about.into() });
    let agents = ao_agent::known().into_iter().map(|agent| PluginRow {
        slot: "agent",
        about: format!("runs `{}`", agent.program),
        name: agent.name,
    });
    let own = PluginRow {
        slot: "agent",
        name: "command".into(),
        about: "any program, described under `tools` in the configuration".into(),
    };
    fixed.into_iter().chain(agents).chain([own]).collect()
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    match &args.command {
        Command::List => list(&built_in(), cx),
        Command::Search { word } => {
            let found = found(word);
            if found.is_empty() {
                return Err(CommandError::new(FailureKind::User, format!("no plugin matches `{word}`"))
                    .hint("`ao plugin list` shows all"));
            }
            list(&found, cx)
        }
        Command::Install { plugin } => Err(not_yet(format!("`{plugin}` cannot be installed"))),
        Command::Create { name } => Err(not_yet(format!("`{name}` cannot be created"))),
        Command::Test { plugin } => Err(not_yet(format!("`{plugin}` cannot be tested"))),
    }
}

fn not_yet(what: String) -> CommandError {
    CommandError::new(FailureKind::User, format!("{what}: plugins from elsewhere are not supported yet"))
        .hint("`ao plugin list` shows what is built in")
}

fn found(word: &str) -> Vec<PluginRow> {
    let word = word.to_lowercase();
    let has = |plugin: &PluginRow| {
        [plugin.slot, &plugin.name, &plugin.about].iter().any(|text| text.to_lowercase().contains(&word))
    };
    built_in().into_iter().filter(has).collect()
}

fn list(plugins: &[PluginRow], cx: &Context) -> Result<(), CommandError> {
    if cx.json() {
        return Ok(ui::json(&plugins)?);
    }
    let mut table =
        TextTable::new(&[TableColumn::new("SLOT"), TableColumn::new("NAME"), TableColumn::new("WHAT IT IS")]);
    for plugin in plugins {
        table.row([
            TableCell::new(plugin.slot),
            TableCell::styled(&plugin.name, ui::TITLE),
            TableCell::new(&plugin.about),
        ]);
    }
    Ok(ui::text(table.draw(ui::width()))?)
}
