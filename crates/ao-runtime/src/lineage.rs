//! Finds the agent that a process on this host descends from.
//!
//! ```text
//!  caller ─parent─► … ─parent─► shim of ses_4f/2          the agent ses_4f/2
//!                             │ process of a pane         its agent
//!                             │ private tmux server       a command: tmux runs what an agent asks it to
//!                             │ hook of the user's        apart: it speaks for the user
//!                             │ the daemon                a command: a check, a set-up, git
//!                             └ the host's first process  apart, unless a mark in an environment says otherwise
//! ```
//!
//! The nearest of these decides. Knowledge about agents is kept in memory and not looked up on disk, where an agent
//! could write: the files are read only when a daemon takes over from an earlier one. A shim is a subreaper, and so is
//! an agent in tmux, so a process whose parent has ended stays below it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fmt, fs, io};

use ao_core::{Attempt, SessionId};
use ao_ports::environment::{ATTEMPT, DATA_DIR, SESSION, SETUP};
use ao_ports::{Descent, Lineage};

use crate::host::procfs::{self, ProcessStat};
use crate::host::{AttemptKey, ProcessRecord};

/// Most attempts to read a chain of parents that changes while it is read.
const TRIES: usize = 16;
/// No honest program has so many ancestors. A deeper chain counts as an attempt to hide.
const DEEPEST: usize = 512;
/// The number of roots from which on ended ones are looked for.
const FEW: usize = 64;

/// The known root processes: those of agents, the tmux server, and the user's own commands.
#[derive(Default)]
pub struct Families {
    /// The daemon's data folder, which identifies marks in an environment as ours.
    data_dir: Option<PathBuf>,
    /// Locked for a few instructions, or while a command of the user is started.
    known: Mutex<KnownRoots>,
}

#[derive(Default)]
struct KnownRoots {
    roots: HashMap<i32, FamilyRoot>,
    /// The number of roots at which ended ones are forgotten.
    full_at: usize,
}

/// A process, and the owner of everything below it.
#[derive(Debug, Clone, Copy)]
struct FamilyRoot {
    start: u64,
    of: RootKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RootKind {
    Holder(AttemptKey),
    /// The leader of a group and of a terminal session, whose members belong to it even after it has ended.
    Agent(AttemptKey),
    TmuxServer,
    UserCommand,
}

impl Families {
    pub fn new(data_dir: impl Into<PathBuf>) -> Families {
        let data_dir = data_dir.into();
        Families { data_dir: Some(data_dir.canonicalize().unwrap_or(data_dir)), known: Mutex::default() }
    }

    pub(crate) fn add_holder(&self, holder: &ProcessRecord, key: AttemptKey) {
        self.add(holder, RootKind::Holder(key));
    }

    pub(crate) fn add_agent(&self, agent: &ProcessRecord, key: AttemptKey) {
        self.add(agent, RootKind::Agent(key));
    }

    pub(crate) fn add_tmux_server(&self, server: &ProcessRecord) {
        self.add(server, RootKind::TmuxServer);
    }

    /// Forgets an agent after it and all members of its group have ended. A shim is known for as long as it lives.
    pub(crate) fn remove_agent(&self, key: AttemptKey) {
        self.known().roots.retain(|_, root| root.of != RootKind::Agent(key));
    }

    /// Starts a command of the user, which acts for the user until the guard is dropped. No caller is judged before the
    /// command is registered.
    pub fn start_for_the_user<T>(
        self: &Arc<Self>,
        start: impl FnOnce() -> io::Result<T>,
        pid: impl FnOnce(&T) -> Option<u32>,
    ) -> io::Result<(T, UserCommandGuard)> {
        let mut known = self.known();
        let started = start()?;
        let pid = pid(&started).and_then(|pid| i32::try_from(pid).ok());
        if let Some(stat) = pid.and_then(|pid| procfs::stat(pid).ok().flatten()) {
            known.roots.insert(stat.pid, FamilyRoot { start: stat.start, of: RootKind::UserCommand });
        }
        Ok((started, UserCommandGuard { families: self.clone(), pid }))
    }

