//! Ends all processes that a command has started.

use std::io;
use std::time::Duration;

/// Identifies the processes of a command: by variables in their environment, and by their ancestors. Daemons that have
/// left the group still carry the variables, and so do leftovers of an earlier run of ours; processes that cleared
/// their environment descend from the command's [`crate::Keeper`]. Nothing else may carry the variables: it would be
/// ended too.
#[derive(Debug, Clone)]
pub struct Mark {
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only Linux shows what others were started with")
    )]
    entries: Vec<Vec<u8>>,
    /// The shell that runs now; its pid is also the id of its group.
    leader: Option<GroupLeader>,
    grace: Duration,
}

#[derive(Debug, Clone, Copy)]
struct GroupLeader {
    pid: i32,
    #[cfg(target_os = "linux")]
    start: u64,
}

impl Mark {
    /// Creates the mark of all processes that carry every one of these variables. Processes get `grace` to end after
    /// SIGTERM before they are killed.
    pub fn new(variables: &[(&str, &[u8])], grace: Duration) -> Mark {
        let entries = variables.iter().map(|(name, value)| [name.as_bytes(), b"=", value].concat()).collect();
        Mark { entries, leader: None, grace }
    }

    /// Ends all marked processes, and returns when none is left.
    pub async fn end(self) -> io::Result<()> {
        tokio::task::spawn_blocking(move || system::end(&self)).await.map_err(io::Error::other)?
    }

    /// Returns a guard that ends the same processes if it is dropped before [`CommandGuard::release`].
    pub fn guard(&self, pid: Option<u32>) -> CommandGuard {
        let pid = pid.and_then(|pid| i32::try_from(pid).ok());
        CommandGuard { mark: Some(Mark { leader: pid.and_then(system::leader), ..self.clone() }) }
    }
}

/// Ends a running command when its owner drops it, for example because a request was cancelled. Without the guard, the
/// command would run on unnoticed.
#[derive(Debug)]
pub struct CommandGuard {
    mark: Option<Mark>,
}

impl CommandGuard {
    /// Disarms the guard: the command has ended, and the processes it left behind may go on.
    pub fn release(mut self) {
        self.mark = None;
    }

    /// Ends all processes of the command now, and returns when none is left.
    pub async fn end(mut self) -> io::Result<()> {
        match self.mark.take() {
            Some(mark) => mark.end().await,
            None => Ok(()),
        }
    }
}

