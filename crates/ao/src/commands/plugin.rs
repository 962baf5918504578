//! `ao plugin`: the ports and their adapters.

use ao_config::catalog::{PluginInfo, PluginSlot};
use ao_daemon::registry;
use serde_json::Value;

use crate::cli::context::Context;
use crate::config::settings;
use crate::error::CommandError;
use crate::show::{TableCell, TextTable};
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

/// Lists the built-in plugins and the agents of the configuration in use here.
fn plugins(cx: &Context) -> Vec<PluginInfo> {
    // `ao config check` reports a configuration that cannot be read.
    let tools = settings::load(cx).map(|loaded| loaded.config.tools).unwrap_or_default();
    let is_replaced =
        |plugin: &PluginInfo| plugin.slot == PluginSlot::Agent && tools.contains_key(&plugin.name);
    let catalog = registry::catalog();
    let built_in = catalog.plugins().filter(|plugin| !is_replaced(plugin)).cloned();
    let own = tools.iter().map(|(name, tool)| PluginInfo {
        program: tool.get("program").and_then(Value::as_str).map(str::to_owned),
        ..PluginInfo::new(PluginSlot::Agent, name, "your own agent, described under `tools`")
    });
    built_in.chain(own).collect()
}

pub(crate) fn run(args: &Args, cx: &Context) -> Result<(), CommandError> {
    match &args.command {
        Command::List => {
            list(&plugins(cx), cx)?;
            ui::note("any other program can be an agent: describe it under `tools` (`ao config-help tools`)");
            Ok(())
        }
        Command::Search { word } => {
            let found = found(word, cx);
            if found.is_empty() {
                return Err(CommandError::user(format!("no plugin matches `{word}`"))
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
    CommandError::user(format!("{what}: plugins from elsewhere are not supported yet"))
        .hint("`ao plugin list` shows what is built in")
}

fn found(word: &str, cx: &Context) -> Vec<PluginInfo> {
    let word = word.to_lowercase();
    let has = |plugin: &PluginInfo| {
        let slot = plugin.slot.to_string();
        [&slot, &plugin.name, &plugin.about].iter().any(|text| text.to_lowercase().contains(&word))
    };
    plugins(cx).into_iter().filter(has).collect()
}

fn list(plugins: &[PluginInfo], cx: &Context) -> Result<(), CommandError> {
    let mut table = TextTable::new(&["SLOT", "NAME", "NEEDS", "WHAT IT IS"]);
    for plugin in plugins {
        table.row([
            TableCell::new(plugin.slot.to_string()),
            TableCell::styled(&plugin.name, ui::TITLE),
            TableCell::new(plugin.program.as_deref().unwrap_or_default()),
            TableCell::new(&plugin.about),
        ]);
    }
    cx.print(&plugins, || ui::text(table.draw(ui::width())))
}
