//! The daemon without its API, in a folder of its own.

mod dummy;
mod jobs;
mod policies;
mod settling;
