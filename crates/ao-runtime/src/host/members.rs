//! Finds the processes of an attempt: those that carry its ids in their environment, and those in its group.
//!
//! Processes that the set-up of a workspace has left running carry the same ids and an additional mark. They belong to
//! the session, whose workspace ends them, and to no attempt.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use ao_core::{Attempt, SessionId};
use ao_ports::RuntimeError;
use ao_ports::environment::{ATTEMPT, SESSION, SETUP};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::files::no_procfs;
use super::procfs::{self, ProcessStat};

/// Identifies a process: each attempt of a session has one.
pub(crate) type AttemptKey = (SessionId, Attempt);

/// Identifies a process across restarts. A pid alone is soon reused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessRecord {
    pub(crate) pid: i32,
    /// The kernel's start time of the process, in ticks since boot.
    pub(crate) start: u64,
    /// The id of that boot.
    pub(crate) boot: String,
    /// The name shown to people.
    pub(crate) name: String,
    pub(crate) program: String,
}

/// All processes, each with the ids it carries.
type ProcessTable = Vec<(ProcessStat, Option<CarriedIds>)>;

/// The ids in the environment of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CarriedIds {
    session: SessionId,
    /// Absent if it belongs to the session's set-up.
    attempt: Option<Attempt>,
}

/// The last reading of all processes, and when it was begun. Locked during a reading, so that all callers who wait
/// share the next one: a reading costs time in proportion to the processes of the host, and many attempts may be ended
/// at once.
static LAST: Mutex<Option<(Instant, Arc<ProcessTable>)>> = Mutex::const_new(None);

/// Finds the processes of an attempt. By the environment, because a daemon of the agent leaves the group; by the group,
/// because a program may clear its environment.
pub(crate) async fn find(key: AttemptKey, record: Option<&ProcessRecord>) -> io::Result<Vec<ProcessStat>> {
    let table = read().await?;
    let group = record.filter(|record| record.is_of_this_boot()).and_then(|record| own_group(record, &table));
    let mine = Some(CarriedIds { session: key.0, attempt: Some(key.1) });
    let is_of_setup = |carried: &Option<CarriedIds>| carried.is_some_and(|carried| carried.attempt.is_none());
    let is_member = |(process, carried): &&(ProcessStat, Option<CarriedIds>)| {
        !process.zombie && (*carried == mine || Some(process.group) == group && !is_of_setup(carried))
    };
    let members: Vec<ProcessStat> = table.iter().filter(is_member).map(|(process, _)| *process).collect();
    Ok(with_children(members, &table))
}

/// Adds all descendants. A child may have cleared its environment and left the group.
fn with_children(mut members: Vec<ProcessStat>, table: &ProcessTable) -> Vec<ProcessStat> {
    let mut known: HashSet<i32> = members.iter().map(|process| process.pid).collect();
    let mut at = 0;
    while let Some(parent) = members.get(at).map(|process| process.pid) {
        at += 1;
        for (process, carried) in &**table {
            let is_of_setup = carried.is_some_and(|carried| carried.attempt.is_none());
            if process.parent == parent && !process.zombie && !is_of_setup && known.insert(process.pid) {
                members.push(*process);
            }
        }
    }
    members
}

/// Returns true if any process of a session runs, be it of an attempt or of its set-up.
pub(crate) async fn any_of(session: SessionId) -> io::Result<bool> {
    let is_of = |carried: &CarriedIds| carried.session == session;
    Ok(read().await?.iter().any(|(process, carried)| !process.zombie && carried.as_ref().is_some_and(is_of)))
}

/// Returns a reading that was begun after this call.
async fn read() -> io::Result<Arc<ProcessTable>> {
    let asked = Instant::now();
    let mut last = LAST.lock().await;
    if let Some((begun, table)) = &*last
        && *begun >= asked
    {
        return Ok(table.clone());
    }
    let begun = Instant::now();
    let all =
        || procfs::all().map(|all| all.into_iter().map(|process| (process, carried(process.pid))).collect());
    let table: Arc<ProcessTable> =
        Arc::new(tokio::task::spawn_blocking(all).await.map_err(io::Error::other)??);
    *last = Some((begun, table.clone()));
    Ok(table)
}

