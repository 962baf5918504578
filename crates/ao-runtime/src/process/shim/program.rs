//! The program that a shim holds: on a terminal, on pipes, or without input.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{InputModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};

use super::terminal::TerminalSize;
use super::{EXEC, ShimSpec};

/// A running program.
pub(super) struct HeldProgram {
    pid: i32,
    io: ProgramIo,
}

enum ProgramIo {
    /// A terminal; its other end is held so that it survives when the program closes it for a moment.
    Terminal { master: OwnedFd, _slave: OwnedFd },
    /// Three pipes that stay open.
    Pipes { stdin: OwnedFd, stdout: OwnedFd, stderr: OwnedFd },
    /// Both streams in one pipe, to preserve their order.
    Output { both: OwnedFd },
}

pub(super) enum StartError {
    NoProgram,
    NoFolder,
    Failed(io::Error),
}

impl From<io::Error> for StartError {
    fn from(err: io::Error) -> StartError {
        StartError::Failed(err)
    }
}

impl From<Errno> for StartError {
    fn from(err: Errno) -> StartError {
        StartError::Failed(err.into())
    }
}

impl HeldProgram {
    pub(super) fn start(spec: &ShimSpec) -> Result<HeldProgram, StartError> {
        if !Path::new(&spec.path).is_dir() {
            return Err(StartError::NoFolder);
        }
        match spec.terminal {
            Some(size) => on_terminal(spec, TerminalSize(size.0, size.1).sane()),
            None if spec.without_input => without_input(spec),
            None => on_pipes(spec),
        }
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Returns the descriptor of its output.
    pub(super) fn output(&self) -> BorrowedFd<'_> {
        match &self.io {
            ProgramIo::Terminal { master, .. } => master.as_fd(),
            ProgramIo::Pipes { stdout, .. } => stdout.as_fd(),
            ProgramIo::Output { both } => both.as_fd(),
        }
    }

    /// Returns the descriptor of its input, if it has one.
    pub(super) fn input(&self) -> Option<BorrowedFd<'_>> {
        match &self.io {
            ProgramIo::Terminal { master, .. } => Some(master.as_fd()),
            ProgramIo::Pipes { stdin, .. } => Some(stdin.as_fd()),
            ProgramIo::Output { .. } => None,
        }
    }

    /// Returns the descriptor of its stderr, if that is separate.
    pub(super) fn errors(&self) -> Option<BorrowedFd<'_>> {
        match &self.io {
            ProgramIo::Terminal { .. } | ProgramIo::Output { .. } => None,
            ProgramIo::Pipes { stderr, .. } => Some(stderr.as_fd()),
        }
    }

    pub(super) fn resize(&self, size: TerminalSize) -> io::Result<()> {
        Ok(tcsetwinsize(self.output(), winsize(size))?)
    }
}

fn winsize(TerminalSize(columns, rows): TerminalSize) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn command(spec: &ShimSpec, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(&spec.path).env_clear().envs(spec.env.iter().map(|(name, value)| (name, value)));
    command
}

fn on_pipes(spec: &ShimSpec) -> Result<HeldProgram, StartError> {
    let mut child = command(spec, &spec.program)
        .args(&spec.args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(not_started)?;
    let pipe = |end: Option<OwnedFd>| {
        let end = end.expect("a pipe was asked for");
        fcntl_setfl(&end, OFlags::NONBLOCK).map(|()| end)
    };
    let io = ProgramIo::Pipes {
        stdin: pipe(child.stdin.take().map(OwnedFd::from))?,
        stdout: pipe(child.stdout.take().map(OwnedFd::from))?,
        stderr: pipe(child.stderr.take().map(OwnedFd::from))?,
    };
    // The `Child` is dropped: all ends are waited for in one place.
    Ok(HeldProgram { pid: child.id() as i32, io })
}

fn without_input(spec: &ShimSpec) -> Result<HeldProgram, StartError> {
    let (both, end) = io::pipe()?;
    let both = OwnedFd::from(both);
    fcntl_setfl(&both, OFlags::NONBLOCK)?;
    let child = command(spec, &spec.program)
        .args(&spec.args)
        .stdin(Stdio::null())
        .stdout(end.try_clone()?)
        .stderr(end)
        .process_group(0)
        .spawn()
        .map_err(not_started)?;
    Ok(HeldProgram { pid: child.id() as i32, io: ProgramIo::Output { both } })
}

fn not_started(err: io::Error) -> StartError {
    if err.kind() == ErrorKind::NotFound { StartError::NoProgram } else { err.into() }
}

/// Starts the program on a terminal. That takes a few steps between fork and exec. This same program makes them,
/// started again as [`exec`], because otherwise they would need unsafe code.
fn on_terminal(spec: &ShimSpec, size: TerminalSize) -> Result<HeldProgram, StartError> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let slave = ioctl_tiocgptpeer(&master, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    let mut attributes = tcgetattr(&slave)?;
    attributes.input_modes |= InputModes::IUTF8;
    tcsetattr(&slave, OptionalActions::Now, &attributes)?;
    tcsetwinsize(&master, winsize(size))?;
    fcntl_setfl(&master, OFlags::NONBLOCK)?;
    let (mut failed, report) = io::pipe()?;
    let own: Vec<OsString> = std::env::args_os().skip(1).collect();
    let child = command(spec, "/proc/self/exe")
        .args(own)
        .arg(EXEC)
        .arg(&spec.program)
        .args(&spec.args)
        .env("TERM", "xterm-256color")
        .env("COLORTERM", "truecolor")
        .stdin(slave.try_clone()?)
        .stdout(slave.try_clone()?)
        .stderr(report)
        .spawn()?;
    // Ends when the program runs, since the exec closes the pipe.
    let mut failure = String::new();
    failed.read_to_string(&mut failure)?;
    match failure.parse().map(io::Error::from_raw_os_error) {
        Err(_) => {
            Ok(HeldProgram { pid: child.id() as i32, io: ProgramIo::Terminal { master, _slave: slave } })
        }
        Ok(err) if err.kind() == ErrorKind::NotFound => Err(StartError::NoProgram),
        Ok(err) => Err(err.into()),
    }
}

/// The last step before the program: makes stdin its terminal, and becomes the program. On failure the error number is
/// written to stderr.
pub(super) fn exec(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let (stdin, stdout, stderr) = (rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr());
    let Ok(report) = rustix::io::fcntl_dupfd_cloexec(stderr, 3) else { return ExitCode::FAILURE };
    let prepared = rustix::process::setsid()
        .and_then(|_| rustix::process::ioctl_tiocsctty(stdin))
        .and_then(|()| rustix::stdio::dup2_stderr(stdout));
    let err = match (prepared, args.next()) {
        (Ok(()), Some(program)) => Command::new(program).args(args).exec(),
        (Ok(()), None) => Errno::INVAL.into(),
        (Err(err), _) => err.into(),
    };
    let number = err.raw_os_error().unwrap_or(Errno::INVAL.raw_os_error());
    let _ = File::from(report).write_all(number.to_string().as_bytes());
    ExitCode::FAILURE
}
