//! `ao attach`.

use crate::context::Context;
use crate::error::{CommandError, Kind};

/// Look into the terminal of a session, and take it over
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _cx: &Context) -> Result<(), CommandError> {
    Err(CommandError::new(Kind::Bug, "this is being built"))
}
