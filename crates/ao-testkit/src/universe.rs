//! Everything of a simulated world behind one lock, and the gate through which every call to it passes.
//!
//! The lock is a plain mutex that nobody contends: a world runs on one thread. It is there because ports are `Send`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ao_core::Timestamp;
use fastrand::Rng;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::faults::{Call, Fault, Faults, Plan};
use crate::log::Log;
use crate::outside::Outside;
use crate::trace::{Line, Trace};
use crate::watch::{Invariant, Violation};

/// The wall clock's reading when a world begins.
pub(crate) const BEGINNING: i64 = 1_700_000_000_000;
/// Longer than any time-out, so that whoever waits for it has given up.
const FOR_EVER: Duration = Duration::from_secs(30 * 24 * 3600);

/// A world, as its fakes and its driver share it.
#[derive(Debug)]
pub(crate) struct Universe {
    inner: Mutex<Inner>,
    pub(crate) crashed: Notify,
}

/// Bugs planted in the fakes on purpose, to see whether the simulation notices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Careless {
    #[default]
    Nobody,
    /// Types again without looking whether an earlier try got through.
    Agent,
    /// Says that a process has ended and leaves it running.
    Runtime,
    /// Removes without asking the gate.
    Workspace,
    /// Loses the last record that it said was on disk, when the daemon crashes.
    Store,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) rng: Rng,
    began: Instant,
    /// How far the wall clock was put forward or back.
    pub(crate) jump: i64,
    fresh: u64,
    pub(crate) outside: Outside,
    pub(crate) log: Log,
    pub(crate) faults: Faults,
    pub(crate) trace: Trace,
    pub(crate) careless: Careless,
    pub(crate) steps: u64,
    /// How many steps were taken at one time of the world.
    at_once: (u64, u32),
    /// Which of the daemon's lives this is. Calls of an earlier one come to nothing.
    pub(crate) life: u32,
    pub(crate) dead: bool,
    /// Nothing can be written before this time of the world.
    pub(crate) disk_full_until: u64,
    watching: Option<Invariant>,
    pub(crate) violation: Option<Violation>,
}

/// How a call ends that was let through.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub(crate) struct Passed {
    call: Call,
    after: Option<Fault>,
}

impl Passed {
    /// How often the call reaches the world.
    pub(crate) fn times(self) -> u32 {
        if self.after == Some(Fault::Twice) { 2 } else { 1 }
    }
}

impl Universe {
    pub(crate) fn new(
        seed: u64,
        plan: Plan,
        careless: Careless,
        watching: Option<Invariant>,
        trace: Trace,
    ) -> Arc<Universe> {
        let inner = Inner {
            rng: Rng::with_seed(seed),
            began: Instant::now(),
            jump: 0,
            fresh: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            outside: Outside::default(),
            log: Log::default(),
            faults: Faults::new(plan),
            trace,
            careless,
            steps: 0,
            at_once: (0, 0),
            life: 0,
            dead: false,
            disk_full_until: 0,
            watching,
            violation: None,
        };
        Arc::new(Universe { inner: Mutex::new(inner), crashed: Notify::new() })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        // A test that fails while it holds the lock has already said why.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call through, or has it go wrong before anything is done.
    pub(crate) async fn before(&self, life: u32, call: Call) -> Result<Passed, String> {
        let fault = {
            let mut inner = self.lock();
            if inner.dead || inner.life != life {
                None
            } else {
                let inner = &mut *inner;
                let fault = inner.faults.choose(&mut inner.rng, call);
                if let Some(fault) = fault {
                    inner.note(|| Line::Fault(call, fault));
                }
                Some((fault, Duration::from_millis(inner.rng.u64(1..8000))))
            }
        };
        // The dead do nothing.
        let Some((fault, slow)) = fault else { return std::future::pending().await };
        match fault {
            None => {}
            Some(Fault::FailBefore) => return Err("injected: failed before anything was done".into()),
            Some(Fault::Hang) => tokio::time::sleep(FOR_EVER).await,
            // Without the panic hook's message: it is not a bug, and there are many.
            Some(Fault::Panic) => std::panic::resume_unwind(Box::new("injected panic")),
            Some(Fault::CrashBefore) => self.crash().await,
            Some(Fault::Delay) => {
                tokio::time::sleep(slow).await;
                let over = {
                    let inner = self.lock();
                    inner.dead || inner.life != life
                };
                if over {
                    std::future::pending::<()>().await;
                }
            }
            Some(after) => return Ok(Passed { call, after: Some(after) }),
        }
        Ok(Passed { call, after: None })
    }

    /// Has a call that was carried out end as the fault wants it.
    pub(crate) async fn after(&self, passed: Passed) -> Result<(), String> {
        match passed.after {
            Some(Fault::FailAfter) => Err(format!("injected: the result of {} was lost", passed.call)),
            Some(Fault::HangAfter) => {
                tokio::time::sleep(FOR_EVER).await;
                Ok(())
            }
            Some(Fault::CrashAfter) => {
                self.crash().await;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The daemon dies here: whoever called never hears anything again.
    async fn crash(&self) {
        self.kill();
        std::future::pending::<()>().await;
    }

    pub(crate) fn kill(&self) {
        self.lock().dead = true;
        self.crashed.notify_one();
    }
}

impl Inner {
    /// Milliseconds since the world began, by a clock that never jumps.
    pub(crate) fn elapsed(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// What the wall clock shows.
    pub(crate) fn wall(&self) -> Timestamp {
        Timestamp(BEGINNING + self.elapsed() as i64 + self.jump)
    }

    /// Counts a step, and says how many there were without time passing.
    pub(crate) fn pace(&mut self) -> u32 {
        let now = self.elapsed();
        let so_far = if self.at_once.0 == now { self.at_once.1 } else { 0 };
        self.at_once = (now, so_far + 1);
        so_far + 1
    }

    pub(crate) fn fresh(&mut self) -> u64 {
        self.fresh = self.fresh.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.fresh;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Says that something must hold, and remembers the first thing that does not.
    pub(crate) fn must(&mut self, holds: bool, invariant: Invariant, what: impl FnOnce() -> String) {
        if !holds {
            self.broken(invariant, what());
        }
    }

    pub(crate) fn broken(&mut self, invariant: Invariant, what: String) {
        if self.violation.is_none() && self.watching.is_none_or(|watched| watched == invariant) {
            self.note(|| Line::Note(format!("BROKEN {invariant}: {what}")));
            self.violation = Some(Violation { invariant, step: self.steps, what });
        }
    }

    pub(crate) fn note(&mut self, line: impl FnOnce() -> Line) {
        if self.trace.on() {
            let at = self.elapsed();
            self.trace.push(at, line());
        }
    }
}
