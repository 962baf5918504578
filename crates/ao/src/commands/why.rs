//! `ao why`.

use crate::context::Context;
use crate::error::{CommandError, Kind};

/// Say in one line why a session is in its state
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _cx: &Context) -> Result<(), CommandError> {
    Err(CommandError::new(Kind::Bug, "this is being built"))
}
