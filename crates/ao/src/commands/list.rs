//! `ao list`.

use crate::context::Context;
use crate::error::{CommandError, Kind};

/// List the sessions
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _cx: &Context) -> Result<(), CommandError> {
    Err(CommandError::new(Kind::Bug, "this is being built"))
}
