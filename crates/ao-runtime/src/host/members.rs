//! Which processes belong to an attempt: those that carry its ids in their environment, and those in its group.
//!
//! What a workspace's set-up has left running carries the same ids and a mark of its own. It belongs to the session, whose
//! workspace ends it, and to no attempt.

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

/// Which process: one for each attempt of a session.
pub(crate) type Key = (SessionId, Attempt);

/// By what a process is known again. A pid alone is soon somebody else's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) pid: i32,
    /// The kernel's start time of the process, in ticks since the host was booted.
    pub(crate) start: u64,
    /// Which boot that was.
    pub(crate) boot: String,
    /// What people see.
    pub(crate) name: String,
    pub(crate) program: String,
}

/// All processes, each with what it carries of ours.
type Table = Vec<(ProcessStat, Option<Carried>)>;

/// What a process has of ours in its environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Carried {
    session: SessionId,
    /// Absent if it is of the session's set-up.
    attempt: Option<Attempt>,
}

/// The last reading of all processes, and when it was begun. Held while one is made, so that all who ask meanwhile share the
/// next: a reading costs as much as the host has processes, and many attempts may be ended at once.
static LAST: Mutex<Option<(Instant, Arc<Table>)>> = Mutex::const_new(None);

/// Finds what runs of an attempt. By the environment, because a daemon of the agent's leaves the group; by the group,
/// because a program may clear its environment.
pub(crate) async fn find(key: Key, record: Option<&Record>) -> io::Result<Vec<ProcessStat>> {
    let table = read().await?;
    let group = record.filter(|record| record.is_of_this_boot()).and_then(|record| own_group(record, &table));
    let mine = Some(Carried { session: key.0, attempt: Some(key.1) });
    let is_of_setup = |carried: &Option<Carried>| carried.is_some_and(|carried| carried.attempt.is_none());
    let is_member = |(process, carried): &&(ProcessStat, Option<Carried>)| {
        !process.zombie && (*carried == mine || Some(process.group) == group && !is_of_setup(carried))
    };
    let members: Vec<ProcessStat> = table.iter().filter(is_member).map(|(process, _)| *process).collect();
    Ok(with_children(members, &table))
}

/// Adds what runs below those that were found. A child may have cleared its environment and left the group.
fn with_children(mut members: Vec<ProcessStat>, table: &Table) -> Vec<ProcessStat> {
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

/// Whether anything of a session runs, be it of an attempt or of its set-up.
pub(crate) async fn any_of(session: SessionId) -> io::Result<bool> {
    let is_of = |carried: &Carried| carried.session == session;
    Ok(read().await?.iter().any(|(process, carried)| !process.zombie && carried.as_ref().is_some_and(is_of)))
}

/// A reading that was begun after this was called.
async fn read() -> io::Result<Arc<Table>> {
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
    let table: Arc<Table> = Arc::new(tokio::task::spawn_blocking(all).await.map_err(io::Error::other)??);
    *last = Some((begun, table.clone()));
    Ok(table)
}

/// The process group of a record, unless its number now belongs to somebody else.
fn own_group(record: &Record, all: &Table) -> Option<i32> {
    match all.iter().map(|(process, _)| process).find(|process| process.pid == record.pid) {
        Some(leader) => (leader.start == record.start).then_some(record.pid),
        // The leader is gone. While its group has members, the kernel gives its number to nobody else.
        None => all
            .iter()
            .map(|(process, _)| process)
            .filter(|process| process.group == record.pid)
            .all(|process| process.start >= record.start)
            .then_some(record.pid),
    }
}

/// What a process was started with.
fn carried(pid: i32) -> Option<Carried> {
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
    Some(Carried { session, attempt })
}

impl Record {
    /// Writes down which process a pid is now.
    pub(crate) fn of(pid: i32, name: &str, program: &str) -> io::Result<Record> {
        let seen = procfs::stat(pid)?
            .ok_or_else(|| io::Error::other(format!("`{program}` has ended as soon as it was started")))?;
        let (name, program) = (name.to_owned(), program.to_owned());
        Ok(Record { pid, start: seen.start, boot: procfs::boot()?, name, program })
    }

    pub(crate) fn is_of_this_boot(&self) -> bool {
        procfs::boot().is_ok_and(|boot| boot == self.boot)
    }

    /// A handle on the process, if it lives and is still the one.
    pub(crate) fn pidfd(&self) -> Option<OwnedFd> {
        self.is_of_this_boot().then(|| pidfd(self.pid, self.start)).flatten()
    }

    /// The folder that the process works in now.
    pub(crate) fn folder(&self) -> Option<String> {
        let folder = std::fs::read_link(format!("/proc/{}/cwd", self.pid)).ok()?;
        // Only now: if it lives, what was read before was of this one and not of another with its number.
        self.pidfd()?;
        folder.into_os_string().into_string().ok()
    }

    /// Whether it lives. An error means that this cannot be told.
    pub(crate) fn lives(&self) -> Result<bool, RuntimeError> {
        self.unless_ended().map(|handle| handle.is_some()).map_err(|err| no_procfs(&err))
    }

    /// A handle on the process, or `None` if it has certainly ended. Not [`Record::pidfd`]: there, a handle that could
    /// not be had passes for an end.
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

/// A handle on a process that was seen before. Opened first and compared afterwards: what the handle is on cannot change.
pub(crate) fn pidfd(pid: i32, start: u64) -> Option<OwnedFd> {
    let pidfd = pidfd_open(Pid::from_raw(pid)?, PidfdFlags::NONBLOCK).ok()?;
    let same = procfs::stat(pid).ok()?.is_some_and(|process| process.start == start && !process.zombie);
    same.then_some(pidfd)
}

/// Whether all threads of the process behind a handle have ended. Its state in `/proc` is that of the first thread only.
fn has_ended(pidfd: &OwnedFd) -> io::Result<bool> {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    Ok(poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&now))? > 0)
}
