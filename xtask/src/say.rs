//! What xtask prints. `println!` panics when its reader has gone, as in `cargo xtask test --list | head -1`.

use std::fmt;
use std::io::{self, Write};

/// Prints a line to stdout.
macro_rules! say {
    ($($words:tt)*) => { $crate::say::line(format_args!($($words)*)) };
}

/// How a shell tells that a program was ended by the signal that a missing reader sends. Not 0: with the reader went the
/// answer to whether all held.
const NO_READER: i32 = 141;

pub(crate) fn line(words: fmt::Arguments<'_>) {
    if writeln!(io::stdout().lock(), "{words}").is_err() {
        std::process::exit(NO_READER);
    }
}

/// Says on stderr what is not a result.
pub(crate) fn aside(words: impl fmt::Display) {
    // With stderr gone there is nobody left to tell.
    let _ = writeln!(io::stderr().lock(), "{words}");
}
