//! `ao config path`: the configuration files in use.

use ao_config::LayerKind;
use serde_json::{Value, json};

use super::no_file;
use crate::cli::context::Context;
use crate::config::settings;
use crate::error::CommandError;
use crate::ui;

/// Print the configuration files in use, from lowest to highest precedence
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  ao config path
  $EDITOR \"$(ao config path | tail -n 1)\"")]
pub(crate) struct Args {}

pub(super) fn run(_args: &Args, cx: &Context) -> Result<(), CommandError> {
    let layers = ao_config::find(&settings::places(cx)?)?;
    if layers.is_empty() {
        return Err(no_file());
    }
    if cx.json() {
        let files: Vec<Value> =
            layers.iter().map(|layer| json!({ "kind": word(layer.kind), "path": layer.path })).collect();
        ui::json(&json!({ "files": files }))?;
        return Ok(());
    }
    for layer in layers {
        ui::line(layer.path)?;
    }
    Ok(())
}

fn word(kind: LayerKind) -> &'static str {
    match kind {
        LayerKind::User => "user",
        LayerKind::Project => "project",
        LayerKind::Local => "local",
    }
}