    fn add(&self, record: &ProcessRecord, of: RootKind) {
        let mut known = self.known();
        if known.roots.len() >= known.full_at.max(FEW) {
            known.roots.retain(|pid, root| is_there(&KernelProcesses, *pid, root.start));
            known.full_at = known.roots.len() * 2;
        }
        known.roots.insert(record.pid, FamilyRoot { start: record.start, of });
    }

    fn known(&self) -> MutexGuard<'_, KnownRoots> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn descent_in(&self, processes: &impl ProcessSource, pid: i32, daemon: i32) -> Descent {
        (0..TRIES).find_map(|_| self.walk(processes, pid, daemon)).unwrap_or(Descent::Unknown)
    }

    /// Walks from parent to parent. Returns `None` if one of them has changed meanwhile.
    fn walk(&self, processes: &impl ProcessSource, pid: i32, daemon: i32) -> Option<Descent> {
        let Some(mut at) = processes.stat(pid) else { return Some(Descent::Unknown) };
        let mut marked = None;
        for _ in 0..DEEPEST {
            match self.kin_of(processes, &at) {
                Some(RootKind::Holder(key) | RootKind::Agent(key)) => return Some(agent(key)),
                Some(RootKind::TmuxServer) => return Some(Descent::Command),
                Some(RootKind::UserCommand) => return Some(marked.unwrap_or(Descent::Apart)),
                None => {}
            }
            if at.pid == daemon {
                let apart = pid == daemon;
                return Some(if apart { Descent::Apart } else { marked.unwrap_or(Descent::Command) });
            }
            marked = marked.or_else(|| self.mark(&processes.environment(at.pid)?));
            let parent = processes.stat(at.parent);
            // A child that still has this parent had it all the while, so the process that was read is the right one.
            let again = processes.stat(at.pid)?;
            if (again.parent, again.start) != (at.parent, at.start) {
                return None;
            }
            match parent {
                Some(parent) => at = parent,
                // The init process, or one of another user that the system hides. None of ours is hidden from us.
                None => return Some(marked.unwrap_or(Descent::Apart)),
            }
        }
        Some(Descent::Unknown)
    }

    fn kin_of(&self, processes: &impl ProcessSource, process: &ProcessStat) -> Option<RootKind> {
        let known = self.known();
        if let Some(root) = known.roots.get(&process.pid).filter(|root| root.start == process.start) {
            return Some(root.of);
        }
        [process.session, process.group].into_iter().find_map(|leader| {
            let root = known.roots.get(&leader).filter(|root| root.start <= process.start)?;
            let is_taken = || processes.stat(leader).is_some_and(|now| now.start != root.start);
            (matches!(root.of, RootKind::Agent(_)) && !is_taken()).then_some(root.of)
        })
    }

    /// Returns the owner that an environment names. Marks of another daemon's agents are ignored.
    fn mark(&self, environment: &[u8]) -> Option<Descent> {
        let value = |name: &str| {
            let lines = environment.split(|byte| *byte == 0);
            lines.filter_map(|line| line.strip_prefix(name.as_bytes())?.strip_prefix(b"=")).next()
        };
        let session: SessionId = std::str::from_utf8(value(SESSION)?).ok()?.parse().ok()?;
        let home = Path::new(OsStr::from_bytes(value(DATA_DIR)?));
        let ours = self.data_dir.as_deref()?;
        if home != ours && fs::canonicalize(home).ok()? != ours {
            return None;
        }
        let attempt = value(ATTEMPT).and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
        match attempt {
            Some(attempt) if value(SETUP).is_none() => Some(agent((session, Attempt(attempt)))),
            _ => Some(Descent::Command),
        }
    }
}

impl Lineage for Families {
    fn descent(&self, pid: i32) -> Descent {
        self.descent_in(&KernelProcesses, pid, i32::try_from(std::process::id()).unwrap_or_default())
    }
}

/// While this guard exists, everything that a command of the user starts acts for the user.
pub struct UserCommandGuard {
    families: Arc<Families>,
    pid: Option<i32>,
}

impl Drop for UserCommandGuard {
    fn drop(&mut self) {
        if let Some(pid) = self.pid {
            self.families.known().roots.remove(&pid);
        }
    }
}

/// A source of process information.
trait ProcessSource {
    /// Returns `None` if no process has this pid, or if the system hides it.
    fn stat(&self, pid: i32) -> Option<ProcessStat>;
    fn environment(&self, pid: i32) -> Option<Vec<u8>>;
}

