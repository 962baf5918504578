//! The holder of one process: a separate program, small enough to have one for every session.
//!
//! ```text
//!  daemon ──spec on stdin──► shim ──PTY or pipes──► program ──► whatever it starts
//!     ▲                       │ ▲
//!     └──────── socket ───────┘ └──── socket ──── viewers
//! ```
//!
//! It keeps the program's terminal open, its output in files and its exit code on disk, so all of that outlives the
//! daemon. It is single-threaded, and waits for all events in one place ([`holder`]).

mod ending;
mod holder;
mod input;
mod peer;
mod program;
mod reading;
mod serve;
pub(crate) mod terminal;
mod typing;
mod viewer;
mod wait;

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use ao_core::{Attempt, SessionId};
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use serde::{Deserialize, Serialize};

use self::holder::ProgramHolder;
use self::program::{HeldProgram, StartError};
use crate::host::{AttemptDir, ProcessRecord};
use crate::recording::OutputLimits;

/// The program to hold. Sent over stdin, since it contains secrets: arguments are visible to all users, and files
/// persist.
#[derive(Serialize, Deserialize)]
pub(super) struct ShimSpec {
    pub(super) session: SessionId,
    pub(super) attempt: Attempt,
    pub(super) dir: PathBuf,
    pub(super) name: String,
    pub(super) program: String,
    pub(super) args: Vec<String>,
    pub(super) path: String,
    pub(super) env: Vec<(OsString, OsString)>,
    /// Secrets to mask in its output, by name.
    pub(super) secrets: Vec<(String, OsString)>,
    /// The size of the terminal, if it gets one.
    pub(super) terminal: Option<(u16, u16)>,
    /// It has no input, and both of its streams are merged.
    #[serde(default)]
    pub(super) without_input: bool,
    pub(super) keep: OutputLimits,
}

/// The answer of a shim, in one line on stdout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ShimAnswer {
    /// It was started.
    Started,
    /// Another living shim has started it.
    Held,
    /// It was started before, and has ended.
    Past,
    /// It must not be started any more.
    Ended,
    /// There is no such program.
    NoProgram,
    /// There is no such folder.
    NoFolder,
    /// It could not be started.
    Failed { why: String },
}

/// The argument that selects the last step before the program.
const EXEC: &str = "exec";

/// Runs as a shim until its program has ended. To be called before anything else is set up in this process.
pub fn run() -> ExitCode {
    // The spec contains the agent's secrets, so no other program of the user may inspect this process.
    let _ = ao_process::close_to_others();
    // Descriptors inherited from the daemon's environment are not for the program.
    if let Err(err) = ao_process::descriptors::keep_from_children() {
        return reply(&ShimAnswer::Failed { why: err.to_string() });
    }
    let mut args = std::env::args_os();
    if args.any(|arg| arg == EXEC) {
        return program::exec(args);
    }
    let holder = match prepare() {
        Ok(Ok(holder)) => holder,
        Ok(Err(answer)) => return reply(&answer),
        Err(err) => return reply(&ShimAnswer::Failed { why: err.to_string() }),
    };
    // A missing daemon changes nothing: the program is started, and the next daemon finds it.
    reply(&ShimAnswer::Started);
    match let_go().and_then(|()| holder.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Reads the spec and starts the program, unless that was done before.
fn prepare() -> io::Result<Result<ProgramHolder, ShimAnswer>> {
    // Leaves the terminal of the person who started the daemon.
    let _ = rustix::process::setsid();
    wait::stand_signals()?;
    let mut json = Vec::new();
    io::stdin().read_to_end(&mut json)?;
    let spec: ShimSpec = serde_json::from_slice(&json)?;
    drop(json);
    let attempt_dir = AttemptDir::at(spec.dir.clone(), (spec.session, spec.attempt));
    let lock_file = |path: PathBuf| {
        openat(CWD, path, OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)
    };
    // Two concurrent starts take turns; the second finds the result of the first.
    let starting = lock_file(attempt_dir.start_lock())?;
    flock(&starting, FlockOperation::LockExclusive)?;
    let lock = lock_file(attempt_dir.lock())?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(Err(ShimAnswer::Held));
    }
    if attempt_dir.ending().map_err(io::Error::other)?.is_some() {
        return Ok(Err(ShimAnswer::Ended));
    }
    if attempt_dir.record().map_err(io::Error::other)?.is_some() {
        return Ok(Err(ShimAnswer::Past));
    }
    // Orphans are reparented to us instead of to the host's init process, so that none is lost.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let me = ProcessRecord::of(rustix::process::getpid().as_raw_nonzero().get(), "shim", &spec.program)?;
    attempt_dir.keep_holder(&me).map_err(io::Error::other)?;
    let listener = wait::listen(attempt_dir.dir())?;
    let program = match HeldProgram::start(&spec) {
        Ok(program) => program,
        Err(err) => {
            // Nothing was started, so there are no leftovers to look for.
            attempt_dir.forget_holder().map_err(io::Error::other)?;
            return match err {
                StartError::NoProgram => Ok(Err(ShimAnswer::NoProgram)),
                StartError::NoFolder => Ok(Err(ShimAnswer::NoFolder)),
                StartError::Failed(err) => Err(err),
            };
        }
    };
    let record = ProcessRecord::of(program.pid(), &spec.name, &spec.program)?;
    attempt_dir.keep_record(&record).map_err(io::Error::other)?;
    Ok(Ok(ProgramHolder::new(attempt_dir, record, program, listener, &spec, lock)?))
}

fn reply(answer: &ShimAnswer) -> ExitCode {
    let mut line = serde_json::to_vec(answer).expect("plain data can be written");
    line.push(b'\n');
    match io::stdout().write_all(&line).and_then(|()| io::stdout().flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Releases everything inherited from the daemon.
fn let_go() -> io::Result<()> {
    let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    // A removed folder must not be held.
    rustix::process::chdir("/")?;
    Ok(())
}
