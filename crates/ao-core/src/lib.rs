//! The meaning of everything in `ao`, as values.
//!
//! ```text
//!  Input ──► step: decide ─► evolve ─► follow ──► events (stored)
//!                               │
//!                             State ──► wants ──► effects (done, and done again after a crash)
//! ```
//!
//! This crate reads no clock, draws no random number, touches no disk and never waits. Time and fresh numbers come in
//! with each input as its [`Moment`]. So the same code runs a real fleet and a thousand simulated ones.

pub mod advise;
pub mod agent_report;
pub mod ask;
pub mod assign;
pub mod budget;
pub mod codec;
mod decide;
pub mod digest;
pub mod effect;
pub mod event;
pub mod evidence;
mod fleet;
mod follow;
pub mod forecast;
pub mod health;
pub mod hook;
mod id;
pub mod incident;
pub mod input;
pub mod job;
mod keyed;
mod masking;
pub mod notice;
pub mod order;
pub mod outside;
pub mod plan;
pub mod policy;
pub mod project;
pub mod pull;
pub mod queue;
mod raise;
pub mod reaction;
mod refusal;
pub mod schedule;
pub mod session;
mod settings;
pub mod setup;
mod state;
mod step;
pub mod task;
pub mod text;
mod time;
mod wants;
pub mod work;
pub mod workspace;

pub use decide::decide;
pub use effect::{Effect, EffectKey};
pub use event::{Event, Scope, StampedEvent};
pub use id::{
    AskId, Attempt, BadId, Commit, ConversationId, JobId, NoticeId, ProjectId, PullId, SessionId, TaskId,
};
pub use input::Input;
pub use masking::FreeText;
pub use refusal::Refusal;
pub use settings::DaemonSettings;
pub use state::{SNAPSHOT_FORMAT, State};
pub use step::step;
pub use time::{Moment, Timestamp};
pub use wants::{runtimes, scopes, wants};

/// Returns the `n`th number from a seed. One round of SplitMix64: well spread, and stable across releases.
pub(crate) fn mix(seed: u64, n: u64) -> u64 {
    let mut z = seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
