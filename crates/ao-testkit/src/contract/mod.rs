//! Contracts of the ports: stories that are written once and run against each adapter.
//!
//! A story knows only the port. Each adapter's tests provide a bench with everything else.
//!
//! The simulation's fakes of the forge, the tracker, the notifier and the agent run their contracts too. Its fakes of the
//! runtime and the workspace do not: the stories run real programs and use git, and these fakes have neither.

pub mod agent;
pub mod notifier;
pub mod records;
pub mod runtime;
pub mod scm;
pub mod tracker;
pub mod workspace;
