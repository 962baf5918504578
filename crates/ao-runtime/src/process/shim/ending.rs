//! Ending everything below the shim: asks, waits, and kills until nothing is left.

use std::time::{Duration, Instant};

use rustix::process::{Signal, pidfd_send_signal};

use super::holder::Holder;
use crate::host::members;
use crate::host::procfs::{self, ProcessStat};
use crate::process::protocol::Say;

/// How long to wait between two rounds of killing. A child's end wakes us before that.
const ROUND: Duration = Duration::from_millis(100);
/// How many rounds. Each finds only what the last one's victims have started meanwhile, or what cannot be killed.
const ROUNDS: u32 = 100;

pub(super) struct Ending {
    /// When to kill, or to kill again.
    pub(super) next: Instant,
    rounds: u32,
    askers: Vec<u64>,
}

impl Holder {
    pub(super) fn end(&mut self, asker: u64, grace: Duration) {
        if let Some(ending) = &mut self.ending {
            ending.askers.push(asker);
            return;
        }
        signal(Signal::TERM);
        // Who is stopped would not hear it.
        signal(Signal::CONT);
        self.ending = Some(Ending { next: Instant::now() + grace, rounds: 0, askers: vec![asker] });
        self.reap();
    }

    /// Called at every turn.
    pub(super) fn go_on_ending(&mut self) {
        let Some(ending) = &mut self.ending else { return };
        let say = if self.is_childless {
            // Not written down here: whoever asked looks for what is not below us, and it is over after that.
            Say::Done
        } else if Instant::now() < ending.next {
            return;
        } else if ending.rounds < ROUNDS {
            ending.rounds += 1;
            ending.next = Instant::now() + ROUND;
            signal(Signal::KILL);
            return;
        } else {
            let left: Vec<String> = below().iter().map(|process| process.pid.to_string()).collect();
            Say::Failed {
                why: format!("processes do not end although they were killed: {}", left.join(", ")),
            }
        };
        let askers = self.ending.take().map(|ending| ending.askers);
        for asker in askers.into_iter().flatten() {
            self.tell(asker, &say);
        }
    }
}

/// Since orphans come to us, this is everything that the program has ever started and that still runs.
fn below() -> Vec<ProcessStat> {
    procfs::below(std::process::id() as i32)
}

fn signal(signal: Signal) {
    for process in below().iter().filter(|process| !process.zombie) {
        // Through a handle on the one that was seen: its number may be another's by now.
        if let Some(handle) = members::pidfd(process.pid, process.start) {
            let _ = pidfd_send_signal(&handle, signal);
        }
    }
}
