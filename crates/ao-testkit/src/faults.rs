//! Faults: what fails, where, and how often. The seed decides; the same seed gives the same faults.

use std::fmt;

use fastrand::Rng;

/// A call from the engine to a port, which can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PortCall {
    Create,
    SetUp,
    Remove,
    Prepare,
    Start,
    Deliver,
    Answer,
    Cancel,
    Look,
    End,
    Census,
    Notify,
    Test,
    Merge,
    Command,
    Pulls,
    OpenPulls,
    Base,
    Show,
    Rerun,
    Check,
    RunState,
    Reply,
    Task,
    Tasks,
    Close,
    Watch,
    Rebase,
    Append,
    Read,
    Snapshot,
}

/// A way in which a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Nothing is done, and the call returns an error.
    FailBefore,
    /// It is done, and the result is lost.
    FailAfter,
    /// It takes a while.
    Delay,
    /// Nothing is done, and the call never returns.
    Hang,
    /// It is done, and the call never returns.
    HangAfter,
    Panic,
    CrashBefore,
    CrashAfter,
    /// It is done twice, as if something in between had retried.
    Twice,
    /// Nothing is done, because the quota of the forge or the tracker is used up.
    Limited,
}

impl PortCall {
    pub const ALL: [PortCall; 31] = [
        PortCall::Create,
        PortCall::SetUp,
        PortCall::Remove,
        PortCall::Prepare,
        PortCall::Start,
        PortCall::Deliver,
        PortCall::Answer,
        PortCall::Cancel,
        PortCall::Look,
        PortCall::End,
        PortCall::Census,
        PortCall::Notify,
        PortCall::Test,
        PortCall::Merge,
        PortCall::Command,
        PortCall::Pulls,
        PortCall::OpenPulls,
        PortCall::Base,
        PortCall::Show,
        PortCall::Rerun,
        PortCall::Check,
        PortCall::RunState,
        PortCall::Reply,
        PortCall::Task,
        PortCall::Tasks,
        PortCall::Close,
        PortCall::Watch,
        PortCall::Rebase,
        PortCall::Append,
        PortCall::Read,
        PortCall::Snapshot,
    ];

    /// Returns true if the port's own contract lets the call go wrong in this way.
    pub fn allows(self, fault: Fault) -> bool {
        match (self, fault) {
            // "An error means that nothing was written."
            (PortCall::Deliver, Fault::FailAfter) => false,
            // The log is called from the loop itself: it may fail or be slow, but it has no time-out and no panics.
            (
                PortCall::Append | PortCall::Read | PortCall::Snapshot,
                Fault::Hang | Fault::HangAfter | Fault::Panic,
            ) => false,
            (PortCall::Append | PortCall::Read | PortCall::Snapshot, Fault::Twice) => false,
            (PortCall::Read | PortCall::Snapshot, Fault::FailAfter) => false,
            // A watch returns, panics, or goes on; it has no result.
            (PortCall::Watch, fault) => matches!(fault, Fault::FailBefore | Fault::Panic | Fault::Delay),
            (_, Fault::Limited) => self.has_quota(),
            _ => true,
        }
    }

    /// Returns true for a call to a forge or a tracker that answers.
    fn has_quota(self) -> bool {
        matches!(
            self,
            PortCall::Test
                | PortCall::Merge
                | PortCall::Pulls
                | PortCall::OpenPulls
                | PortCall::Base
                | PortCall::Show
                | PortCall::Rerun
                | PortCall::Check
                | PortCall::RunState
                | PortCall::Reply
                | PortCall::Task
                | PortCall::Tasks
                | PortCall::Close
        )
    }
}

impl Fault {
    pub const ALL: [Fault; 10] = [
        Fault::FailBefore,
        Fault::FailAfter,
        Fault::Delay,
        Fault::Hang,
        Fault::HangAfter,
        Fault::Panic,
        Fault::CrashBefore,
        Fault::CrashAfter,
        Fault::Twice,
        Fault::Limited,
    ];
}

