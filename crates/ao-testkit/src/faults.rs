//! What goes wrong, where, and how often. The seed decides; the same seed goes wrong in the same way.

use std::fmt;

use fastrand::Rng;

/// Where something can go wrong: every call that the engine makes to the outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    Create,
    SetUp,
    Remove,
    Prepare,
    Start,
    Deliver,
    Answer,
    Look,
    End,
    Census,
    Notify,
    Test,
    Merge,
    Errand,
    Append,
    Read,
    Snapshot,
}

/// What goes wrong with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Nothing is done, and an error says so.
    FailBefore,
    /// It is done, and the result is lost.
    FailAfter,
    /// It takes a while.
    Delay,
    /// Nothing is done, and no answer ever comes.
    Hang,
    /// It is done, and no answer ever comes.
    HangAfter,
    Panic,
    CrashBefore,
    CrashAfter,
    /// It is done as asked, and then asked for once more by whatever stands between.
    Twice,
}

impl Call {
    pub const ALL: [Call; 17] = [
        Call::Create,
        Call::SetUp,
        Call::Remove,
        Call::Prepare,
        Call::Start,
        Call::Deliver,
        Call::Answer,
        Call::Look,
        Call::End,
        Call::Census,
        Call::Notify,
        Call::Test,
        Call::Merge,
        Call::Errand,
        Call::Append,
        Call::Read,
        Call::Snapshot,
    ];

    /// Returns true if the port's own contract lets the call go wrong in this way.
    pub fn allows(self, fault: Fault) -> bool {
        match (self, fault) {
            // "An error means that nothing was written."
            (Call::Deliver, Fault::FailAfter) => false,
            // The log is called from the loop itself: it may fail or be slow, but it has no time-out and no panics.
            (Call::Append | Call::Read | Call::Snapshot, Fault::Hang | Fault::HangAfter | Fault::Panic) => {
                false
            }
            (Call::Append | Call::Read | Call::Snapshot, Fault::Twice) => false,
            (Call::Read | Call::Snapshot, Fault::FailAfter) => false,
            _ => true,
        }
    }
}

impl Fault {
    pub const ALL: [Fault; 9] = [
        Fault::FailBefore,
        Fault::FailAfter,
        Fault::Delay,
        Fault::Hang,
        Fault::HangAfter,
        Fault::Panic,
        Fault::CrashBefore,
        Fault::CrashAfter,
        Fault::Twice,
    ];
}

/// Which faults there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    Calm,
    /// So many of a thousand calls go wrong, in any way.
    Random {
        per_mille: u16,
    },
    /// This call goes wrong in this way, so many times from now on.
    These {
        call: Call,
        fault: Fault,
        times: u32,
    },
}

/// Chooses faults and counts them.
#[derive(Debug, Clone)]
pub(crate) struct Faults {
    pub(crate) plan: Plan,
    counts: [[u64; Fault::ALL.len()]; Call::ALL.len()],
}

impl Faults {
    pub(crate) fn are_random(&self) -> bool {
        matches!(self.plan, Plan::Random { .. })
    }

    pub(crate) fn new(plan: Plan) -> Faults {
        Faults { plan, counts: Default::default() }
    }

    pub(crate) fn choose(&mut self, rng: &mut Rng, call: Call) -> Option<Fault> {
        let fault = match &mut self.plan {
            Plan::Calm => None,
            Plan::Random { per_mille } => {
                // Appends outnumber all other calls; at their rate nothing else would ever be reached.
                let rate = if call == Call::Append { *per_mille / 4 } else { *per_mille };
                (rng.u16(..1000) < rate).then(|| Fault::ALL[rng.usize(..Fault::ALL.len())])
            }
            Plan::These { call: at, fault, times } if *at == call && *times > 0 => {
                *times -= 1;
                Some(*fault)
            }
            Plan::These { .. } => None,
        }
        .filter(|fault| call.allows(*fault))?;
        self.counts[call as usize][fault as usize] += 1;
        Some(fault)
    }

    /// Returns how often this call went wrong in this way.
    pub(crate) fn count(&self, call: Call, fault: Fault) -> u64 {
        self.counts[call as usize][fault as usize]
    }

    /// Returns how often each kind of fault happened.
    pub(crate) fn by_kind(&self) -> Vec<(Fault, u64)> {
        let sum = |fault: Fault| self.counts.iter().map(|of| of[fault as usize]).sum();
        Fault::ALL.into_iter().map(|fault| (fault, sum(fault))).collect()
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Call::Create => "workspace.create",
            Call::SetUp => "workspace.set_up",
            Call::Remove => "workspace.remove",
            Call::Prepare => "agent.prepare",
            Call::Start => "runtime.start",
            Call::Deliver => "agent.deliver",
            Call::Answer => "agent.answer",
            Call::Look => "agent.look",
            Call::End => "runtime.end",
            Call::Census => "runtime.census",
            Call::Notify => "notifier.notify",
            Call::Test => "scm.test",
            Call::Merge => "scm.merge",
            Call::Errand => "errands.run",
            Call::Append => "store.append",
            Call::Read => "store.read",
            Call::Snapshot => "store.save_snapshot",
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::FailBefore => "fails",
            Fault::FailAfter => "is done but says it failed",
            Fault::Delay => "is slow",
            Fault::Hang => "hangs",
            Fault::HangAfter => "is done and hangs",
            Fault::Panic => "panics",
            Fault::CrashBefore => "crash before",
            Fault::CrashAfter => "crash after",
            Fault::Twice => "is done twice",
        })
    }
}
