//! A small process between the daemon and a command, which adopts every orphan of the command.
//!
//! ```text
//!  daemon ──spawn──► keeper ──► shell ──► whatever it starts
//!     ▲                │  ▲                   │ orphans, whatever they have done to their group, session and
//!     └─── socket ─────┘  └───────────────────┘ environment
//! ```
//!
//! The kernel reparents orphans to the keeper instead of to the host's init process. The keeper carries the mark of its
//! command, so all of them are found below it, by this daemon and by its successor; [`crate::Mark`] ends them. The
//! keeper itself ends nothing, and exits once it has no descendants. Where the kernel has no subreapers, or no keeper
//! program is configured, commands are started without a keeper.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, test_kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

/// The environment variable that only a keeper has.
pub(crate) const KEEPS: &str = "AO_KEEPS";

/// Status bytes that a keeper sends to the daemon.
const STARTED: u8 = b's';
const NOT_STARTED: u8 = b'n';
const ENDED: u8 = b'e';

/// The program that keeps commands, and its first argument. `None` if commands are started without a keeper.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keeper(Option<(OsString, OsString)>);

/// A command to be started in a process group of its own.
pub struct Order<'a> {
    pub shell: &'a OsStr,
    pub command: &'a str,
    pub folder: &'a Path,
    /// The whole environment of the command.
    pub environment: &'a [(OsString, OsString)],
    /// True if the caller will write to its stdin.
    pub input: bool,
    pub out: Stdio,
    pub err: Stdio,
}

impl fmt::Debug for Order<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the environment, which contains secrets.
        f.debug_struct("Order")
            .field("command", &self.command)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Keeper {
    /// Sets the keeper program, which calls [`run`] if it gets this first argument.
    pub fn new(program: impl Into<OsString>, argument: &str) -> Keeper {
        let program = cfg!(target_os = "linux").then(|| (program.into(), argument.into()));
        Keeper(program)
    }

    /// Starts a command. If it returns an error, nothing runs.
    pub async fn spawn(&self, order: Order<'_>) -> io::Result<Kept> {
        self.begin(order)?.started().await
    }

    /// Starts the process that all others of the command descend from; see [`Kept::started`].
    pub fn begin(&self, order: Order<'_>) -> io::Result<Kept> {
        let mut command = match &self.0 {
            Some((keeper, argument)) => {
                let mut command = Command::new(keeper);
                command.arg(argument).arg(if order.input { "input" } else { "none" }).arg(order.shell);
                command
            }
            None => Command::new(order.shell),
        };
        command
            .arg("-c")
            .arg(order.command)
            .current_dir(order.folder)
            .env_clear()
            .envs(order.environment.iter().map(|(name, value)| (name, value)))
            .stdout(order.out)
            .stderr(order.err)
            // A group of its own: signals that a terminal sends to our group are not meant for it.
            .process_group(0);
        if self.0.is_none() {
            let child = command.stdin(if order.input { Stdio::piped() } else { Stdio::null() }).spawn()?;
            return Ok(Kept { group: group(&child), child, line: None, heard: vec![] });
        }
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let child = command.env(KEEPS, "1").stdin(std::os::fd::OwnedFd::from(theirs)).spawn()?;
        // From now on only the keeper holds the other end of the socket.
        drop(command);
        let (from, to) = UnixStream::from_std(ours)?.into_split();
        let line = Some((from, order.input.then_some(to)));
        Ok(Kept { group: group(&child), child, line, heard: vec![] })
    }
}

fn group(child: &Child) -> Option<Pid> {
    child.id().and_then(|id| Pid::from_raw(id.cast_signed()))
}

/// A command that was started.
#[derive(Debug)]
pub struct Kept {
    child: Child,
    group: Option<Pid>,
    /// The socket to its keeper, if it has one.
    line: Option<(OwnedReadHalf, Option<OwnedWriteHalf>)>,
    /// The status bytes received from the keeper so far.
    heard: Vec<u8>,
}

impl Kept {
    /// Waits until the shell was started. If it returns an error, the shell was not started and no command runs.
    pub async fn started(mut self) -> io::Result<Kept> {
        if self.line.is_none() {
            return Ok(self);
        }
        self.hear(1).await?;
        match self.heard.first() {
            Some(&STARTED) => Ok(self),
            Some(_) => {
                self.hear(5).await?;
                let number = self.number();
                Err(number.map_or_else(|| io::ErrorKind::NotFound.into(), io::Error::from_raw_os_error))
            }
            None => Err(io::Error::other("the keeper process ended before it started the command")),
        }
    }

