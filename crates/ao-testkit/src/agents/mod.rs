//! The real agent programs: pinned, installed into a cache, and run in a box where they meet only the stand-in.
//!
//! ```text
//!  catalog: package, version, home, environment, command lines
//!     │ install                     │ open
//!     ▼                             ▼
//!  cache/<name>-<version>/bin   AgentBox: loopback only, its own processes and /tmp
//!                                 ├── ao-model-standin     (records the requests)
//!                                 └── the agent, or `ao`   (unprivileged, an empty environment, a home of its own)
//! ```
//!
//! No key, login or setting of the machine reaches an agent: its keys are dummies, its home is new, and there is no
//! network to send anything to.
//!
//! A test of `ao` with a real agent opens a box with both, runs commands in it, and reads the requests of the agent:
//!
//! ```no_run
//! # use std::time::Duration;
//! # use ao_testkit::{agents::{self, AgentBox}, standin::turns_with};
//! # fn test(ao: &std::path::Path) -> std::io::Result<()> {
//! let claude = agents::required("claude-code");
//! let agent_box = AgentBox::open_with(&[claude], &[ao])?;
//! let limit = Duration::from_secs(60);
//! assert!(agent_box.run(agent_box.command("ao", ["start"]), limit)?.succeeded());
//! assert!(agent_box.run(agent_box.command("ao", ["new", "[[say hello]]"]), limit)?.succeeded());
//! let requests = agent_box.wait_for(limit, |requests| turns_with(requests, "hello") == 1)?;
//! assert!(requests.iter().any(|request| request.system.contains("Claude")));
//! assert!(agent_box.run(agent_box.command("ao", ["stop"]), limit)?.succeeded());
//! assert_eq!(agent_box.processes()?, [""; 0]);
//! agent_box.close()
//! # }
//! ```

mod agent_box;
mod catalog;
mod install;
mod namespace;
mod record;
mod smoke;

pub use agent_box::{AgentBox, AgentRun};
pub use catalog::{RealAgent, all, find};
pub use install::{InstallError, cache, install, is_installed, required};
pub use namespace::obstacle;
pub use record::record;
pub use smoke::{SmokeExchange, smoke};
