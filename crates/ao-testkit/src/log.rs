//! The event log in memory, and the shadow of the state that is folded from nothing but what it holds.

use ao_core::State;
use ao_ports::{Record, Seq, Snapshot};

use crate::watch::Ledger;

/// What is on the simulated disk, and what follows from it.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) records: Vec<Record>,
    pub(crate) snapshots: Vec<Snapshot>,
    /// The state as the records tell it, each encoded and decoded again.
    pub(crate) shadow: State,
    pub(crate) ledger: Ledger,
}

impl Log {
    pub(crate) fn last(&self) -> Seq {
        self.records.len() as Seq
    }
}
