//! The event log in memory: fails, fills up, loses answers; keeps every record that it confirmed.

use ao_core::{StampedEvent, codec};
use ao_ports::{EventStore, NewRecord, Record, Seq, Snapshot, StoreError};
use async_trait::async_trait;

use super::FakePort;
use crate::faults::PortCall;
use crate::universe::UniverseState;
use crate::watch::{self, Invariant};

#[derive(Debug, Clone)]
pub(crate) struct MemoryStore(pub(crate) FakePort);

const PATH: &str = "/sim/ao.db";

#[async_trait]
impl EventStore for MemoryStore {
    async fn append(&self, records: Vec<NewRecord>, after: Option<Seq>) -> Result<Seq, StoreError> {
        let FakePort { universe, life, .. } = &self.0;
        let passed = universe.before(*life, PortCall::Append).await.map_err(failed)?;
        let last = {
            let mut inner = universe.lock();
            if inner.elapsed() < inner.disk_full_until {
                return Err(StoreError::Full { path: PATH.into() });
            }
            let found = inner.log.last();
            if let Some(expected) = after.filter(|after| *after != found) {
                return Err(StoreError::Moved { expected, found });
            }
            for record in records {
                write(&mut inner, record);
            }
            watch::commit_over(&mut inner);
            inner.log.last()
        };
        universe.after(passed).await.map_err(failed)?;
        Ok(last)
    }

    async fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, StoreError> {
        let FakePort { universe, life, .. } = &self.0;
        let passed = universe.before(*life, PortCall::Read).await.map_err(failed)?;
        let page = universe.lock().log.records.iter().skip(after as usize).take(limit).cloned().collect();
        universe.after(passed).await.map_err(failed)?;
        Ok(page)
    }

    async fn last_seq(&self) -> Result<Seq, StoreError> {
        Ok(self.0.universe.lock().log.last())
    }

    async fn latest_snapshot(&self) -> Result<Option<Snapshot>, StoreError> {
        Ok(self.0.universe.lock().log.snapshots.last().cloned())
    }

    async fn save_snapshot(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        let FakePort { universe, life, .. } = &self.0;
        let passed = universe.before(*life, PortCall::Snapshot).await.map_err(failed)?;
        {
            let mut inner = universe.lock();
            let written = inner.log.last();
            inner.must(snapshot.seq <= written, Invariant::CommitFirst, || {
                format!("a snapshot of {} was taken, and the log ends at {written}", snapshot.seq)
            });
            let kept = &mut inner.log.snapshots;
            if kept.last().is_none_or(|newest| newest.seq < snapshot.seq) {
                kept.push(snapshot);
                if kept.len() > 2 {
                    kept.remove(0);
                }
            }
        }
        universe.after(passed).await.map_err(failed)
    }
}

/// Stores a record, and applies it to the shadow as it is read back, not as it was written.
fn write(inner: &mut UniverseState, record: NewRecord) {
    let NewRecord { at, kind, version, scope, body } = record;
    match codec::decode(&kind, version, &scope, &body) {
        Ok(event) => {
            let stamped = StampedEvent { at, event };
            watch::committed(inner, &stamped);
            inner.log.shadow.evolve(&stamped);
        }
        Err(err) => inner.broken(Invariant::LogReplays, format!("an event reads back as: {err}")),
    }
    let seq = inner.log.last() + 1;
    inner.log.records.push(Record { seq, at, kind, version, scope, body });
}

fn failed(detail: String) -> StoreError {
    StoreError::Failed { path: PATH.into(), detail }
}
