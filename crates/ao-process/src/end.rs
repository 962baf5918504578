//! Ending all that a command has started.

use std::io;
use std::time::Duration;

/// The way to know the processes of a command: by what they carry in their environment, and by what they are below. Daemons that
/// have left the group carry it, and so does what an earlier run of ours has left behind; what has cleared its environment is
/// below the [`crate::Keeper`] of the command. Nothing else may carry it: it would be ended too.
#[derive(Debug, Clone)]
pub struct Mark {
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only Linux shows what others were started with")
    )]
    entries: Vec<Vec<u8>>,
    /// The shell that runs now; its group has its number.
    leader: Option<Leader>,
    grace: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Leader {
    pid: i32,
    #[cfg(target_os = "linux")]
    start: u64,
}

impl Mark {
    /// The mark of all that carry every one of these variables. Who is asked to end has `grace` before it is killed.
    pub fn new(variables: &[(&str, &[u8])], grace: Duration) -> Mark {
        let entries = variables.iter().map(|(name, value)| [name.as_bytes(), b"=", value].concat()).collect();
        Mark { entries, leader: None, grace }
    }

    /// Ends everything that is found, and returns when nothing is left.
    pub async fn end(self) -> io::Result<()> {
        tokio::task::spawn_blocking(move || system::end(&self)).await.map_err(io::Error::other)?
    }

    /// Ends everything as well if it is dropped before it is told that there is no need.
    pub fn guard(&self, pid: Option<u32>) -> Guard {
        let pid = pid.and_then(|pid| i32::try_from(pid).ok());
        Guard { mark: Some(Mark { leader: pid.and_then(system::leader), ..self.clone() }) }
    }
}

/// While a command runs, somebody may lose interest in it; then it is not to go on behind everybody's back.
#[derive(Debug)]
pub struct Guard {
    mark: Option<Mark>,
}

impl Guard {
    /// The command has ended; what it left running may go on.
    pub fn release(mut self) {
        self.mark = None;
    }

    /// Ends everything now, and returns when nothing is left.
    pub async fn end(mut self) -> io::Result<()> {
        match self.mark.take() {
            Some(mark) => mark.end().await,
            None => Ok(()),
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let Some(mark) = self.mark.take() else { return };
        // A thread, because nobody can wait in here and the grace may be long. If we end before it does, what is left is
        // found by its mark later.
        let ending = std::thread::Builder::new().name("ao-end-commands".into());
        // Without a thread there is nothing more to be done, and nobody to tell.
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

    use super::{Leader, Mark};
    use crate::keep::KEEPS;
    use crate::procfs::{self, Stat};

    /// How often what is still there is killed. Each round finds only what the last one's victims started meanwhile.
    const ROUNDS: usize = 20;
    /// How long a killed process may take to go.
    const KILLED: Duration = Duration::from_secs(2);

    /// The processes of a command.
    #[derive(Default)]
    struct Found {
        processes: Vec<Stat>,
        /// Those that only keep the others. They go by themselves, and until then nothing gets away.
        keepers: Vec<Stat>,
    }

    pub(super) fn leader(pid: i32) -> Option<Leader> {
        read(pid).map(|process| Leader { pid, start: process.start })
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

    /// By the environment, because a daemon leaves the group; by the group, because a program may clear its environment; and
    /// all that is below those, because it may do both.
    fn find(mark: &Mark) -> io::Result<Found> {
        let ourselves = i32::try_from(std::process::id()).ok();
        let mut all = procfs::all()?;
        all.retain(|process| !process.zombie && Some(process.pid) != ourselves);
        let group = mark.leader.filter(|leader| {
            // While the group has members, the kernel gives its number to nobody else.
            let now = all.iter().find(|process| process.pid == leader.pid);
            now.is_none_or(|now| now.start == leader.start)
        });
        let in_group = |process: &Stat| group.is_some_and(|leader| leader.pid == process.group);
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
        // Mostly there is nothing, and no pass is needed.
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
        Ok(Found { processes, keepers })
    }

    fn carries(environment: &[u8], mark: &Mark) -> bool {
        // A mark without a variable is on nobody, and not on everybody.
        !mark.entries.is_empty() && mark.entries.iter().all(|entry| has(environment, entry))
    }

    fn has(environment: &[u8], entry: &[u8]) -> bool {
        environment.split(|byte| *byte == 0).any(|known| known == entry)
    }

    /// A process that lives.
    fn read(pid: i32) -> Option<Stat> {
        procfs::stat(pid).ok().flatten().filter(|process| !process.zombie)
    }

    /// Sends a signal, if there is one, through a handle to each that is still the one that was seen.
    fn signal(processes: &[Stat], signal: Option<Signal>) -> Vec<OwnedFd> {
        let handle = |process: &Stat| {
            let pidfd = pidfd_open(Pid::from_raw(process.pid)?, PidfdFlags::empty()).ok()?;
            read(process.pid).filter(|now| now.start == process.start)?;
            // It may end of itself meanwhile. Whether all are gone is found out afterwards.
            if let Some(signal) = signal {
                pidfd_send_signal(&pidfd, signal).ok()?;
            }
            Some(pidfd)
        };
        processes.iter().filter_map(handle).collect()
    }

    /// Waits until all have ended, or the time is over.
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

/// Where the system does not tell what a process was started with, its group is all there is to go by.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, kill_process_group};

    use super::{Leader, Mark};

    pub(super) fn leader(pid: i32) -> Option<Leader> {
        Some(Leader { pid })
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
