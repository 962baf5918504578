//! The real agent programs: pinned, installed into a cache, and run in a box where they meet only the stand-in.
//!
//! ```text
//!  catalog: package, version, home, environment, command lines
//!     │ install                     │ open
//!     ▼                             ▼
//!  cache/<name>-<version>/bin   AgentBox: a network namespace with a loopback device only
//!                                 ├── ao-model-standin     (records the requests)
//!                                 └── the agent            (unprivileged, an empty environment, a home of its own)
//! ```
//!
//! No key, login or setting of the machine reaches an agent: its keys are dummies, its home is new, and there is no
//! network to send anything to.

mod catalog;
mod cell;
mod install;
mod record;

pub use catalog::{RealAgent, all, find};
pub use cell::{AgentBox, AgentRun, lacks};
pub use install::{InstallError, cache, install, is_installed};
pub use record::record;
