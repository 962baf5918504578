//! Ends everything below the shim: asks, waits, and kills until nothing is left.

use std::time::{Duration, Instant};

use rustix::process::{Signal, pidfd_send_signal};

use super::holder::ProgramHolder;
use crate::host::members;
use crate::host::procfs::{self, ProcessStat};
use crate::process::protocol::ShimMessage;

/// Pause between two rounds of killing. The end of a child wakes us earlier.
const ROUND: Duration = Duration::from_millis(100);
/// Most rounds. Each finds only what the victims of the last one started meanwhile, or what cannot be killed.
const ROUNDS: u32 = 100;

pub(super) struct EndRequest {
    /// The time of the next kill.
    pub(super) next: Instant,
    rounds: u32,
    askers: Vec<u64>,
}

impl ProgramHolder {
    pub(super) fn end(&mut self, asker: u64, grace: Duration) {
        if let Some(ending) = &mut self.ending {
            ending.askers.push(asker);
            return;
        }
        signal(Signal::TERM);
        // A stopped process would not receive it.
        signal(Signal::CONT);
        self.ending = Some(EndRequest { next: Instant::now() + grace, rounds: 0, askers: vec![asker] });
        self.reap();
    }

    /// Called in every iteration of the loop.
    pub(super) fn go_on_ending(&mut self) {
        let Some(ending) = &mut self.ending else { return };
        let say = if self.is_childless {
            // Not recorded here: the caller also looks for processes that are not below us, and records the end after
            // that.
            ShimMessage::Done
        } else if Instant::now() < ending.next {
            return;
        } else if ending.rounds < ROUNDS {
            ending.rounds += 1;
            ending.next = Instant::now() + ROUND;
            signal(Signal::KILL);
            return;
        } else {
            let left: Vec<String> = below().iter().map(|process| process.pid.to_string()).collect();
            ShimMessage::Failed {
                why: format!("processes do not end although they were killed: {}", left.join(", ")),
            }
        };
        let askers = self.ending.take().map(|ending| ending.askers);
        for asker in askers.into_iter().flatten() {
            self.tell(asker, &say);
        }
    }
}

/// Orphans are reparented to us, so this is everything that the program has ever started and that still runs.
fn below() -> Vec<ProcessStat> {
    procfs::below(std::process::id() as i32)
}

fn signal(signal: Signal) {
    for process in below().iter().filter(|process| !process.zombie) {
        // Through a handle on the process we saw: its pid may have been reused.
        if let Some(handle) = members::pidfd(process.pid, process.start) {
            let _ = pidfd_send_signal(&handle, signal);
        }
    }
}
