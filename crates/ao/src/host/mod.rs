//! What the API needs of the daemon.

pub mod views;
