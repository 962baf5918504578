//! Loads the configuration for a command.

use ao_config::{Loaded, Places};
use ao_daemon::registry;

use crate::cli::context::Context;
use crate::error::CommandError;

/// Returns the places to look for files: this folder and those above, or the named file.
pub(crate) fn places(cx: &Context) -> Result<Places, CommandError> {
    let mut places = Places::of_process(registry::catalog())?;
    if let Some(file) = cx.config() {
        // The option takes precedence over the variable, and both mean the same.
        places.env.set("AO_CONFIG", file.as_str());
        if !file.starts_with("~/") && !places.cwd.join(file).is_file() {
            return Err(CommandError::config(format!("the configuration file `{file}` does not exist"))
                .hint("choose another one with `--config` or AO_CONFIG, or write one with `ao init`"));
        }
    }
    Ok(places)
}

/// Loads the configuration in use here.
pub(crate) fn load(cx: &Context) -> Result<Loaded, CommandError> {
    Ok(ao_config::load(&places(cx)?)?)
}
