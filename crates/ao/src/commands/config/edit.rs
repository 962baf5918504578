//! `ao config set` and `ao config unset`: change one key and leave the rest of the file alone.

use ao_config::edit;
use serde_json::json;

use crate::cli::completers;
use crate::cli::context::Context;
use crate::config::edit::{ConfigEdit, reload_daemon};
use crate::error::CommandError;
use crate::ui;

/// Change one key of the configuration file
///
/// Comments and order are preserved. Nothing is changed if the configuration would be invalid afterwards. A running
/// daemon applies the change at once.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao config set defaults.runtime process
  ao config set projects.my-app.agentConfig.model opus
  ao config set defaults.notifiers '[desktop, slack]'
  ao config set --user lifecycle.maxParallelAgents 8")]
pub(crate) struct SetArgs {
    /// The key, such as `defaults.runtime`; `ao config-help` lists all keys
    #[arg(add = completers::config_keys())]
    key: String,
    /// The value, as written in the file
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// Change your own file, `~/.config/ao/config.yaml`, instead of the project's
    #[arg(long)]
    user: bool,
}

/// Remove one key from the configuration file
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao config unset projects.my-app.agent
  ao config unset --user lifecycle.maxParallelAgents")]
pub(crate) struct UnsetArgs {
    /// The key, such as `defaults.runtime`
    #[arg(add = completers::config_keys())]
    key: String,
    /// Change your own file, `~/.config/ao/config.yaml`, instead of the project's
    #[arg(long)]
    user: bool,
}

pub(super) fn set(args: &SetArgs, cx: &Context) -> Result<(), CommandError> {
    let SetArgs { key, value, user } = args;
    let change = if *user { ConfigEdit::of_user_file(cx)? } else { ConfigEdit::of_main_file(cx)? };
    let changed = change.make(|text| edit::set(text, key, value))?;
    let said = match changed {
        true => format!("Set {key} to {value} in {}", change.file()),
        false => format!("{key} is {value} already in {}", change.file()),
    };
    print_result(&said, changed, &change, cx)
}

pub(super) fn unset(args: &UnsetArgs, cx: &Context) -> Result<(), CommandError> {
    let UnsetArgs { key, user } = args;
    let change = if *user { ConfigEdit::of_user_file(cx)? } else { ConfigEdit::of_main_file(cx)? };
    change.make(|text| edit::unset(text, key))?;
    print_result(&format!("Removed {key} from {}", change.file()), true, &change, cx)
}

fn print_result(said: &str, changed: bool, change: &ConfigEdit, cx: &Context) -> Result<(), CommandError> {
    if !cx.json() {
        ui::line(said)?;
    }
    let told = if changed { Some(reload_daemon(change.file(), cx)?) } else { None };
    if cx.json() {
        let daemon = told.as_ref().and_then(|told| told.reloaded.as_ref());
        ui::json(&json!({ "file": change.file(), "changed": changed, "daemon": daemon }))?;
    } else if let Some(told) = told {
        told.show()?;
    }
    Ok(())
}
