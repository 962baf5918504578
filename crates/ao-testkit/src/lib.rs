//! A simulated world around the real engine: strict fakes, seeded faults, and invariants.
//!
//! ```text
//!   script (people, forge, clock) ──inputs──► Engine ──effects──► fakes ──► Outside
//!                ▲                              │ append                     │
//!                │                              ▼                            │
//!                │                       MemoryStore ─► shadow, ledger       │
//!                └──────────── reports: lost, doubled, late ◄────────────────┘
//! ```
//!
//! The engine is the one that ships; so are the rules, unless a test replaces them by a mutant. Time is tokio's
//! paused clock, randomness is one seeded generator, and a world runs on one thread: the same seed gives the same
//! world to the byte.
//!
//! Beside that world are [`contract`], the promises of the ports, run against the adapters that ship,
//! [`installation`], the real program in a home of its own, and, with the feature `standin`, `standin`, a stand-in for
//! the model APIs, and `agents`, the real agent programs that run against it.

#[cfg(feature = "standin")]
pub mod agents;

pub mod contract;
mod fakes;
mod faults;
pub mod installation;
mod mutant;
mod outside;
pub mod pty;
mod script;
pub mod scripted;
mod sim;
mod sim_log;
mod simulate;
#[cfg(feature = "standin")]
pub mod standin;
mod terminal_user;
mod trace;
mod universe;
mod watch;
mod world;

pub use fakes::{ManualClock, MemoryRecords, ProbedRecords, ReportLog, SimAgentBench, WallClock};
pub use faults::{Fault, FaultPlan, PortCall};
pub use mutant::Mutant;
pub use outside::AgentBehaviour;
pub use simulate::{SimConfig, SimOutcome, run};
pub use terminal_user::TerminalUser;
pub use trace::Trace;
pub use universe::FakeBug;
pub use watch::{Invariant, Violation};
pub use world::{SimWorld, SpawnSpec};
