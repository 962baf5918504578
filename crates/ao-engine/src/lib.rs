//! The one loop that owns state: take inputs, commit what happened, publish it, act on it, and reconcile.
//!
//! ```text
//!   Handle ──input──►┌───────────────────────────── Engine ─────────────────────────────┐
//!   adapters ─report►│ gather ─► step (ao-core) ─► append (EventStore) ─► feed ─► effects │──► ports
//!   time ──due──────►│    ▲                                                    │        │
//!                    └────┴──────────────── results come back as inputs ◄──────┴────────┘
//! ```
//!
//! Nobody outside ever sees a state that is not on disk. Effects are not remembered: after every turn, and the same way
//! after every start, the state is asked what it wants, and what is not under way is begun.

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
pub use feed::{Published, Subscription};
pub use handle::{Handle, Receipt};
pub use load::{Loaded, load};
pub use rules::{Core, Rules};
pub use slots::{NoSuchSlot, Slots};
