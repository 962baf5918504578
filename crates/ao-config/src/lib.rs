//! Configuration: layered files, several dialects in one shape, and a list of all environment variables.
//!
//! [`load`] finds the files and reads them into a [`Config`], or returns everything that is wrong with them, each
//! problem with its file, line and column. It starts no program and makes no network call; whether a configured program
//! exists shows when it is run.
//!
//! Start reading at `shape/` for the keys, then `load.rs` for the way a file takes through this crate.

mod check;
pub mod condition;
mod dialect;
pub mod edit;
pub mod env_vars;
mod error;
mod find;
mod implicit;
pub mod init;
mod into_core;
mod load;
pub mod names;
mod normalize;
pub mod policy;
mod reference;
mod refs;
mod rule;
mod schema;
pub mod shape;
mod tree;
pub mod watch;
mod yaml;

pub use error::{ConfigError, Problem, Warning};
pub use find::{LOCAL_FILE, Layer, LayerKind, PROJECT_FILES, Places, find};
pub use implicit::ImplicitProject;
pub use into_core::Effective;
pub use load::{Loaded, load, load_edited, load_files, parse_layers, parse_str, read_file};
pub use reference::{ConfigKey, generated, keys, reference_markdown};
pub use refs::{Env, RefError};
pub use schema::{policy_cases_schema, policy_schema, schema};
pub use shape::Config;
