//! What users configure: layered files, all dialects in one shape, and every environment variable in one list.
//!
//! [`load`] finds the files and reads them into a [`Config`], or says everything that is wrong with them, each thing with
//! its file, line and column. It starts nothing and asks nobody; whether a program exists is found out by whoever runs it.
//!
//! Start reading at `shape/` for what can be configured, then `load.rs` for how it is read.

mod check;
pub mod condition;
mod dialect;
pub mod edit;
pub mod env_vars;
mod error;
mod find;
mod fit;
mod implicit;
pub mod init;
mod into_core;
mod load;
pub mod names;
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
pub use reference::{Key, generated, keys, reference_markdown};
pub use refs::{Env, RefError};
pub use schema::{policy_cases_schema, policy_schema, schema};
pub use shape::Config;
