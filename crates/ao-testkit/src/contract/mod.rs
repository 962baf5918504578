//! Contracts of the ports: stories that are written once and run against each adapter.
//!
//! A story knows only the port. Each adapter's tests provide a bench with everything else.
//!
//! The simulation's fakes of the forge, the notifier and the agent run their contracts too. Its fakes of the runtime, the
//! workspace and the tracker do not: the stories run real programs, use git, and create tasks, and these fakes have no
//! output, no files, and only the tasks that a script wrote.

pub mod agent;
pub mod notifier;
pub mod records;
pub mod runtime;
pub mod scm;
pub mod tracker;
pub mod workspace;
