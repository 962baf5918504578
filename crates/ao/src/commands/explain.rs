//! `ao explain`.

use crate::context::Context;
use crate::error::{CommandError, Kind};

/// Say why a session is said to be in its state
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _cx: &Context) -> Result<(), CommandError> {
    Err(CommandError::new(Kind::Bug, "this is being built"))
}
