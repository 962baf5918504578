//! The engine in simulated worlds: many random ones, and some that tell one story each.

mod mutants;
mod seeds;
