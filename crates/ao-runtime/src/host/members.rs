//! Which processes belong to an attempt: those that carry its ids in their environment, and those in its group.

use std::io;
use std::os::fd::OwnedFd;

use ao_core::{Attempt, SessionId};
use ao_ports::environment::{ATTEMPT, SESSION};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};

use super::procfs::{self, Stat};

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

/// Finds what runs of an attempt. By the environment, because a daemon of the agent's leaves the group; by the group,
/// because a program may clear its environment.
pub(crate) fn of(key: Key, record: Option<&Record>) -> io::Result<Vec<Stat>> {
    let all = procfs::all()?;
    let group = record.filter(|record| record.is_of_this_boot()).and_then(|record| own_group(record, &all));
    Ok(all
        .into_iter()
        .filter(|process| !process.zombie && (Some(process.group) == group || carries(process.pid, key)))
        .collect())
}

/// The process group of a record, unless its number now belongs to somebody else.
pub(crate) fn own_group(record: &Record, all: &[Stat]) -> Option<i32> {
    match all.iter().find(|process| process.pid == record.pid) {
        Some(leader) => (leader.start == record.start).then_some(record.pid),
        // The leader is gone. While its group has members, the kernel gives its number to nobody else.
        None => all
            .iter()
            .filter(|process| process.group == record.pid)
            .all(|process| process.start >= record.start)
            .then_some(record.pid),
    }
}

/// Whether a process was started with the ids of this attempt.
fn carries(pid: i32, key: Key) -> bool {
    let Some(environment) = procfs::environment(pid) else { return false };
    let has = |name: &str, value: String| {
        let line = format!("{name}={value}");
        environment.split(|byte| *byte == 0).any(|known| known == line.as_bytes())
    };
    has(SESSION, key.0.to_string()) && has(ATTEMPT, key.1.to_string())
}

impl Record {
    pub(crate) fn is_of_this_boot(&self) -> bool {
        procfs::boot().is_ok_and(|boot| boot == self.boot)
    }

    /// A handle on the process, if it lives and is still the one.
    pub(crate) fn pidfd(&self) -> Option<OwnedFd> {
        self.is_of_this_boot().then(|| pidfd(self.pid, self.start)).flatten()
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
