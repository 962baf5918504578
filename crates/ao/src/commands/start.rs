//! `ao start`.

use crate::context::Context;
use crate::error::{CommandError, Kind};

/// Start the daemon, or join the one that runs, and take care of this repository
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _cx: &Context) -> Result<(), CommandError> {
    Err(CommandError::new(Kind::Bug, "this is being built"))
}
