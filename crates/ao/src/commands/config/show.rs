//! `ao config show`: the merged configuration, in one dialect.

use ao_api::ConfigShown;

use super::no_file;
use crate::cli::context::Context;
use crate::config::settings;
use crate::error::CommandError;
use crate::ui;

/// Print the merged configuration
///
/// All files are merged and converted to one dialect. References such as `${SLACK_WEBHOOK_URL}` are printed as
/// written, never with their values.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao config show
  ao config show > agent-orchestrator.yaml   in a folder with an old `ao.config.yaml`, brings it up to date")]
pub(crate) struct Args {}

pub(super) fn run(_args: &Args, cx: &Context) -> Result<(), CommandError> {
    let loaded = settings::load(cx)?;
    if loaded.layers.is_empty() {
        return Err(no_file());
    }
    let files = loaded.layers.iter().map(|layer| layer.path.to_string()).collect();
    if cx.json() {
        ui::json(&ConfigShown { files, yaml: loaded.show() })?;
        return Ok(());
    }
    for warning in &loaded.warnings {
        ui::note(warning);
    }
    ui::text(loaded.show())?;
    Ok(())
}
