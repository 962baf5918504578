//! `ao plugin`.

use crate::context::Context;
use crate::error::{CommandError, Kind};

/// List and search what the slots can be filled with
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _cx: &Context) -> Result<(), CommandError> {
    Err(CommandError::new(Kind::Bug, "this is being built"))
}
