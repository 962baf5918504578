//! `ao review-check`.

use crate::context::Context;
use crate::error::{CommandError, Kind};

/// Look for review comments that agents have not heard of
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _cx: &Context) -> Result<(), CommandError> {
    Err(CommandError::new(Kind::Bug, "this is being built"))
}
