//! The errors of setting up a workspace, with what to do about them.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use ao_ports::RuntimeError;
use ao_process::ended_how;

use ao_git::GitError;

#[derive(Debug, thiserror::Error)]
pub(super) enum ProvisionError {
    #[error(
        "`{path}` is not a path inside the repository; write it relative to the repository's root, without `..`"
    )]
    Outside { path: String },
    #[error(
        "`{path}` belongs to git or to ao and cannot be shared with a workspace; take it out of the project's settings"
    )]
    Reserved { path: String },
    #[error("`{path}` leads out of the repository through a link; name a path that is in it")]
    LeadsOut { path: String },
    #[error("the shell `{}` could not be started; set AO_SHELL to one that can", .shell.display())]
    NoShell {
        shell: OsString,
        #[source]
        err: io::Error,
    },
    #[error("`{command}` {}", ended_how(*.status))]
    Ended { command: String, status: ExitStatus },
    #[error(
        "`{command}` was ended because the commands may take {} s together; make them faster, or give them more time",
        .limit.as_secs_f64()
    )]
    TooLong { command: String, limit: Duration },
    #[error("failed to {what} `{}`", .path.display())]
    File {
        what: &'static str,
        path: PathBuf,
        #[source]
        err: io::Error,
    },
    #[error("what the commands left running could not be ended")]
    NotEnded(#[source] io::Error),
    #[error(transparent)]
    Environment(#[from] RuntimeError),
    #[error(transparent)]
    Git(#[from] GitError),
}

impl ProvisionError {
    pub(super) fn file(
        what: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> ProvisionError {
        let path = path.into();
        move |err| ProvisionError::File { what, path, err }
    }
}