/// The faults to inject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultPlan {
    Calm,
    /// So many of a thousand calls fail, in any way.
    Random {
        per_mille: u16,
    },
    /// This call fails in this way, so many times from now on.
    These {
        call: PortCall,
        fault: Fault,
        times: u32,
    },
}

/// Chooses faults and counts them.
#[derive(Debug, Clone)]
pub(crate) struct FaultInjector {
    pub(crate) plan: FaultPlan,
    counts: [[u64; Fault::ALL.len()]; PortCall::ALL.len()],
}

impl FaultInjector {
    pub(crate) fn are_random(&self) -> bool {
        matches!(self.plan, FaultPlan::Random { .. })
    }

    pub(crate) fn new(plan: FaultPlan) -> FaultInjector {
        FaultInjector { plan, counts: Default::default() }
    }

    pub(crate) fn choose(&mut self, rng: &mut Rng, call: PortCall) -> Option<Fault> {
        let fault = match &mut self.plan {
            FaultPlan::Calm => None,
            FaultPlan::Random { per_mille } => {
                // Appends outnumber all other calls; at the full rate no other call would be reached.
                let rate = if call == PortCall::Append { *per_mille / 4 } else { *per_mille };
                (rng.u16(..1000) < rate).then(|| Fault::ALL[rng.usize(..Fault::ALL.len())])
            }
            FaultPlan::These { call: at, fault, times } if *at == call && *times > 0 => {
                *times -= 1;
                Some(*fault)
            }
            FaultPlan::These { .. } => None,
        }
        .filter(|fault| call.allows(*fault))?;
        self.counts[call as usize][fault as usize] += 1;
        Some(fault)
    }

    /// Returns how often this fault was injected into this call.
    pub(crate) fn count(&self, call: PortCall, fault: Fault) -> u64 {
        self.counts[call as usize][fault as usize]
    }

    /// Returns how often each fault was injected.
    pub(crate) fn by_kind(&self) -> Vec<(Fault, u64)> {
        let sum = |fault: Fault| self.counts.iter().map(|of| of[fault as usize]).sum();
        Fault::ALL.into_iter().map(|fault| (fault, sum(fault))).collect()
    }
}

impl fmt::Display for PortCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PortCall::Create => "workspace.create",
            PortCall::SetUp => "workspace.set_up",
            PortCall::Remove => "workspace.remove",
            PortCall::Prepare => "agent.prepare",
            PortCall::Start => "runtime.start",
            PortCall::Deliver => "agent.deliver",
            PortCall::Answer => "agent.answer",
            PortCall::Cancel => "agent.cancel",
            PortCall::Look => "agent.look",
            PortCall::End => "runtime.end",
            PortCall::Census => "runtime.census",
            PortCall::Notify => "notifier.notify",
            PortCall::Test => "scm.test",
            PortCall::Merge => "scm.merge",
            PortCall::Command => "jobs.command",
            PortCall::Pulls => "scm.pulls",
            PortCall::OpenPulls => "scm.open_pulls",
            PortCall::Base => "scm.base",
            PortCall::Show => "scm.show",
            PortCall::Rerun => "scm.rerun",
            PortCall::Check => "scm.check",
            PortCall::RunState => "scm.run",
            PortCall::Reply => "scm.reply",
            PortCall::Task => "tracker.task",
            PortCall::Tasks => "tracker.list",
            PortCall::Close => "tracker.close",
            PortCall::Watch => "watch",
            PortCall::Rebase => "workspace.rebase",
            PortCall::Append => "store.append",
            PortCall::Read => "store.read",
            PortCall::Snapshot => "store.save_snapshot",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::FailBefore => "fails",
            Fault::FailAfter => "is done but returns an error",
            Fault::Delay => "is slow",
            Fault::Hang => "hangs",
            Fault::HangAfter => "is done and hangs",
            Fault::Panic => "panics",
            Fault::CrashBefore => "crash before",
            Fault::CrashAfter => "crash after",
            Fault::Twice => "is done twice",
            Fault::Limited => "is refused for a while",
        })
    }
}
