//! `ao service`.

use crate::context::Context;
use crate::error::{CommandError, Kind};

/// Let the daemon start with your login
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _cx: &Context) -> Result<(), CommandError> {
    Err(CommandError::new(Kind::Bug, "this is being built"))
}