impl Drop for CommandGuard {
    fn drop(&mut self) {
        let Some(mark) = self.mark.take() else { return };
        // A thread, because `drop` cannot wait and the grace period may be long. If this process ends first, a later
        // one finds the leftovers by their mark.
        let ending = std::thread::Builder::new().name("ao-end-commands".into());
        // If no thread can be started, there is nothing more to do, and no caller to report it to.
        let _ = ending.spawn(move || system::end(&mark));
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::collections::HashSet;
    use std::io::{self, ErrorKind};
    use std::os::fd::OwnedFd;
    use std::time::{Duration, Instant};

    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

    use super::{GroupLeader, Mark};
    use crate::keep::KEEPS;
    use crate::procfs::{self, ProcessStat};

    /// Most rounds of killing. Each round finds only what the victims of the last one started meanwhile.
    const ROUNDS: usize = 20;
    /// Longest wait for a killed process to disappear.
    const KILLED: Duration = Duration::from_secs(2);

    /// The processes of a command.
    #[derive(Default)]
    struct CommandProcesses {
        processes: Vec<ProcessStat>,
        /// Keepers end by themselves. Until then, no orphan escapes them.
        keepers: Vec<ProcessStat>,
    }

    pub(super) fn leader(pid: i32) -> Option<GroupLeader> {
        read(pid).map(|process| GroupLeader { pid, start: process.start })
    }

    pub(super) fn end(mark: &Mark) -> io::Result<()> {
        let found = find(mark)?;
        wait(signal(&found.processes, Some(Signal::TERM)), mark.grace)?;
        for round in 0..ROUNDS {
            let left = find(mark)?;
            let killed = match (left.processes.is_empty(), left.keepers.is_empty()) {
                (true, true) => return Ok(()),
                (true, false) => signal(&left.keepers, (round > 0).then_some(Signal::KILL)),
                (false, _) => signal(&left.processes, Some(Signal::KILL)),
            };
            wait(killed, KILLED)?;
        }
        let left: Vec<String> = find(mark)?.processes.iter().map(|process| process.pid.to_string()).collect();
        Err(io::Error::other(format!("they were killed and are still there: {}", left.join(", "))))
    }

    /// Finds processes by their environment, because a daemon leaves the group; by the group, because a program may
    /// clear its environment; and by descent from those, because a program may do both.
    fn find(mark: &Mark) -> io::Result<CommandProcesses> {
        let ourselves = i32::try_from(std::process::id()).ok();
        let mut all = procfs::all()?;
        all.retain(|process| !process.zombie && Some(process.pid) != ourselves);
        let group = mark.leader.filter(|leader| {
            // While the group has members, the kernel does not reuse its id.
            let now = all.iter().find(|process| process.pid == leader.pid);
            now.is_none_or(|now| now.start == leader.start)
        });
        let in_group = |process: &ProcessStat| group.is_some_and(|leader| leader.pid == process.group);
        let (mut ours, mut keepers) = (HashSet::new(), HashSet::new());
        for process in &all {
            let environment = procfs::environment(process.pid).unwrap_or_default();
            if in_group(process) || carries(&environment, mark) {
                ours.insert(process.pid);
                if has(&environment, format!("{KEEPS}=1").as_bytes()) {
                    keepers.insert(process.pid);
                }
            }
        }
        // Usually nothing was found, and no pass is needed.
        let mut before = 0;
        while ours.len() > before {
            before = ours.len();
            let below =
                all.iter().filter(|process| ours.contains(&process.parent)).map(|process| process.pid);
            let below: Vec<i32> = below.collect();
            ours.extend(below);
        }
        let found = all.into_iter().filter(|process| ours.contains(&process.pid));
        let (keepers, processes) = found.partition(|process| keepers.contains(&process.pid));
        Ok(CommandProcesses { processes, keepers })
    }

    fn carries(environment: &[u8], mark: &Mark) -> bool {
        // A mark without variables matches no process, rather than every process.
        !mark.entries.is_empty() && mark.entries.iter().all(|entry| has(environment, entry))
    }

    fn has(environment: &[u8], entry: &[u8]) -> bool {
        environment.split(|byte| *byte == 0).any(|known| known == entry)
    }

    /// Reads a process that is alive.
    fn read(pid: i32) -> Option<ProcessStat> {
        procfs::stat(pid).ok().flatten().filter(|process| !process.zombie)
    }

    /// Opens a handle to each process that is still the one we saw, and sends it the signal, if any.
    fn signal(processes: &[ProcessStat], signal: Option<Signal>) -> Vec<OwnedFd> {
        let handle = |process: &ProcessStat| {
            let pidfd = pidfd_open(Pid::from_raw(process.pid)?, PidfdFlags::empty()).ok()?;
            read(process.pid).filter(|now| now.start == process.start)?;
            // It may end by itself meanwhile. The caller checks afterwards whether all are gone.
            if let Some(signal) = signal {
                pidfd_send_signal(&pidfd, signal).ok()?;
            }
            Some(pidfd)
        };
        processes.iter().filter_map(handle).collect()
    }

    /// Waits until all have ended, or the time is up.
    fn wait(mut processes: Vec<OwnedFd>, at_most: Duration) -> io::Result<()> {
        let until = Instant::now() + at_most;
        while !processes.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            let left = Timespec::try_from(left).map_err(|_| ErrorKind::InvalidInput)?;
            let mut ends: Vec<PollFd<'_>> =
                processes.iter().map(|pidfd| PollFd::new(pidfd, PollFlags::IN)).collect();
            if poll(&mut ends, Some(&left))? == 0 {
                break;
            }
            let ended: Vec<bool> = ends.iter().map(|end| !end.revents().is_empty()).collect();
            let mut ended = ended.into_iter();
            processes.retain(|_| !ended.next().unwrap_or(false));
        }
        Ok(())
    }
}

/// The fallback for systems that do not show the environment of a process: its group is all there is to go by.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, kill_process_group};

    use super::{GroupLeader, Mark};

    pub(super) fn leader(pid: i32) -> Option<GroupLeader> {
        Some(GroupLeader { pid })
    }

    pub(super) fn end(mark: &Mark) -> io::Result<()> {
        let Some(group) = mark.leader.and_then(|leader| Pid::from_raw(leader.pid)) else { return Ok(()) };
        let gone = |sent: Result<(), Errno>| matches!(sent, Err(Errno::SRCH | Errno::PERM));
        if gone(kill_process_group(group, Signal::TERM)) {
            return Ok(());
        }
        std::thread::sleep(mark.grace);
        match kill_process_group(group, Signal::KILL) {
            Err(err) if !gone(Err(err)) => Err(err.into()),
            _ => Ok(()),
        }
    }
}
