//! Loads the state from the log: the newest snapshot, and the events since.

use ao_core::{SNAPSHOT_FORMAT, StampedEvent, State, codec};
use ao_ports::{EventStore, Record, Seq};

use crate::error::EngineError;

/// The number of records in memory at a time during a replay.
const PAGE: usize = 1024;

/// The state as of the end of the log.
#[derive(Debug)]
pub struct LoadedState {
    pub state: State,
    pub seq: Seq,
    pub snapshot: Seq,
}

/// Reads the state. A snapshot of another format, or one that cannot be read, is skipped: the log has it all.
pub async fn load(store: &dyn EventStore) -> Result<LoadedState, EngineError> {
    let snapshot = store.latest_snapshot().await?;
    let mut loaded = LoadedState { state: State::default(), seq: 0, snapshot: 0 };
    if let Some(snapshot) = snapshot.filter(|snapshot| snapshot.format == SNAPSHOT_FORMAT) {
        match State::from_snapshot(&snapshot.body) {
            Ok(state) => {
                loaded.state = state;
                loaded.seq = snapshot.seq;
                loaded.snapshot = snapshot.seq;
            }
            Err(err) => tracing::warn!(seq = snapshot.seq, %err, "snapshot passed over"),
        }
    }
    loop {
        let page = store.read(loaded.seq, PAGE).await?;
        for record in &page {
            let stamped = decode(record)?;
            loaded.state.evolve(&stamped);
            loaded.seq = record.seq;
        }
        if page.len() < PAGE {
            return Ok(loaded);
        }
    }
}

pub(crate) fn decode(record: &Record) -> Result<StampedEvent, EngineError> {
    codec::decode(&record.kind, record.version, &record.scope, &record.body)
        .map(|event| StampedEvent { at: record.at, event })
        .map_err(|err| EngineError::Decode { seq: record.seq, err })
}
