//! Parses the output of a failed check: failed tests, locations, and a signature.
//!
//! ```text
//!  bytes ─► window ─► scan ──► formats, json, junit ──► collector
//!          bounded   keywords    a row per format            │
//!                                   excerpt, signature ◄─────┘
//! ```
//!
//! The output is read once and is never whole in memory. Lines without a keyword are skipped at the speed of a
//! search; the others are cleaned, and matched against the rows of a table. A row takes the lines that belong to a
//! failure, before and after the keyword, and returns the offset to continue at. A format that one pattern and the
//! lines below it do not describe has a function in the module of its tool.
//!
//! The tools that ran are unknown: every row sees every log, and a log may mix formats. This module does not judge
//! whether the check failed (the exit code does), nor guess at causes that are not written.

/// A pattern that is compiled on first use.
type Pattern = std::sync::LazyLock<regex::Regex>;

/// Returns a [`Pattern`]. Words without any other syntax are searched for without a regular expression.
macro_rules! pattern {
    ($pattern:expr) => {
        std::sync::LazyLock::new(|| regex::Regex::new($pattern).expect("a fixed pattern"))
    };
}

mod collector;
mod entry;
mod excerpt;
mod formats;
mod go;
mod javascript;
mod json;
mod junit;
mod python;
mod rust;
mod scan;
mod signature;
mod tap;
mod text;
mod window;

use std::io::{self, Read};

use ao_ports::FailureReport;

/// Limits of a failure report, and context of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The most bytes of the excerpt.
    pub limit: usize,
    /// The most items that are listed.
    pub items: usize,
    /// Roots of the checkout. Locations inside are reported relative to them.
    pub roots: Vec<String>,
    pub exit_code: Option<i32>,
    pub command: Option<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options { limit: 6 * 1024, items: 20, roots: Vec::new(), exit_code: None, command: None }
    }
}

/// Extracts the failure from the whole output of a check.
pub fn extract(log: &[u8], options: &Options) -> FailureReport {
    extract_reader(log, options).expect("reading from memory does not fail")
}

/// Extracts the failure from an output that need not fit into memory.
pub fn extract_reader(log: impl Read, options: &Options) -> io::Result<FailureReport> {
    let (found, tail) = scan::scan(log, options)?;
    Ok(found.finish(&tail, options))
}
