//! The guarantees of local issues, one file per guarantee.

mod contract;
mod cost;
mod files;
mod import;
mod support;
mod watch;
