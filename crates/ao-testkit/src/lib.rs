//! A simulated world around the real engine: strict fakes, seeded faults, and invariants that nothing may break.
//!
//! ```text
//!   script (people, forge, clock) ──inputs──► Engine ──effects──► fakes ──► Outside
//!                ▲                              │ append                     │
//!                │                              ▼                            │
//!                │                       MemoryStore ─► shadow, ledger       │
//!                └──────────── reports: lost, doubled, late ◄────────────────┘
//! ```
//!
//! The engine is the one that ships; so are the rules, unless a test puts a mutant in their place. Time is tokio's paused
//! clock, chance is one seeded generator, and a world runs on one thread: the same seed is the same world to the byte.
//!
//! Apart from that world stand [`contract`], the promises of the ports, run against the adapters that ship, and
//! [`installation`], the real program in a home of its own.

pub mod contract;
mod fakes;
mod faults;
pub mod installation;
mod log;
mod mutant;
mod outside;
mod person;
pub mod pty;
mod script;
pub mod scripted;
mod sim;
mod simulate;
mod trace;
mod universe;
mod watch;
mod world;

pub use fakes::{ManualClock, MemoryRecords};
pub use faults::{Call, Fault, Plan};
pub use mutant::Mutant;
pub use outside::Temper;
pub use person::Person;
pub use simulate::{Config, Outcome, run};
pub use trace::Trace;
pub use universe::Careless;
pub use watch::{Invariant, Violation};
pub use world::{Spawn, World};
