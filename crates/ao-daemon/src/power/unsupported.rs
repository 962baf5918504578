//! Systems without support for keeping awake.

use super::PowerError;
use super::keeper::PowerBus;

#[derive(Debug)]
pub(super) enum NoInhibitor {}

impl NoInhibitor {
    pub(super) async fn lost(&mut self) {
        match *self {}
    }
}

pub(super) async fn inhibit(_bus: &PowerBus, _reason: &str) -> Result<NoInhibitor, PowerError> {
    let why = "this system is not supported".to_owned();
    Err(PowerError { what: "this build of ao is of no help", why, for_good: true })
}
