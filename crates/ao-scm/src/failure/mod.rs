//! Parses the output of a failed check: failed tests, locations, and a signature.
//!
//! ```text
//!  bytes ─► window ─► scan ──► rust, python, go, javascript, tap, junit, diagnostics, steps ──► collector
//!          bounded   keywords             one reader per format                                  │
//!                                                                       excerpt, signature ◄─────┘
//! ```
//!
//! The output is read once and is never whole in memory. Lines without a keyword are skipped at the speed of a
//! search; the others are cleaned, and offered to the readers in turn. A reader takes the lines that belong to a
//! failure, before and after the keyword, and returns the offset to continue at.
//!
//! The tools that ran are unknown: every reader sees every log, and a log may mix formats. This module does not judge
//! whether the check failed (the exit code does), nor guess at causes that are not written.

/// Defines a pattern that is compiled on first use.
macro_rules! pattern {
    ($name:ident, $pattern:expr) => {
        static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($pattern).expect("a fixed pattern"));
    };
}

/// Returns true if a text contains a keyword. The searcher is built once, because most lines are tested for many
/// keywords.
macro_rules! has {
    ($text:expr, $word:literal) => {{
        static FINDER: std::sync::LazyLock<memchr::memmem::Finder<'static>> =
            std::sync::LazyLock::new(|| memchr::memmem::Finder::new($word));
        FINDER.find($text.as_bytes()).is_some()
    }};
}

/// Returns true if a text contains one of these keywords.
macro_rules! has_any {
    ($text:expr, $words:expr) => {{
        static SEARCH: std::sync::LazyLock<aho_corasick::AhoCorasick> = std::sync::LazyLock::new(|| {
            aho_corasick::AhoCorasick::builder()
                .kind(Some(aho_corasick::AhoCorasickKind::DFA))
                .build($words)
                .expect("the words are few and short")
        });
        SEARCH.is_match($text)
    }};
}

mod collector;
mod diagnostics;
mod entry;
mod excerpt;
mod go;
mod javascript;
mod json;
mod junit;
mod python;
mod rust;
mod scan;
mod signature;
mod steps;
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
