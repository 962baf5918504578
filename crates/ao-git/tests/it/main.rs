//! Against real repositories.

mod forecast;
mod random;
mod story;
