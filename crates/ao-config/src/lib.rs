//! What users configure: layered files, all dialects in one shape, and every environment variable in one list.
//!
//! [`load`] finds the files and reads them into a [`Config`], or says everything that is wrong with them, each thing with
//! its file, line and column. It starts nothing and asks nobody; whether a program exists is found out by whoever runs it.
//!
//! Start reading at `shape/` for what can be configured, then `load.rs` for how it is read.

mod check;
pub mod condition;
mod dialect;
mod error;
mod find;
mod fit;
mod into_core;
mod load;
pub mod names;
mod refs;
mod rule;
pub mod shape;
mod tree;
mod yaml;

pub use error::{ConfigError, Problem, Warning};
pub use find::{LOCAL_FILE, Layer, LayerKind, PROJECT_FILES, Places, find};
pub use into_core::Effective;
pub use load::{Loaded, load, load_files, parse_layers, parse_str, read_file};
pub use refs::{Env, RefError};
pub use shape::Config;