    /// Returns the process that all others of the command descend from, or share a group with.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    pub fn take_out(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    pub fn take_err(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// Takes the writer to its stdin, if it has one. Dropping the writer ends the input.
    pub fn take_input(&mut self) -> Option<Box<dyn AsyncWrite + Send + Unpin>> {
        match &mut self.line {
            Some((_, input)) => input.take().map(|input| Box::new(input) as _),
            None => self.child.stdin.take().map(|input| Box::new(input) as _),
        }
    }

    /// Waits until the shell ends. Processes that it started may go on. Cancel-safe: may be dropped and called again.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        if self.line.is_some() {
            self.hear(7).await?;
            if let (Some(&ENDED), Some(status)) = (self.heard.get(1), self.number_at(2)) {
                return Ok(ExitStatus::from_raw(status));
            }
        }
        // There is no keeper, or it was killed.
        self.child.wait().await
    }

    /// Returns whether a process that the command started still runs after the command has ended. `None` without a
    /// keeper if its group is empty, since a process may have left the group.
    pub fn has_left(&self) -> Option<bool> {
        match (self.heard.get(6), &self.line) {
            (Some(left), Some(_)) => Some(*left != 0),
            _ => self.group.is_some_and(|group| test_kill_process_group(group).is_ok()).then_some(true),
        }
    }

    /// Reads up to `most` status bytes from the keeper, or to the end of the stream.
    async fn hear(&mut self, most: usize) -> io::Result<()> {
        let Some((from, _)) = &mut self.line else { return Ok(()) };
        while self.heard.len() < most {
            let mut space = [0; 8];
            let room = most - self.heard.len();
            match from.read(&mut space[..room]).await {
                Ok(0) => break,
                Ok(count) => self.heard.extend_from_slice(&space[..count]),
                // The keeper ended before it had read all that we wrote.
                Err(err) if err.kind() == io::ErrorKind::ConnectionReset => break,
                Err(err) => return Err(err),
            }
        }
        Ok(())
    }

    fn number(&self) -> Option<i32> {
        self.number_at(1)
    }

    fn number_at(&self, at: usize) -> Option<i32> {
        Some(i32::from_le_bytes(self.heard.get(at..at + 4)?.try_into().ok()?))
    }
}

/// Runs as a keeper until no descendant is left. `args` are the arguments after the one that selects the keeper.
#[cfg(target_os = "linux")]
pub fn run(args: impl Iterator<Item = OsString>) -> std::process::ExitCode {
    match keeper::keep(args) {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(_) => std::process::ExitCode::FAILURE,
    }
}

#[cfg(target_os = "linux")]
mod keeper {
    use std::ffi::OsString;
    use std::io::{self, Write};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use rustix::fs::{CWD, Mode, OFlags, openat};
    use rustix::io::Errno;
    use rustix::process::{WaitOptions, wait};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

    use super::{ENDED, KEEPS, NOT_STARTED, STARTED};

    pub(super) fn keep(mut args: impl Iterator<Item = OsString>) -> io::Result<()> {
        crate::descriptors::keep_from_children()?;
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
        // Handle the signals instead of ignoring them: the command would inherit an ignored signal.
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2] {
            signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
        }
        let mut line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        let has_input = args.next().is_some_and(|arg| arg == "input");
        let shell = args.next().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(shell);
        command.args(args).env_remove(KEEPS).process_group(0);
        command.stdin(if has_input { Stdio::piped() } else { Stdio::null() });
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(err) => {
                let number = err.raw_os_error().unwrap_or_default().to_le_bytes();
                return line.write_all(&[[NOT_STARTED].as_slice(), &number].concat());
            }
        };
        // If the daemon is gone, carry on: its successor finds the keeper.
        let _ = line.write_all(&[STARTED]);
        if let Some(mut input) = child.stdin.take() {
            let mut document = line.try_clone()?;
            std::thread::spawn(move || io::copy(&mut document, &mut input));
        }
        let_go()?;
        let mut reported = false;
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status)))
                    if !reported && pid.as_raw_nonzero().get() == child.id().cast_signed() =>
                {
                    reported = true;
                    let left = u8::from(is_anything_left());
                    let mut status_bytes = vec![ENDED];
                    status_bytes.extend(status.as_raw().to_le_bytes());
                    status_bytes.push(left);
                    let _ = line.write_all(&status_bytes);
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(Errno::CHILD) => return Ok(()),
                Err(err) => return Err(err.into()),
            }
        }
    }

    fn is_anything_left() -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Releases the command's output, whose end others wait for, and its folder, which may be removed.
    fn let_go() -> io::Result<()> {
        let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        rustix::process::chdir("/")?;
        Ok(())
    }
}
