//! Killing what runs, by chance.

use std::fs;

use ao_testkit::installation::Installation;
use rustix::process::{Pid, Signal, kill_process};

/// The victim of one kill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Victim {
    Daemon,
    Holder,
    Agent,
}

impl Victim {
    /// Agents are the most numerous, and die the most often.
    pub(crate) fn choose(random: &mut fastrand::Rng) -> Victim {
        match random.u8(0..4) {
            0 => Victim::Daemon,
            1 => Victim::Holder,
            _ => Victim::Agent,
        }
    }

    /// Kills one of this kind, and returns true if there was one.
    pub(crate) fn kill(self, home: &Installation, random: &mut fastrand::Rng) -> bool {
        if self == Victim::Daemon {
            return home.kill_daemon();
        }
        let mut pids = home.processes();
        pids.retain(|pid| self.is(*pid));
        let pid = random.choice(pids).and_then(Pid::from_raw);
        pid.is_some_and(|pid| kill_process(pid, Signal::KILL).is_ok())
    }

    fn is(self, pid: i32) -> bool {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut words = line.split(|byte| *byte == 0);
        let program = words.next().unwrap_or_default();
        match self {
            Victim::Holder => program.ends_with(b"/ao") && words.next() == Some(b"shim"),
            Victim::Agent => program.ends_with(b"/scripted-agent"),
            Victim::Daemon => false,
        }
    }
}
