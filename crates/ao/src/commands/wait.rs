//! `ao wait`.

use crate::context::Context;
use crate::error::{CommandError, Kind};

/// Wait until a session is in a certain state
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _cx: &Context) -> Result<(), CommandError> {
    Err(CommandError::new(Kind::Bug, "this is being built"))
}
