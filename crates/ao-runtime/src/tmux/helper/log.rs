//! Keeping what an agent puts out, whether a daemon is there or not.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, Mode, OFlags, mkfifoat};
use rustix::io::Errno;

use super::super::place::{self, SOCKET};
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
pub(super) fn log(place: &Path, keep: Keep) -> Result<(), HelperError> {
    let io = |what: &'static str| move |err: std::io::Error| failed(what, &err);
    let mut finish = finish_pipe(place).map_err(io("the pipe for the end cannot be opened"))?;
    let mut writer = Writer::resume(place.join(OUTPUT), keep).map_err(io("the output cannot be kept"))?;
    let mut modes = Modes::read(place);
    // A daemon that starts the agent waits for this; any other does not.
    if let Ok((_folder, socket)) = files::socket(place, SOCKET)
        && let Ok(mut daemon) = UnixStream::connect(socket)
    {
        let _ = daemon.write_all(GREETING_LOG);
    }
    let mut output = std::io::stdin().lock();
    let mut space = vec![0; 1 << 16];
    loop {
        let (readable, finished) = wait(&output, &finish).map_err(io("the output cannot be waited for"))?;
        // What is left is taken first: the end is told after tmux has passed everything on.
        if readable {
            let count = match output.read(&mut space) {
                Ok(count) => count,
                Err(err) if err.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(err) => return Err(failed("the output cannot be read", &err)),
            };
            if count == 0 {
                return place::mark_closed(place).map_err(io("the end of the output cannot be written down"));
            }
            if modes.take(&space[..count]) {
                modes.keep(place).map_err(io("the modes of the terminal cannot be written down"))?;
            }
            // A full disk must not stop the agent. What is lost to readers is seen by its offset.
            let _ = writer.append_plain(&space[..count]);
        } else if finished {
            let mut json = [0; 512];
            let count = finish.read(&mut json).map_err(io("the end cannot be read"))?;
            let exit: Exit = serde_json::from_slice(&json[..count]).unwrap_or(Exit::now(None, None));
            return place::write_exit(place, exit).map_err(io("the exit cannot be written down"));
        }
    }
}

/// Whether there is output, and whether the end has been told.
fn wait(output: &impl std::os::fd::AsFd, finish: &File) -> std::io::Result<(bool, bool)> {
    let mut fds = [PollFd::new(output, PollFlags::IN), PollFd::new(finish, PollFlags::IN)];
    loop {
        match poll(&mut fds, None) {
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
