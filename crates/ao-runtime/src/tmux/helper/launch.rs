//! Becomes the agent.

use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::termios::{LocalModes, OptionalActions, OutputModes, tcgetattr, tcsetattr};
use serde::{Deserialize, Serialize};

use super::super::attempt_dir::{self, SOCKET};
use super::{GREETING_LAUNCH, HelperError, failed};
use crate::host::files;

/// The program to run. Sent over a socket, since some of the environment is secret.
#[derive(Serialize, Deserialize)]
pub(in super::super) struct LaunchSpec {
    pub(in super::super) program: OsString,
    pub(in super::super) args: Vec<String>,
    pub(in super::super) environment: Vec<(OsString, OsString)>,
    pub(in super::super) folder: String,
    /// Its stdin is at end of file, and keys typed into the pane are ignored.
    #[serde(default)]
    pub(in super::super) without_input: bool,
    /// For the output recorder, which gets them separately.
    #[serde(skip)]
    pub(in super::super) secrets: Vec<(String, OsString)>,
}

/// The reason why it could not be run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum LaunchRefused {
    NoProgram,
    NoFolder(String),
    Failed(String),
}

pub(super) fn launch(attempt_dir: &Path) -> Result<(), HelperError> {
    let (_folder, socket) = files::socket(attempt_dir, SOCKET)
        .map_err(|err| failed("the agent's folder cannot be opened", &err))?;
    // Closed by the exec: an end of file without data means that it has succeeded.
    let mut daemon = UnixStream::connect(socket)
        .map_err(|err| failed("the daemon has gone; the agent was not started", &err))?;
    let mut json = Vec::new();
    daemon
        .write_all(GREETING_LAUNCH)
        .and_then(|()| daemon.read_to_end(&mut json))
        .map_err(|err| failed("what to run was not said", &err))?;
    let launch: LaunchSpec = serde_json::from_slice(&json).map_err(|err| {
        failed("the daemon has gone while it said what to run; the agent was not started", &err)
    })?;
    // From here on the daemon may exit: the agent starts, or this reports why not.
    attempt_dir::mark_launched(attempt_dir)
        .map_err(|err| failed("the start cannot be written down", &err))?;
    let refused = become_it(&launch);
    attempt_dir::unmark_launched(attempt_dir);
    let mut word =
        serde_json::to_vec(&refused).map_err(|err| failed("what went wrong cannot be said", &err))?;
    word.push(b'\n');
    // The daemon removes the pane and closes the connection. Exiting before that would look like the end of an agent.
    if daemon.write_all(&word).is_ok() {
        wait_for_hang_up(&daemon);
    }
    Err(failed("the agent was not started", &format_args!("{refused:?}")))
}

/// Waits for the hang-up. The daemon has shut down its side already, so there is no end of file to wait for.
fn wait_for_hang_up(daemon: &UnixStream) {
    while let Err(Errno::INTR) = poll(&mut [PollFd::new(daemon, PollFlags::empty())], None) {}
}

/// Makes the pane's terminal output-only: keys are not echoed, and every line begins on the left. Ctrl-C still ends the
/// program.
fn show_only() -> Result<(), Errno> {
    let terminal = rustix::stdio::stdout();
    let mut attributes = tcgetattr(terminal)?;
    attributes.local_modes -= LocalModes::ECHO | LocalModes::ECHONL;
    attributes.output_modes = OutputModes::OPOST | OutputModes::ONLCR;
    tcsetattr(terminal, OptionalActions::Now, &attributes)
}

/// Runs the program. Returns only on failure.
fn become_it(launch: &LaunchSpec) -> LaunchRefused {
    if let Err(err) = std::env::set_current_dir(&launch.folder) {
        return LaunchRefused::NoFolder(err.to_string());
    }
    let mut command = Command::new(&launch.program);
    command.args(&launch.args).env_clear().envs(launch.environment.iter().map(|(name, value)| (name, value)));
    // The one variable of tmux that is right only inside the pane.
    if launch.environment.iter().all(|(name, _)| name != "TERM")
        && let Some(term) = std::env::var_os("TERM")
    {
        command.env("TERM", term);
    }
    if launch.without_input {
        if let Err(err) = show_only() {
            return LaunchRefused::Failed(format!("the terminal of its pane cannot be set up: {err}"));
        }
        command.stdin(Stdio::null());
    }
    // Descriptors of the tmux server are not for the agent.
    if let Err(err) = ao_process::descriptors::keep_from_children() {
        return LaunchRefused::Failed(err.to_string());
    }
    // Orphans of the agent stay below it, and so are still recognised as the agent's. This survives the exec.
    #[cfg(target_os = "linux")]
    if let Err(err) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        return LaunchRefused::Failed(err.to_string());
    }
    let err = command.exec();
    match err.kind() {
        ErrorKind::NotFound => LaunchRefused::NoProgram,
        _ => LaunchRefused::Failed(err.to_string()),
    }
}
