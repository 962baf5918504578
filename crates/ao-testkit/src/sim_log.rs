//! The event log in memory, and the shadow: the state that is derived from the log alone.

use ao_core::State;
use ao_ports::{Record, Seq, Snapshot};

use crate::watch::LogLedger;

/// The contents of the simulated disk, and the state derived from them.
#[derive(Debug, Default)]
pub(crate) struct SimLog {
    pub(crate) records: Vec<Record>,
    pub(crate) snapshots: Vec<Snapshot>,
    /// The state derived from the records, each encoded and decoded again.
    pub(crate) shadow: State,
    pub(crate) ledger: LogLedger,
}

impl SimLog {
    pub(crate) fn last(&self) -> Seq {
        self.records.len() as Seq
    }
}
