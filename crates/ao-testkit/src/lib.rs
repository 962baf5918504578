//! A simulated world around the real engine: strict fakes, seeded faults, and invariants.
//!
//! ```text
//!   script (people, clock) ──inputs──► Engine ──effects──► jobs ──► fakes ──► Outside
//!                ▲                     ▲   │ append          (DaemonParts)      │
//!                │                     │   ▼                                    │
//!                │              looks ─┘  MemoryStore ─► shadow, ledger         │
//!                │                ▲                                             │
//!                └────────────────┴── reports, hints: lost, doubled, late ◄─────┘
//! ```
//!
//! The engine is the one that ships; so are its looks and jobs, which `ao-daemon` hands in ([`DaemonParts`]), and the
//! rules, unless a test replaces them by a mutant. Only users' commands are faked. Time is tokio's
//! paused clock, randomness is one seeded generator, and a world runs on one thread: the same seed gives the same
//! world to the byte.
//!
//! Beside that world are [`contract`], the promises of the ports, run against the adapters that ship, and
//! [`installation`], the real program in a home of its own. The feature `standin` adds `standin`, a stand-in for the
//! model APIs, and `agents`, the real agent programs in a box with it.

#[cfg(feature = "standin")]
pub mod agents;
pub mod contract;
mod failing_reads;
mod fakes;
mod faults;
pub mod installation;
mod mutant;
mod outside;
mod parts;
pub mod pty;
mod script;
pub mod scripted;
mod sim;
mod sim_log;
mod simulate;
#[cfg(feature = "standin")]
pub mod standin;
mod static_forge;
mod terminal_user;
mod trace;
mod universe;
mod watch;
mod world;

pub use failing_reads::FailingReads;
pub use fakes::{
    FakeProtocol, ManualClock, MemoryRecords, ProbedRecords, ProtocolFake, ReportLog, SimAgentBench,
    SimPortBench, SimRuntimeBench, WallClock,
};
pub use faults::{Fault, FaultPlan, PortCall};
pub use mutant::Mutant;
pub use outside::{AgentBehaviour, pull_facts};
pub use parts::{DaemonParts, DaemonPorts, RunningParts};
pub use simulate::{SimConfig, SimOutcome, run};
pub use static_forge::StaticForge;
pub use terminal_user::TerminalUser;
pub use trace::Trace;
pub use universe::FakeBug;
pub use watch::{Invariant, Violation};
pub use world::{SimWorld, SpawnSpec};
