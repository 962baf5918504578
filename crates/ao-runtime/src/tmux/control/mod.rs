//! The single control client: sends commands, receives answers in order, and notifications in between.

mod client;
mod lines;
mod link;

pub(super) use lines::TmuxEvent;
pub(super) use link::{ControlError, ControlLink};
