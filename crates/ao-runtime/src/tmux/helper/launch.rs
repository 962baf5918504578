//! Becoming the agent.

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

use super::super::place::{self, SOCKET};
use super::{GREETING_LAUNCH, HelperError, failed};
use crate::host::files;

/// What is to be run. Comes over a socket, as some of the environment is secret.
#[derive(Serialize, Deserialize)]
pub(in super::super) struct Launch {
    pub(in super::super) program: OsString,
    pub(in super::super) args: Vec<String>,
    pub(in super::super) environment: Vec<(OsString, OsString)>,
    pub(in super::super) folder: String,
    /// Its stdin is at its end, and what is typed into the pane is for nobody.
    #[serde(default)]
    pub(in super::super) without_input: bool,
    /// For who keeps the output, who is told apart.
    #[serde(skip)]
    pub(in super::super) secrets: Vec<(String, OsString)>,
}

/// Why it could not be run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(in super::super) enum Refused {
    NoProgram,
    NoFolder(String),
    Failed(String),
}

pub(super) fn launch(place: &Path) -> Result<(), HelperError> {
    let (_folder, socket) =
        files::socket(place, SOCKET).map_err(|err| failed("the agent's place cannot be opened", &err))?;
    // Closed by the exec: that the daemon reads an end without a word means that it has succeeded.
    let mut daemon = UnixStream::connect(socket)
        .map_err(|err| failed("the daemon has gone; the agent was not started", &err))?;
    let mut json = Vec::new();
    daemon
        .write_all(GREETING_LAUNCH)
        .and_then(|()| daemon.read_to_end(&mut json))
        .map_err(|err| failed("what to run was not said", &err))?;
    let launch: Launch = serde_json::from_slice(&json).map_err(|err| {
        failed("the daemon has gone while it said what to run; the agent was not started", &err)
    })?;
    // From here on the daemon may go: the agent starts, or this says why not.
    place::mark_launched(place).map_err(|err| failed("the start cannot be written down", &err))?;
    let refused = become_it(&launch);
    place::unmark_launched(place);
    let mut word =
        serde_json::to_vec(&refused).map_err(|err| failed("what went wrong cannot be said", &err))?;
    word.push(b'\n');
    // The daemon takes the pane away and lets go. To end before that would pass for the end of an agent.
    if daemon.write_all(&word).is_ok() {
        wait_to_be_let_go(&daemon);
    }
    Err(failed("the agent was not started", &format_args!("{refused:?}")))
}

/// The daemon has said all that it had to say, so its going is no end of file but a hang-up.
fn wait_to_be_let_go(daemon: &UnixStream) {
    while let Err(Errno::INTR) = poll(&mut [PollFd::new(daemon, PollFlags::empty())], None) {}
}

/// Makes the pane's terminal one that only shows: what a person types is not put out, and every line begins on the left.
/// Ctrl-C still ends the program.
fn show_only() -> Result<(), Errno> {
    let terminal = rustix::stdio::stdout();
    let mut attributes = tcgetattr(terminal)?;
    attributes.local_modes -= LocalModes::ECHO | LocalModes::ECHONL;
    attributes.output_modes = OutputModes::OPOST | OutputModes::ONLCR;
    tcsetattr(terminal, OptionalActions::Now, &attributes)
}

/// Returns only if it cannot.
fn become_it(launch: &Launch) -> Refused {
    if let Err(err) = std::env::set_current_dir(&launch.folder) {
        return Refused::NoFolder(err.to_string());
    }
    let mut command = Command::new(&launch.program);
    command.args(&launch.args).env_clear().envs(launch.environment.iter().map(|(name, value)| (name, value)));
    // The one thing of tmux's environment that is true inside only.
    if launch.environment.iter().all(|(name, _)| name != "TERM")
        && let Some(term) = std::env::var_os("TERM")
    {
        command.env("TERM", term);
    }
    if launch.without_input {
        if let Err(err) = show_only() {
            return Refused::Failed(format!("the terminal of its pane cannot be set up: {err}"));
        }
        command.stdin(Stdio::null());
    }
    // What the tmux server has open is not the agent's.
    if let Err(err) = ao_process::descriptors::keep_from_children() {
        return Refused::Failed(err.to_string());
    }
    // An orphan of the agent's stays below it, and so is still known to be the agent's. This outlives the exec.
    #[cfg(target_os = "linux")]
    if let Err(err) = rustix::process::set_child_subreaper(Some(rustix::process::getpid())) {
        return Refused::Failed(err.to_string());
    }
    let err = command.exec();
    match err.kind() {
        ErrorKind::NotFound => Refused::NoProgram,
        _ => Refused::Failed(err.to_string()),
    }
}
