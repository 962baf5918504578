//! Records the output of an agent, whether or not a daemon runs.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use ao_ports::secret::is_secret;
use ao_process::Redactor;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use rustix::io::Errno;

use super::super::attempt_dir::{self, SOCKET};
use super::line_ends::LineEnds;
use super::{HelperError, TerminalModes, failed};
use crate::host::attempt_dir::OUTPUT;
use crate::host::{ProgramExit, files};
use crate::recording::{OutputLimits, OutputWriter};

/// The pipe over which it is notified that the agent has ended.
pub(in super::super) const FINISH: &str = "finish";
/// Greetings by which the daemon distinguishes its callers.
pub(in super::super) const GREETING_LOG: &[u8] = b"o";
pub(in super::super) const GREETING_LAUNCH: &[u8] = b"l";

/// Records until the agent has ended and all output was read, or until tmux is gone.
///
/// With `plain`, line ends are kept as the program wrote them.
pub(super) fn log(attempt_dir: &Path, keep: OutputLimits, plain: bool) -> Result<(), HelperError> {
    let io = |what: &'static str| move |err: std::io::Error| failed(what, &err);
    let mut finish = finish_pipe(attempt_dir).map_err(io("the pipe for the end cannot be opened"))?;
    let mut writer =
        OutputWriter::resume(attempt_dir.join(OUTPUT), keep).map_err(io("the output cannot be kept"))?;
    let mut modes = TerminalModes::read(attempt_dir);
    let mut line_ends = plain.then(LineEnds::default);
    // A daemon that starts the agent waits for this connection, and sends the secrets to mask; any other does not.
    let mut redactor: Option<Redactor> = None;
    if let Ok((_folder, socket)) = files::socket(attempt_dir, SOCKET)
        && let Ok(mut daemon) = UnixStream::connect(socket)
    {
        let mut json = Vec::new();
        let _ = daemon.write_all(GREETING_LOG).and_then(|()| daemon.read_to_end(&mut json));
        let sent: Option<Vec<(String, OsString)>> = serde_json::from_slice(&json).ok();
        redactor = sent.map(|secrets| self::redactor(&secrets));
    }
    let mut output = std::io::stdin().lock();
    let mut space = vec![0; 1 << 16];
    loop {
        let can_ease = redactor.as_ref().is_some_and(Redactor::can_ease);
        let (readable, finished) =
            wait(&output, &finish, can_ease).map_err(io("the output cannot be waited for"))?;
        let eases = can_ease && !readable && !finished;
        // Output first: the end is reported after tmux has passed everything on.
        if readable {
            let count = match output.read(&mut space) {
                Ok(count) => count,
                Err(err) if err.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(err) => return Err(failed("the output cannot be read", &err)),
            };
            if count == 0 {
                let _ = writer.append_plain(&held_back(&mut redactor, &mut line_ends));
                return attempt_dir::mark_closed(attempt_dir)
                    .map_err(io("the end of the output cannot be written down"));
            }
            if modes.take(&space[..count]) {
                modes.keep(attempt_dir).map_err(io("the modes of the terminal cannot be written down"))?;
            }
            // A full disk must not stop the agent. Readers notice the gap by its offset.
            let written = match &mut line_ends {
                Some(line_ends) => Cow::Owned(line_ends.take(&space[..count])),
                None => Cow::Borrowed(&space[..count]),
            };
            let shown =
                redactor.get_or_insert_with(|| self::redactor(&secrets_of_agent(attempt_dir))).push(&written);
            let _ = writer.append_plain(&shown);
        } else if eases {
            let shown = redactor.as_mut().map(Redactor::ease).unwrap_or_default();
            let _ = writer.append_plain(&shown);
        } else if finished {
            let _ = writer.append_plain(&held_back(&mut redactor, &mut line_ends));
            let mut json = [0; 512];
            let count = finish.read(&mut json).map_err(io("the end cannot be read"))?;
            let exit: ProgramExit =
                serde_json::from_slice(&json[..count]).unwrap_or(ProgramExit::now(None, None));
            return attempt_dir::write_exit(attempt_dir, exit).map_err(io("the exit cannot be written down"));
        }
    }
}

/// Flushes bytes that were held back as a possible secret or line end.
fn held_back(redactor: &mut Option<Redactor>, line_ends: &mut Option<LineEnds>) -> Vec<u8> {
    let rest = line_ends.as_mut().map(LineEnds::finish).unwrap_or_default();
    match redactor {
        Some(redactor) => {
            let mut shown = redactor.push(rest);
            shown.extend(redactor.finish());
            shown
        }
        // There was no output at all, so nothing is held back.
        None => rest.to_vec(),
    }
}

/// Without the daemon that has started it, reads the agent's secrets from its own environment: a pane with output has
/// become the agent. So they are nowhere on disk and in no argument.
fn secrets_of_agent(attempt_dir: &Path) -> Vec<(String, OsString)> {
    let named = attempt_dir::named_secrets(attempt_dir);
    let environ = attempt_dir::pane(attempt_dir)
        .and_then(|pane| std::fs::read(format!("/proc/{}/environ", pane.process.pid)).ok());
    let environ = environ.unwrap_or_default();
    let variable = |entry: &[u8]| {
        let at = entry.iter().position(|byte| *byte == b'=')?;
        let name = String::from_utf8(entry[..at].to_vec()).ok()?;
        Some((name, OsString::from_vec(entry[at + 1..].to_vec())))
    };
    let is_one = |name: &String| is_secret(name) || named.contains(name);
    let variables = environ.split(|byte| *byte == 0).filter_map(variable);
    variables.filter(|(name, _)| is_one(name)).collect()
}

fn redactor(secrets: &[(String, OsString)]) -> Redactor {
    Redactor::new(secrets.iter().map(|(name, value)| (name.as_str(), value.as_encoded_bytes())))
}

/// Returns whether there is output, and whether the end was reported. Neither, if held-back bytes are to be shown
/// first.
fn wait(output: &impl std::os::fd::AsFd, finish: &File, ease: bool) -> std::io::Result<(bool, bool)> {
    let moment = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    let timeout = ease.then_some(&moment);
    let mut fds = [PollFd::new(output, PollFlags::IN), PollFd::new(finish, PollFlags::IN)];
    loop {
        match poll(&mut fds, timeout) {
            Ok(_) => return Ok((!fds[0].revents().is_empty(), !fds[1].revents().is_empty())),
            Err(Errno::INTR) => {}
            Err(err) => return Err(err.into()),
        }
    }
}

/// Held open for writing as well, so that it never reads an end of file.
fn finish_pipe(attempt_dir: &Path) -> std::io::Result<File> {
    let path = attempt_dir.join(FINISH);
    match mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(err) => return Err(err.into()),
    }
    OpenOptions::new().read(true).write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
}
