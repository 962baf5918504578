//! The holder of one process: a program of its own, small enough to have one for every session.
//!
//! ```text
//!  daemon ──spec on stdin──► shim ──PTY or pipes──► program ──► whatever it starts
//!     ▲                       │ ▲
//!     └──────── socket ───────┘ └──── socket ──── viewers
//! ```
//!
//! It keeps the program's terminal open, its output in files and its exit code on disk, so all of that outlives the daemon.
//! It does one thing after the other in one thread, and waits for all of it in one place ([`holder`]).

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

use self::holder::Holder;
use self::program::{Program, StartError};
use crate::host::{Place, Record};
use crate::kept::Keep;

/// What a shim is to hold. It comes on stdin, as it has secrets in it: arguments can be seen by everybody, and files stay.
#[derive(Serialize, Deserialize)]
pub(super) struct Spec {
    pub(super) session: SessionId,
    pub(super) attempt: Attempt,
    pub(super) dir: PathBuf,
    pub(super) name: String,
    pub(super) program: String,
    pub(super) args: Vec<String>,
    pub(super) path: String,
    pub(super) env: Vec<(OsString, OsString)>,
    /// What is not to be kept of what it puts out, by name.
    pub(super) secrets: Vec<(String, OsString)>,
    /// The size of the terminal, if it is to have one.
    pub(super) terminal: Option<(u16, u16)>,
    /// It has no input, and both of its streams are one.
    #[serde(default)]
    pub(super) without_input: bool,
    pub(super) keep: Keep,
}

/// What a shim answers, in one line on stdout.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Started,
    /// Another shim lives and has started it.
    Held,
    /// It was started before; there is no more to it.
    Past,
    /// It is not to be started any more.
    Ended,
    NoProgram,
    NoFolder,
    Failed {
        why: String,
    },
}

/// The argument that makes it the last step before the program instead.
const EXEC: &str = "exec";

/// Is a shim until what it holds has ended. To be called before anything else is set up in this process.
pub fn run() -> ExitCode {
    // What it is told holds the agent's secrets, so no other program of the user's may look into it.
    let _ = ao_process::close_to_others();
    // Whatever was open where the daemon came from is not the program's.
    if let Err(err) = ao_process::descriptors::keep_from_children() {
        return reply(&Answer::Failed { why: err.to_string() });
    }
    let mut args = std::env::args_os();
    if args.any(|arg| arg == EXEC) {
        return program::exec(args);
    }
    let holder = match prepare() {
        Ok(Ok(holder)) => holder,
        Ok(Err(answer)) => return reply(&answer),
        Err(err) => return reply(&Answer::Failed { why: err.to_string() }),
    };
    // If the daemon is gone, that changes nothing: what is started is started, and the next one finds it.
    reply(&Answer::Started);
    match let_go().and_then(|()| holder.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Reads what is wanted and starts it, if that was not done before.
fn prepare() -> io::Result<Result<Holder, Answer>> {
    // From now on no terminal of a person's is ours.
    let _ = rustix::process::setsid();
    wait::stand_signals()?;
    let mut json = Vec::new();
    io::stdin().read_to_end(&mut json)?;
    let spec: Spec = serde_json::from_slice(&json)?;
    drop(json);
    let place = Place::at(spec.dir.clone(), (spec.session, spec.attempt));
    let lock_file = |path: PathBuf| {
        openat(CWD, path, OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)
    };
    // Two at once take turns; the second finds what the first has done.
    let starting = lock_file(place.start_lock())?;
    flock(&starting, FlockOperation::LockExclusive)?;
    let lock = lock_file(place.lock())?;
    if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(Err(Answer::Held));
    }
    if place.ending().map_err(io::Error::other)?.is_some() {
        return Ok(Err(Answer::Ended));
    }
    if place.record().map_err(io::Error::other)?.is_some() {
        return Ok(Err(Answer::Past));
    }
    // Orphans come to us instead of going to the host's first process, so that none is lost.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let me = Record::of(rustix::process::getpid().as_raw_nonzero().get(), "shim", &spec.program)?;
    place.keep_holder(&me).map_err(io::Error::other)?;
    let listener = wait::listen(place.dir())?;
    let program = match Program::start(&spec) {
        Ok(program) => program,
        Err(err) => {
            // Nothing was started, so nobody has to look for what is left of it.
            place.forget_holder().map_err(io::Error::other)?;
            return match err {
                StartError::NoProgram => Ok(Err(Answer::NoProgram)),
                StartError::NoFolder => Ok(Err(Answer::NoFolder)),
                StartError::Failed(err) => Err(err),
            };
        }
    };
    let record = Record::of(program.pid(), &spec.name, &spec.program)?;
    place.keep_record(&record).map_err(io::Error::other)?;
    Ok(Ok(Holder::new(place, record, program, listener, &spec, lock)?))
}

fn reply(answer: &Answer) -> ExitCode {
    let mut line = serde_json::to_vec(answer).expect("plain data can be written");
    line.push(b'\n');
    match io::stdout().write_all(&line).and_then(|()| io::stdout().flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Lets go of everything that came from the daemon.
fn let_go() -> io::Result<()> {
    let null = openat(CWD, "/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    // A folder that is removed must not be held.
    rustix::process::chdir("/")?;
    Ok(())
}
