//! What the output of a failed check says: which tests, where, and a signature.
//!
//! ```text
//!  bytes ─► window ─► scan ──► rust, python, go, javascript, tap, junit, diagnostics, steps ──► found
//!          bounded   words                one reader per format                                  │
//!                    that matter                                        excerpt, signature ◄─────┘
//! ```
//!
//! The output is read once and is never whole in memory. Lines without a word that matters are passed over at the speed
//! of a search; only the others are made readable, and looked at by the readers in turn. A reader takes what belongs to
//! its line, some lines before and some after, and says where to go on.
//!
//! Nobody says which tools ran, so nothing is asked: every reader sees every log, and a log may speak in many formats.
//! What this does not do: judge whether the check failed (the exit code does), or guess at reasons that are not written.

/// A pattern that is made once, when it is first needed.
macro_rules! pattern {
    ($name:ident, $pattern:expr) => {
        static $name: std::sync::LazyLock<regex::Regex> =
            std::sync::LazyLock::new(|| regex::Regex::new($pattern).expect("a fixed pattern"));
    };
}

/// Whether a text has a word, by a search that is made once: most lines are asked for many words and have none.
macro_rules! has {
    ($text:expr, $word:literal) => {{
        static FINDER: std::sync::LazyLock<memchr::memmem::Finder<'static>> =
            std::sync::LazyLock::new(|| memchr::memmem::Finder::new($word));
        FINDER.find($text.as_bytes()).is_some()
    }};
}

/// Whether a text has one of these words.
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

mod diagnostics;
mod entry;
mod excerpt;
mod found;
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

use ao_ports::Failure;

/// How much of a failure is wanted, and what is known of the run besides its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The excerpt has at most so many bytes.
    pub limit: usize,
    /// At most so many items are told one by one.
    pub items: usize,
    /// Where the checkout was. Locations inside are told from there.
    pub roots: Vec<String>,
    pub exit_code: Option<i32>,
    pub command: Option<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options { limit: 6 * 1024, items: 20, roots: Vec::new(), exit_code: None, command: None }
    }
}

/// Tells what failed, from the whole output of a check.
pub fn extract(log: &[u8], options: &Options) -> Failure {
    extract_reader(log, options).expect("reading from memory does not fail")
}

/// Tells what failed, from an output that need not fit into memory.
pub fn extract_reader(log: impl Read, options: &Options) -> io::Result<Failure> {
    let (found, tail) = scan::scan(log, options)?;
    Ok(found.finish(&tail, options))
}