struct KernelProcesses;

impl ProcessSource for KernelProcesses {
    fn stat(&self, pid: i32) -> Option<ProcessStat> {
        if pid > 0 { procfs::stat(pid).ok().flatten() } else { None }
    }

    fn environment(&self, pid: i32) -> Option<Vec<u8>> {
        procfs::environment(pid)
    }
}

fn is_there(processes: &impl ProcessSource, pid: i32, start: u64) -> bool {
    processes.stat(pid).is_some_and(|process| process.start == start)
}

fn agent((session, attempt): AttemptKey) -> Descent {
    Descent::Agent { session, attempt }
}

impl fmt::Debug for Families {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Families").field("data_dir", &self.data_dir).finish_non_exhaustive()
    }
}

impl fmt::Debug for UserCommandGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserCommandGuard").field("pid", &self.pid).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    const DAEMON: i32 = 100;
    const KEY: AttemptKey = (SessionId(1), Attempt(2));
    const OTHER: AttemptKey = (SessionId(7), Attempt(1));

    /// Processes as pairs of pid and parent, started in the order of their pids, unless `started` sets another time.
    #[derive(Default)]
    struct Fake {
        all: HashMap<i32, ProcessStat>,
        environments: HashMap<i32, Vec<u8>>,
        /// A process that is reparented to init while the chain is read for the first time.
        moves: Cell<Option<i32>>,
    }

    impl Fake {
        fn new(all: &[(i32, i32)]) -> Fake {
            let stat = |&(pid, parent): &(i32, i32)| {
                let start = u64::try_from(pid).unwrap();
                let stat = ProcessStat {
                    pid,
                    parent,
                    group: pid,
                    session: pid,
                    zombie: false,
                    used: 0,
                    reaped: 0,
                    start,
                };
                (pid, stat)
            };
            Fake { all: all.iter().map(stat).collect(), ..Fake::default() }
        }

        fn session(mut self, pid: i32, session: i32) -> Fake {
            self.all.get_mut(&pid).unwrap().session = session;
            self
        }

        fn started(mut self, pid: i32, start: u64) -> Fake {
            self.all.get_mut(&pid).unwrap().start = start;
            self
        }

        fn with(mut self, pid: i32, environment: &[&str]) -> Fake {
            self.environments.insert(pid, environment.join("\0").into_bytes());
            self
        }
    }

    impl ProcessSource for Fake {
        fn stat(&self, pid: i32) -> Option<ProcessStat> {
            let mut stat = *self.all.get(&pid)?;
            if self.moves.get() == Some(pid) {
                // Only the first read sees the old parent, which is gone by the second.
                self.moves.set(None);
                stat.parent = 9999;
            }
            Some(stat)
        }

        fn environment(&self, pid: i32) -> Option<Vec<u8>> {
            self.environments.get(&pid).cloned()
        }
    }

    fn record(pid: i32) -> ProcessRecord {
        let start = u64::try_from(pid).unwrap();
        ProcessRecord { pid, start, boot: "boot".into(), name: "x".into(), program: "x".into() }
    }

    /// The daemon 100, the shim 200 of an agent 210, the pane 300 of another below the server 290, and the hook 400.
    fn families() -> Arc<Families> {
        let families = Arc::new(Families { data_dir: Some("/data".into()), known: Mutex::default() });
        families.add_holder(&record(200), KEY);
        families.add_agent(&record(210), KEY);
        families.add_tmux_server(&record(290));
        families.add_agent(&record(300), OTHER);
        families.known().roots.insert(400, FamilyRoot { start: 400, of: RootKind::UserCommand });
        families
    }

    /// acceptance: G4
    #[test]
    fn the_nearest_ancestor_that_is_known_says_whose_a_process_is() {
        let tree = |more: &[(i32, i32)]| {
            let host = [(1, 0), (50, 1), (DAEMON, 1), (200, DAEMON), (210, 200), (290, 1), (300, 290)];
            Fake::new(&[&host, &[(400, DAEMON), (410, 400)][..], more].concat())
        };
        let marks = ["AO_SESSION=ses_9", "AO_ATTEMPT=3", "AO_DATA_DIR=/data"];
        let marked = Descent::Agent { session: "ses_9".parse().unwrap(), attempt: Attempt(3) };
        let elsewhere = ["AO_SESSION=ses_9", "AO_ATTEMPT=3", "AO_DATA_DIR=/other"];
        let setup = ["AO_SESSION=ses_9", "AO_ATTEMPT=3", "AO_DATA_DIR=/data", "AO_SETUP=/w"];
        let deep: Vec<(i32, i32)> = (1000..1600).map(|pid| (pid, pid - 1)).chain([(999, 1)]).collect();
        let cases = [
            ("a shell of the user's", tree(&[(60, 50)]), 60, Descent::Apart),
            ("a child of the agent's", tree(&[(220, 210), (230, 220)]), 230, agent(KEY)),
            ("an orphan that its holder has taken", tree(&[(230, 200)]), 230, agent(KEY)),
            ("a holder whose daemon has gone", tree(&[]), 200, agent(KEY)),
            ("in a pane", tree(&[(310, 300)]), 310, agent(OTHER)),
            ("what tmux was asked to run", tree(&[(320, 290)]), 320, Descent::Command),
            ("a check", tree(&[(500, DAEMON), (510, 500)]), 510, Descent::Command),
            ("a hook", tree(&[(420, 410)]), 420, Descent::Apart),
            ("the daemon itself", tree(&[]), DAEMON, Descent::Apart),
            ("who started the daemon", tree(&[(60, 50)]), 50, Descent::Apart),
            ("nobody", tree(&[]), 77, Descent::Unknown),
            ("one so deep that it hides", tree(&deep), 1599, Descent::Unknown),
            ("one whose parent is not shown", tree(&[(600, 599)]), 600, Descent::Apart),
            ("one that carries our marks", tree(&[(600, 50)]).with(600, &marks), 600, marked),
            (
                "one whose parent carries our marks",
                tree(&[(600, 50), (610, 600)]).with(600, &marks),
                610,
                marked,
            ),
            (
                "one that carries another's marks below an agent",
                tree(&[(600, 210)]).with(600, &marks),
                600,
                agent(KEY),
            ),
            ("an agent of another daemon", tree(&[(600, 50)]).with(600, &elsewhere), 600, Descent::Apart),
            ("what a set-up has left", tree(&[(600, 1)]).with(600, &setup), 600, Descent::Command),
            (
                "one in the terminal of an agent that has ended",
                Fake::new(&[(1, 0), (600, 1)]).session(600, 300),
                600,
                agent(OTHER),
            ),
            (
                "one in a terminal with the number of an agent that has ended",
                Fake::new(&[(1, 0), (300, 1), (600, 300)]).started(300, 590).session(600, 300),
                600,
                Descent::Apart,
            ),
            ("another with the pid of a holder", tree(&[(230, 200)]).started(200, 5), 230, Descent::Command),
        ];
        for (what, processes, pid, expected) in cases {
            assert_eq!(families().descent_in(&processes, pid, DAEMON), expected, "{what}");
        }
    }

    #[test]
    fn a_chain_that_changes_while_it_is_read_is_read_again() {
        let processes = Fake { moves: Cell::new(Some(230)), ..Fake::new(&[(1, 0), (200, 1), (230, 200)]) };
        assert_eq!(families().descent_in(&processes, 230, DAEMON), agent(KEY));
    }

    #[test]
    fn those_that_have_gone_are_forgotten_and_those_that_live_are_not() {
        let families = Families::default();
        let me = ProcessRecord::of(i32::try_from(std::process::id()).unwrap(), "me", "me").unwrap();
        families.add_holder(&me, KEY);
        for pid in 0..10_000 {
            families.add_holder(&record(5_000_000 + pid), OTHER);
        }
        let known = families.known();
        assert!(known.roots.len() <= 2 * FEW, "{}", known.roots.len());
        assert!(known.roots.contains_key(&me.pid));
    }

    #[test]
    fn an_agent_that_was_ended_has_no_group_any_more() {
        let families = families();
        families.remove_agent(OTHER);
        let processes = Fake::new(&[(1, 0), (600, 1)]).session(600, 300);
        assert_eq!(families.descent_in(&processes, 600, DAEMON), Descent::Apart);
    }
}
