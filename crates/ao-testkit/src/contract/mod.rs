//! Contracts of the ports: stories that are written once and run against each adapter.
//!
//! A story knows only the port. Each adapter's tests provide a bench with everything else.
//!
//! The simulation's fakes run them too (`tests/it/port_contracts.rs`), all but the stories of the runtime that need a real
//! program: its output, its input, its files or its children.

pub mod agent;
pub mod notifier;
pub mod records;
pub mod runtime;
pub mod scm;
pub mod tracker;
pub mod workspace;
