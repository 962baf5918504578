//! Output of xtask. `println!` panics when its reader has gone, as in `cargo xtask test --list | head -1`.

use std::fmt;
use std::io::{self, Write};

/// Prints a line to stdout.
macro_rules! say {
    ($($words:tt)*) => { $crate::say::line(format_args!($($words)*)) };
}

/// The exit code that a shell reports for a program killed by SIGPIPE. It is not 0, because the reader did not get the
/// result.
const NO_READER: i32 = 141;

pub(crate) fn line(words: fmt::Arguments<'_>) {
    if writeln!(io::stdout().lock(), "{words}").is_err() {
        std::process::exit(NO_READER);
    }
}

/// Prints a line to stderr.
pub(crate) fn aside(words: impl fmt::Display) {
    // Without stderr there is no place left to report it.
    let _ = writeln!(io::stderr().lock(), "{words}");
}
