//! Tests with real repositories.

mod forecast;
mod programs;
mod random;
mod replaced;
mod story;
mod upkeep;
