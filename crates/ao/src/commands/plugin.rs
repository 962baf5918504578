//! `ao plugin`: the slots, and what can fill them.

use serde::Serialize;

use crate::context::Context;
use crate::error::{CommandError, Kind};
use crate::show::{Cell, Column, Table};
use crate::ui;

/// Show the slots and what can fill them
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
    /// List every slot with what can fill it
    #[command(alias = "ls", after_help = "Examples:\n  ao plugin list\n  ao plugin list --json")]
    List,
    /// List those whose name, slot or description has a word in it
    #[command(after_help = "Examples:\n  ao plugin search runtime\n  ao plugin search git")]
    Search {
        /// The word
        word: String,
    },
    /// Install a plugin from elsewhere
    #[command(after_help = "Example:\n  ao plugin install my-notifier")]
    Install {
        /// Its name or path
        plugin: String,
    },
    /// Begin a plugin of your own
    #[command(after_help = "Example:\n  ao plugin create my-notifier")]
    Create {
        /// Its name
        name: String,
    },
    /// Try a plugin against the contract of its slot
    #[command(after_help = "Example:\n  ao plugin test ./my-notifier")]
    Test {
        /// Its name or path
        plugin: String,
    },
}

/// Something that fills a slot.
#[derive(Debug, Clone, Copy, Serialize)]
struct Plugin {
    slot: &'static str,
    name: &'static str,
    /// What it is, in one line.
    about: &'static str,
}

/// What is built in. A slot that nothing fills yet is not in it.
const BUILT_IN: &[Plugin] = &[
    plugin("runtime", "process", "a process of its own, held by a small program that outlives the daemon"),
    plugin("runtime", "tmux", "a pane of a private tmux server; needs tmux"),
    plugin("workspace", "worktree", "a git worktree inside the repository"),
    plugin("workspace", "clone", "a clone of its own"),
    plugin("agent", "command", "any program that is told things by lines, keys, arguments or files"),
    plugin("notifier", "terminal", "a line on the daemon's terminal"),
];

const fn plugin(slot: &'static str, name: &'static str, about: &'static str) -> Plugin {
    Plugin { slot, name, about }
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    match &args.command {
        Command::List => list(BUILT_IN, cx),
        Command::Search { word } => {
            let found = found(word);
            if found.is_empty() {
                return Err(CommandError::new(Kind::User, format!("no plugin has `{word}` in its words"))
                    .hint("`ao plugin list` shows all"));
            }
            list(&found, cx)
        }
        Command::Install { plugin } => Err(not_yet(format!("`{plugin}` cannot be installed"))),
        Command::Create { name } => Err(not_yet(format!("`{name}` cannot be begun"))),
        Command::Test { plugin } => Err(not_yet(format!("`{plugin}` cannot be tried"))),
    }
}

fn not_yet(what: String) -> CommandError {
    CommandError::new(Kind::User, format!("{what}: plugins from elsewhere are not supported yet"))
        .hint("`ao plugin list` shows what is built in")
}

fn found(word: &str) -> Vec<Plugin> {
    let word = word.to_lowercase();
    let has = |plugin: &&Plugin| {
        [plugin.slot, plugin.name, plugin.about].iter().any(|text| text.to_lowercase().contains(&word))
    };
    BUILT_IN.iter().filter(has).copied().collect()
}

fn list(plugins: &[Plugin], cx: &Context) -> Result<(), CommandError> {
    if cx.json() {
        return Ok(ui::json(&plugins)?);
    }
    let mut table = Table::new(&[Column::new("SLOT"), Column::new("NAME"), Column::new("WHAT IT IS")]);
    for plugin in plugins {
        table.row([Cell::new(plugin.slot), Cell::styled(plugin.name, ui::TITLE), Cell::new(plugin.about)]);
    }
    Ok(ui::text(table.draw(ui::width()))?)
}
