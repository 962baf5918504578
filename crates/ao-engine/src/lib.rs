//! The one loop that owns state: take inputs, commit what happened, publish it, act on it, and reconcile.
//!
//! ```text
//!   Handle ──input──►┌───────────────────────────── Engine ─────────────────────────────┐
//!   adapters ─report►│ gather ─► step (ao-core) ─► append (EventStore) ─► feed ─► effects │──► ports
//!   time ──due──────►│    ▲                                                    │        │
//!                    └────┴──────────────── results come back as inputs ◄──────┴────────┘
//! ```
//!
//! No state is visible outside before it is on disk. Effects are not stored: after every turn, and the same way after
//! every start, the engine asks the state which effects it wants, and starts those that are not running.

mod act;
mod engine;
mod error;
mod feed;
mod handle;
mod load;
mod notify;
mod rules;
mod running;
mod set_up;
mod slots;
mod timekeeper;

pub use engine::{Engine, Options};
pub use error::{AskError, EngineError};
pub use feed::{PublishedEvent, Subscription};
pub use handle::{Handle, InputReceipt, LongAsks};
pub use load::{LoadedState, load};
pub use rules::{CoreRules, EngineRules};
pub use slots::{AdapterSet, NoSuchSlot};
