//! Errors of running checks and reading their results.

use std::io;

use ao_ports::StoreError;
use camino::Utf8PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    #[error("failed to {what} `{path}`")]
    File {
        what: &'static str,
        path: Utf8PathBuf,
        #[source]
        err: io::Error,
    },
    #[error("the runs of checks could not be read or written")]
    Records(#[from] StoreError),
    #[error(
        "the run `{id}` was stored in a format that this ao cannot read; install the version that wrote it"
    )]
    Unreadable {
        id: String,
        #[source]
        err: serde_json::Error,
    },
    #[error("`{name}` is not the full name of a commit or a tree, so it cannot be checked")]
    NotAnObject { name: String },
    #[error("no check is started any more: the daemon is about to end")]
    Stopping,
    #[error("there is no run `{id}`; `ao check list` shows those that are kept")]
    NoRun { id: String },
    #[error("the log of `{id}` is no longer kept; run the check again")]
    LogGone { id: String },
}

impl RunnerError {
    pub(super) fn file(
        what: &'static str,
        path: impl Into<Utf8PathBuf>,
    ) -> impl FnOnce(io::Error) -> RunnerError {
        let path = path.into();
        move |err| RunnerError::File { what, path, err }
    }
}
