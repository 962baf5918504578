//! The core as a whole: inputs in, events out, step by step.

mod actions;
mod advise;
mod assign;
mod budgets;
mod denied;
mod desk;
mod doubt;
mod evidence;
mod forecast;
mod hooks;
mod hostile;
mod idle;
mod incidents;
mod limits;
mod notices;
mod outbox;
mod owners;
mod plan;
mod policy;
mod queue;
mod reactions;
mod regressions;
mod sessions;
mod setups;
mod stored;
mod threads;
