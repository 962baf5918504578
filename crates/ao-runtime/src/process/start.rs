//! Starting a process once, whatever happens in between.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ao_ports::environment;
use ao_ports::{Io, ProcessRef, RuntimeError, StartSpec};
use rustix::fs::{CWD, Mode, mkfifoat};
use tokio::process::{Child, Command};

use super::place::{Place, failed};
use super::processes::{Processes, unable};
use super::watch;
use crate::host::{Record, members, procfs};

pub(super) async fn start(processes: &Processes, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
    if spec.command.io == Io::Terminal {
        return Err(unable("give a program a terminal; choose an agent that speaks over pipes"));
    }
    let key = (spec.session, spec.attempt);
    let shared = &processes.shared;
    let _turn = shared.turn(key).await;
    let place = shared.place(key);
    if place.ending()?.is_some() {
        return Err(RuntimeError::Failed(format!(
            "attempt {} of {} has been ended and is not started again",
            spec.attempt, spec.session
        )));
    }
    if place.record()?.is_some() {
        return Ok(place.process());
    }
    // A start that was cut off may have left a process that nobody has written down yet.
    if place.begun()? && adopt_unrecorded(processes, &place, spec).await? {
        return Ok(place.process());
    }
    place.make()?;
    place.begin()?;
    let child = spawn(&place, spec)?;
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    let seen = pid.map(procfs::stat).transpose().ok().flatten().flatten();
    let Some(seen) = seen else {
        return Err(RuntimeError::Failed(format!(
            "`{}` was started, but cannot be seen in /proc; this runtime needs Linux",
            spec.command.program
        )));
    };
    keep(&place, spec, seen.pid, seen.start)?;
    processes.spawn_waiter(key, watch::child(shared.clone(), place.clone(), child));
    Ok(place.process())
}

async fn adopt_unrecorded(
    processes: &Processes,
    place: &Place,
    spec: &StartSpec,
) -> Result<bool, RuntimeError> {
    let key = place.key;
    let found = tokio::task::spawn_blocking(move || members::of(key, None))
        .await
        .map_err(|err| RuntimeError::Failed(err.to_string()))?
        .map_err(|err| failed("look for processes in", Path::new("/proc"), &err))?;
    match found.iter().find(|process| process.pid == process.group) {
        Some(leader) => {
            keep(place, spec, leader.pid, leader.start)?;
            processes.adopt(place)?;
            Ok(true)
        }
        None => Ok(false),
    }
}

fn keep(place: &Place, spec: &StartSpec, pid: i32, start: u64) -> Result<(), RuntimeError> {
    let boot =
        procfs::boot().map_err(|err| failed("read", Path::new("/proc/sys/kernel/random/boot_id"), &err))?;
    let (name, program) = (spec.name.clone(), spec.command.program.clone());
    place.keep_record(&Record { pid, start, boot, name, program })
}

fn spawn(place: &Place, spec: &StartSpec) -> Result<Child, RuntimeError> {
    let log = |path: &Path| {
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
            .map_err(|err| failed("open", path, &err))
    };
    let wanted = environment::Wanted {
        session: spec.session,
        attempt: spec.attempt,
        pass: &spec.command.pass,
        set: &spec.command.env,
        secrets: &spec.command.secrets,
    };
    let mut command = Command::new(&spec.command.program);
    command
        .args(&spec.command.args)
        .current_dir(&spec.path)
        .env_clear()
        .envs(environment::compose(wanted, std::env::vars_os())?)
        .stdin(stdin(&place.stdin())?)
        .stdout(log(&place.output())?)
        .stderr(log(&place.errors())?)
        // A group of its own: what a terminal sends to the daemon's group is not meant for agents.
        .process_group(0);
    command.spawn().map_err(|err| match err.kind() {
        ErrorKind::NotFound if Path::new(&spec.path).is_dir() => {
            RuntimeError::NoProgram { program: spec.command.program.clone() }
        }
        ErrorKind::NotFound => RuntimeError::Failed(format!("the folder `{}` is not there", spec.path)),
        _ => RuntimeError::Failed(format!("`{}` could not be started: {err}", spec.command.program)),
    })
}

/// A named pipe, open for reading and writing. As the process holds the writing end itself, it never reads an end of file,
/// and whoever is the daemon can open the pipe and write.
fn stdin(path: &Path) -> Result<File, RuntimeError> {
    match mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(err) => return Err(failed("make the pipe", path, &err.into())),
    }
    OpenOptions::new().read(true).write(true).open(path).map_err(|err| failed("open", path, &err))
}
