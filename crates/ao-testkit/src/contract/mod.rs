//! Contracts of the ports: stories that are written once and run against each adapter.
//!
//! A story knows only the port. Each adapter's tests provide a bench with everything else.

pub mod agent;
pub mod notifier;
pub mod records;
pub mod runtime;
pub mod scm;
pub mod tracker;
pub mod workspace;
