//! What local issues promise, one file a promise.

mod contract;
mod cost;
mod files;
mod import;
mod support;
mod watch;
