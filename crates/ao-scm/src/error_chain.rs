//! Errors as one line of text, for ports, logs and the reason of a run.

use std::error::Error;

/// Returns an error with its causes, joined by colons.
pub(crate) fn error_chain(err: &dyn Error) -> String {
    match err.source() {
        Some(source) => format!("{err}: {}", error_chain(source)),
        None => err.to_string(),
    }
}
