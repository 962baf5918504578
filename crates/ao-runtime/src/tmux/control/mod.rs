//! The one control client: commands go in, answers come back in order, and news comes in between.

mod client;
mod lines;
mod link;

pub(super) use lines::News;
pub(super) use link::{Control, ControlError};
