//! The state of a simulated world behind one lock, and the gate that every port call passes.
//!
//! The lock is a plain mutex without contention: a world runs on one thread. It is needed because ports are `Send`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ao_core::Timestamp;
use fastrand::Rng;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::faults::{Fault, FaultInjector, FaultPlan, PortCall};
use crate::outside::OutsideWorld;
use crate::sim_log::SimLog;
use crate::trace::{Trace, TraceLine};
use crate::watch::{Invariant, Violation};

/// The wall clock's time when a world begins.
pub(crate) const BEGINNING: i64 = 1_700_000_000_000;
/// Longer than any time-out.
const FOR_EVER: Duration = Duration::from_secs(30 * 24 * 3600);

/// A world, shared by its fakes and its driver.
#[derive(Debug)]
pub(crate) struct SimUniverse {
    inner: Mutex<UniverseState>,
    pub(crate) crashed: Notify,
    /// Wakes the driver of a world that spins and therefore never sleeps.
    pub(crate) halted: Arc<Notify>,
    /// Notified when an event is planned before the next one.
    pub(crate) sooner: Arc<Notify>,
}

/// Planted bugs in the fakes, to test that the simulation detects them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FakeBug {
    #[default]
    None,
    /// Types again without checking whether an earlier attempt got through.
    Agent,
    /// Reports that a process has ended and leaves it running.
    Runtime,
    /// Removes without asking the gate.
    Workspace,
    /// Loses the last confirmed record when the daemon crashes.
    Store,
    /// Forgets hints that come during a look.
    Hints,
    /// Reports jobs as done without doing them.
    Jobs,
    /// Starts no looks after a crash.
    Looks,
}

#[derive(Debug)]
pub(crate) struct UniverseState {
    pub(crate) rng: Rng,
    began: Instant,
    /// Offset of the wall clock.
    pub(crate) jump: i64,
    fresh: u64,
    pub(crate) outside: OutsideWorld,
    pub(crate) log: SimLog,
    pub(crate) faults: FaultInjector,
    pub(crate) trace: Trace,
    pub(crate) fake_bug: FakeBug,
    pub(crate) steps: u64,
    /// Number of steps at one time of the world.
    at_once: (u64, u32),
    /// The current life of the daemon. Calls of an earlier one have no effect.
    pub(crate) life: u32,
    pub(crate) dead: bool,
    /// Writes fail before this time of the world.
    pub(crate) disk_full_until: u64,
    watching: Option<Invariant>,
    pub(crate) violation: Option<Violation>,
    /// Set once nothing more can be learnt from this world.
    pub(crate) over: bool,
    halt: Arc<Notify>,
}

/// A call that was let through, with the fault at its end.
#[derive(Debug, Clone, Copy)]
#[must_use]
pub(crate) struct CallPass {
    call: PortCall,
    after: Option<Fault>,
}

impl CallPass {
    /// Returns true if the service does nothing, because the quota is used up.
    pub(crate) fn is_limited(self) -> bool {
        self.after == Some(Fault::Limited)
    }

    /// Returns how often the call reaches the world.
    pub(crate) fn times(self) -> u32 {
        if self.after == Some(Fault::Twice) { 2 } else { 1 }
    }
}

impl SimUniverse {
    pub(crate) fn new(
        seed: u64,
        plan: FaultPlan,
        fake_bug: FakeBug,
        watching: Option<Invariant>,
        trace: Trace,
    ) -> Arc<SimUniverse> {
        let halted = Arc::new(Notify::new());
        let inner = UniverseState {
            rng: Rng::with_seed(seed),
            began: Instant::now(),
            jump: 0,
            fresh: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
            outside: OutsideWorld::default(),
            log: SimLog::default(),
            faults: FaultInjector::new(plan),
            trace,
            fake_bug,
            steps: 0,
            at_once: (0, 0),
            life: 0,
            dead: false,
            disk_full_until: 0,
            watching,
            violation: None,
            over: false,
            halt: halted.clone(),
        };
        let sooner = inner.outside.sooner.clone();
        Arc::new(SimUniverse { inner: Mutex::new(inner), crashed: Notify::new(), halted, sooner })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, UniverseState> {
        // A test that fails while it holds the lock has reported why already.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call through, or makes it fail before anything is done.
    pub(crate) async fn before(&self, life: u32, call: PortCall) -> Result<CallPass, String> {
        let fault = {
            let mut inner = self.lock();
            if inner.dead || inner.life != life {
                None
            } else {
                let inner = &mut *inner;
                let fault = inner.faults.choose(&mut inner.rng, call);
                if let Some(fault) = fault {
                    inner.note(|| TraceLine::Fault(call, fault));
                }
                Some((fault, Duration::from_millis(inner.rng.u64(1..8000))))
            }
        };
        // A dead daemon does nothing.
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
            Some(after) => return Ok(CallPass { call, after: Some(after) }),
        }
        Ok(CallPass { call, after: None })
    }

    /// Ends a call that was carried out as the fault requires.
    pub(crate) async fn after(&self, passed: CallPass) -> Result<(), String> {
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

    /// Kills the daemon; the call never returns.
    async fn crash(&self) {
        self.kill();
        std::future::pending::<()>().await;
    }

    pub(crate) fn kill(&self) {
        self.lock().dead = true;
        self.crashed.notify_one();
    }
}

impl UniverseState {
    /// Returns the milliseconds since the world began, by a clock that never jumps.
    pub(crate) fn elapsed(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// Returns the wall clock's time.
    pub(crate) fn wall(&self) -> Timestamp {
        Timestamp(BEGINNING + self.elapsed() as i64 + self.jump)
    }

    /// Returns the time of the tracker, whose clock does not jump with ours.
    pub(crate) fn tracker_time(&self) -> Timestamp {
        Timestamp(BEGINNING + self.elapsed() as i64)
    }

    /// Counts a step, and returns the number of steps since time last moved.
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

    /// Records a violation unless something holds. Only the first one is kept.
    pub(crate) fn must(&mut self, holds: bool, invariant: Invariant, what: impl FnOnce() -> String) {
        if !holds {
            self.broken(invariant, what());
        }
    }

    pub(crate) fn broken(&mut self, invariant: Invariant, what: String) {
        if self.violation.is_none() && self.watching.is_none_or(|watched| watched == invariant) {
            self.note(|| TraceLine::Note(format!("BROKEN {invariant}: {what}")));
            self.violation = Some(Violation { invariant, step: self.steps, what });
            self.halt();
        }
    }

    pub(crate) fn halt(&mut self) {
        self.over = true;
        self.halt.notify_one();
    }

    pub(crate) fn note(&mut self, line: impl FnOnce() -> TraceLine) {
        if self.trace.on() {
            let at = self.elapsed();
            self.trace.push(at, line());
        }
    }
}
