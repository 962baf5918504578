//! Views of terminals.

use ao_api::Problem;
use ao_core::session::Session;
use ao_server::{Look, View};

use crate::daemon::Daemon;

pub(super) async fn attach(_: &Daemon, _: &Session, _: Look) -> Result<Box<dyn View>, Problem> {
    Err(Problem::new(501, "being-built", "this is being built"))
}
