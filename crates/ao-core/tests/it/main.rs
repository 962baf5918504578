//! The core as a whole: inputs in, events out, step by step.

mod actions;
mod budgets;
mod desk;
mod doubt;
mod evidence;
mod hooks;
mod hostile;
mod idle;
mod incidents;
mod limits;
mod notices;
mod outbox;
mod owners;
mod queue;
mod reactions;
mod regressions;
mod sessions;
mod setups;
mod stored;
mod threads;
