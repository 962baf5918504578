//! Keeping what an agent puts out, whether a daemon is there or not.

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

use super::super::place::{self, SOCKET};
use super::line_ends::LineEnds;
use super::{HelperError, Modes, failed};
use crate::host::place::OUTPUT;
use crate::host::{Exit, files};
use crate::kept::{Keep, Writer};

/// The pipe by which it is told that the agent has ended.
pub(in super::super) const FINISH: &str = "finish";
/// By which the daemon tells apart who calls.
pub(in super::super) const GREETING_LOG: &[u8] = b"o";
pub(in super::super) const GREETING_LAUNCH: &[u8] = b"l";

/// Reads until the agent has ended and nothing is left, or until tmux is gone.
///
/// With `plain`, line ends are kept as the program wrote them.
pub(super) fn log(place: &Path, keep: Keep, plain: bool) -> Result<(), HelperError> {
    let io = |what: &'static str| move |err: std::io::Error| failed(what, &err);
    let mut finish = finish_pipe(place).map_err(io("the pipe for the end cannot be opened"))?;
    let mut writer = Writer::resume(place.join(OUTPUT), keep).map_err(io("the output cannot be kept"))?;
    let mut modes = Modes::read(place);
    let mut line_ends = plain.then(LineEnds::default);
    // A daemon that starts the agent waits for this, and tells what must not be kept; any other does not.
    let mut redactor: Option<Redactor> = None;
    if let Ok((_folder, socket)) = files::socket(place, SOCKET)
        && let Ok(mut daemon) = UnixStream::connect(socket)
    {
        let mut json = Vec::new();
        let _ = daemon.write_all(GREETING_LOG).and_then(|()| daemon.read_to_end(&mut json));
        let told: Option<Vec<(String, OsString)>> = serde_json::from_slice(&json).ok();
        redactor = told.map(|secrets| self::redactor(&secrets));
    }
    let mut output = std::io::stdin().lock();
    let mut space = vec![0; 1 << 16];
    loop {
        let can_ease = redactor.as_ref().is_some_and(Redactor::can_ease);
        let (readable, finished) =
            wait(&output, &finish, can_ease).map_err(io("the output cannot be waited for"))?;
        let eases = can_ease && !readable && !finished;
        // What is left is taken first: the end is told after tmux has passed everything on.
        if readable {
            let count = match output.read(&mut space) {
                Ok(count) => count,
                Err(err) if err.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(err) => return Err(failed("the output cannot be read", &err)),
            };
            if count == 0 {
                let _ = writer.append_plain(&last_words(&mut redactor, &mut line_ends));
                return place::mark_closed(place).map_err(io("the end of the output cannot be written down"));
            }
            if modes.take(&space[..count]) {
                modes.keep(place).map_err(io("the modes of the terminal cannot be written down"))?;
            }
            // A full disk must not stop the agent. What is lost to readers is seen by its offset.
            let said = match &mut line_ends {
                Some(line_ends) => Cow::Owned(line_ends.take(&space[..count])),
                None => Cow::Borrowed(&space[..count]),
            };
            let shown = redactor.get_or_insert_with(|| self::redactor(&secrets_of_agent(place))).push(&said);
            let _ = writer.append_plain(&shown);
        } else if eases {
            let shown = redactor.as_mut().map(Redactor::ease).unwrap_or_default();
            let _ = writer.append_plain(&shown);
        } else if finished {
            let _ = writer.append_plain(&last_words(&mut redactor, &mut line_ends));
            let mut json = [0; 512];
            let count = finish.read(&mut json).map_err(io("the end cannot be read"))?;
            let exit: Exit = serde_json::from_slice(&json[..count]).unwrap_or(Exit::now(None, None));
            return place::write_exit(place, exit).map_err(io("the exit cannot be written down"));
        }
    }
}

/// What is held back becomes no secret and no line end any more.
fn last_words(redactor: &mut Option<Redactor>, line_ends: &mut Option<LineEnds>) -> Vec<u8> {
    let rest = line_ends.as_mut().map(LineEnds::finish).unwrap_or_default();
    match redactor {
        Some(redactor) => {
            let mut shown = redactor.push(rest);
            shown.extend(redactor.finish());
            shown
        }
        // Nothing was ever put out, so there is nothing left of it.
        None => rest.to_vec(),
    }
}

/// Without the daemon that has started it, the agent's secrets are looked up where it has them itself: whoever puts something
/// out has become the agent. So they are nowhere on disk and in no argument.
fn secrets_of_agent(place: &Path) -> Vec<(String, OsString)> {
    let named = place::named_secrets(place);
    let environ =
        place::pane(place).and_then(|pane| std::fs::read(format!("/proc/{}/environ", pane.process.pid)).ok());
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

/// Whether there is output, and whether the end has been told. Neither, if something is to be shown meanwhile.
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
fn finish_pipe(place: &Path) -> std::io::Result<File> {
    let path = place.join(FINISH);
    match mkfifoat(CWD, &path, Mode::RUSR | Mode::WUSR) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(err) => return Err(err.into()),
    }
    OpenOptions::new().read(true).write(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)
}
