//! `ao status`.

use crate::context::Context;
use crate::error::{CommandError, Kind};

/// Show how all sessions stand, or one of them in detail
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_args: &Args, _cx: &Context) -> Result<(), CommandError> {
    Err(CommandError::new(Kind::Bug, "this is being built"))
}
