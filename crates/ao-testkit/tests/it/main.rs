//! The engine in simulated worlds: many random ones, and some with one story each.

mod agent_contract;
mod agents;
mod budgets;
mod effects;
mod feedback;
mod life;
mod messages;
mod mutants;
mod pty_contract;
#[cfg(feature = "standin")]
mod real_agents;
mod scripted;
mod seeds;
