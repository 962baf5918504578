//! The engine with its looks and jobs in simulated worlds: many random ones, and some with one story each.

mod agents;
mod budgets;
mod effects;
mod feedback;
mod life;
mod looks;
mod messages;
mod mutants;
#[path = "../../simulation/parts.rs"]
mod parts;
mod seeds;
