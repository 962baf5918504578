//! `ao config`.

use crate::context::Context;
use crate::error::{CommandError, Kind};

/// Check, show and change the configuration
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _cx: &Context) -> Result<(), CommandError> {
    Err(CommandError::new(Kind::Bug, "this is being built"))
}
