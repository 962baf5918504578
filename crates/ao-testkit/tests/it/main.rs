//! The engine in simulated worlds: many random ones, and some with one story each.

mod agent_contract;
mod agents;
mod budgets;
mod effects;
mod feedback;
mod life;
mod messages;
mod mutants;
mod port_contracts;
mod pty_contract;
mod scripted;
mod seeds;
