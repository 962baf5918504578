//! The core as a whole: inputs in, events out, step by step.

mod desk;
mod evidence;
mod hostile;
mod incidents;
mod limits;
mod outbox;
mod owners;
mod regressions;
mod sessions;
mod setups;
mod stored;