/// Returns the process group of a record, unless its id is now used by another.
fn own_group(record: &ProcessRecord, all: &ProcessTable) -> Option<i32> {
    match all.iter().map(|(process, _)| process).find(|process| process.pid == record.pid) {
        Some(leader) => (leader.start == record.start).then_some(record.pid),
        // The leader is gone. While its group has members, the kernel does not reuse the id.
        None => all
            .iter()
            .map(|(process, _)| process)
            .filter(|process| process.group == record.pid)
            .all(|process| process.start >= record.start)
            .then_some(record.pid),
    }
}

/// Reads the ids that a process was started with.
fn carried(pid: i32) -> Option<CarriedIds> {
    let environment = procfs::environment(pid)?;
    let value = |name: &str| {
        let lines = environment.split(|byte| *byte == 0).filter_map(|line| std::str::from_utf8(line).ok());
        lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix('=')).next()
    };
    let session = value(SESSION)?.parse().ok()?;
    let attempt = match value(SETUP) {
        Some(_) => None,
        None => Some(Attempt(value(ATTEMPT)?.parse().ok()?)),
    };
    Some(CarriedIds { session, attempt })
}

impl ProcessRecord {
    /// Creates the record of the process that has this pid now.
    pub(crate) fn of(pid: i32, name: &str, program: &str) -> io::Result<ProcessRecord> {
        let seen = procfs::stat(pid)?
            .ok_or_else(|| io::Error::other(format!("`{program}` has ended as soon as it was started")))?;
        let (name, program) = (name.to_owned(), program.to_owned());
        Ok(ProcessRecord { pid, start: seen.start, boot: procfs::boot()?, name, program })
    }

    pub(crate) fn is_of_this_boot(&self) -> bool {
        procfs::boot().is_ok_and(|boot| boot == self.boot)
    }

    /// Returns a handle on the process, if it is alive and still the same.
    pub(crate) fn pidfd(&self) -> Option<OwnedFd> {
        self.is_of_this_boot().then(|| pidfd(self.pid, self.start)).flatten()
    }

    /// Returns the current working directory of the process.
    pub(crate) fn folder(&self) -> Option<String> {
        let folder = std::fs::read_link(format!("/proc/{}/cwd", self.pid)).ok()?;
        // Checked only now: if it is alive, the link was its own and not that of a later process with its pid.
        self.pidfd()?;
        folder.into_os_string().into_string().ok()
    }

    /// Returns true if it is alive. An error means that this cannot be determined.
    pub(crate) fn lives(&self) -> Result<bool, RuntimeError> {
        self.unless_ended().map(|handle| handle.is_some()).map_err(|err| no_procfs(&err))
    }

    /// Returns a handle on the process, or `None` if it has certainly ended. Unlike [`ProcessRecord::pidfd`], which returns
    /// `None` also if no handle could be opened.
    pub(crate) fn unless_ended(&self) -> io::Result<Option<OwnedFd>> {
        if procfs::boot()? != self.boot {
            return Ok(None);
        }
        let Some(pid) = Pid::from_raw(self.pid) else { return Ok(None) };
        let opened = pidfd_open(pid, PidfdFlags::NONBLOCK);
        if procfs::stat(self.pid)?.is_none_or(|process| process.start != self.start) {
            return Ok(None);
        }
        match opened {
            Ok(pidfd) if has_ended(&pidfd)? => Ok(None),
            Ok(pidfd) => Ok(Some(pidfd)),
            Err(Errno::SRCH) => Ok(None),
            Err(err) => Err(err.into()),
        }
    }
}

/// Opens a handle on a process that was seen before. Opened first and compared afterwards: a handle cannot move to
/// another process.
pub(crate) fn pidfd(pid: i32, start: u64) -> Option<OwnedFd> {
    let pidfd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::NONBLOCK).ok()?;
    let same = procfs::stat(pid).ok()?.is_some_and(|process| process.start == start && !process.zombie);
    same.then_some(pidfd)
}

/// Returns true if all threads of the process behind a handle have ended. Its state in `/proc` is that of the first
/// thread only.
fn has_ended(pidfd: &OwnedFd) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    Ok(poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&now))? > 0)
}
