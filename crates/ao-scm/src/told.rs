//! Errors as words, for those who can carry nothing else: ports, logs, and the reason of a run.

use std::error::Error;

/// An error with its causes.
pub(crate) fn told(err: &dyn Error) -> String {
    match err.source() {
        Some(source) => format!("{err}: {}", told(source)),
        None => err.to_string(),
    }
}
