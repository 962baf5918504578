//! Runs a client of tmux on a terminal of its own, read only as fast as its viewer reads.

use std::io;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::process::{Child, Command};

use crate::host::viewers::Size;

/// The program and its terminal. Both end when it is dropped, and the program is waited for.
pub(super) struct Pty {
    master: AsyncFd<OwnedFd>,
    child: Child,
}

impl Pty {
    /// Starts a program with nothing of our environment but the way to programs and home.
    pub(super) fn start(words: &[String], size: Size) -> io::Result<Pty> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let slave = ioctl_tiocgptpeer(&master, flags)?;
        tcsetwinsize(&master, winsize(size))?;
        fcntl_setfl(&master, OFlags::NONBLOCK)?;
        let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let child = Command::new(program)
            .args(args)
            .env_clear()
            .envs(["PATH", "HOME"].iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("TERM", "xterm-256color")
            .stdin(Stdio::from(slave.try_clone()?))
            .stdout(Stdio::from(slave.try_clone()?))
            .stderr(Stdio::from(slave))
            // What a terminal sends to the daemon's group is not meant for it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        Ok(Pty { master: watched(master)?, child })
    }

    /// Reads what there is; nothing at the end. Cancel-safe.
    pub(super) async fn read(&self, space: &mut [u8]) -> io::Result<usize> {
        let read =
            self.master.async_io(Interest::READABLE, |fd| Ok(rustix::io::read(fd, &mut *space)?)).await;
        match read {
            // So a terminal says that nobody has its other end any more.
            Err(err) if err.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => Ok(0),
            other => other,
        }
    }

    pub(super) async fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written =
                self.master.async_io(Interest::WRITABLE, |fd| Ok(rustix::io::write(fd, bytes)?)).await?;
            bytes = &bytes[written..];
        }
        Ok(())
    }

    /// Changes the size, and tells the program. The system would do so only if it were the program's controlling terminal,
    /// which it becomes by steps between fork and exec that safe code cannot make; a client of tmux needs none.
    pub(super) fn resize(&self, size: Size) -> io::Result<()> {
        tcsetwinsize(&self.master, winsize(size))?;
        match self.child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)) {
            Some(pid) => Ok(kill_process(pid, Signal::WINCH)?),
            None => Ok(()),
        }
    }

    /// Ends the program and waits for its end.
    pub(super) async fn end(mut self) {
        // One that has ended already is as good as killed.
        let _ = self.child.kill().await;
    }
}

#[expect(
    deprecated,
    reason = "its successor is unsafe, and an `OwnedFd` is never closed while it is watched"
)]
fn watched(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::new(fd)
}

fn winsize((columns, rows): Size) -> Winsize {
    Winsize { ws_row: rows.max(1), ws_col: columns.max(1), ws_xpixel: 0, ws_ypixel: 0 }
}
