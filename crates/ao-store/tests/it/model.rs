//! Random histories of the store against a model of a few lines.

use ao_core::Timestamp;
use ao_ports::{EventStore, Seq, Snapshot, StoreError};
use ao_store::{Options, Retention, Store};
use futures::future::join_all;
use proptest::prelude::*;

use crate::support::{DataDir, block_on, records, snapshot};

#[derive(Debug, Clone)]
enum Action {
    /// Appends so many records, on condition of an end that is off by so much.
    Append {
        count: u64,
        off_by: Option<i64>,
    },
    /// Appends from several producers at once.
    AppendTogether {
        producers: u64,
    },
    Read {
        after: Seq,
        limit: usize,
    },
    History {
        scope: u64,
        before: Option<Seq>,
        limit: usize,
    },
    /// Saves a snapshot so far in front of the end.
    Snapshot {
        back: Seq,
    },
    Prune {
        before: i64,
    },
    Reopen,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        4 => (0..20_u64, prop::option::of(-1..=1_i64)).prop_map(|(count, off_by)| Action::Append { count, off_by }),
        1 => (1..8_u64).prop_map(|producers| Action::AppendTogether { producers }),
        4 => (0..200_u64, 0..50_usize).prop_map(|(after, limit)| Action::Read { after, limit }),
        2 => (0..4_u64, prop::option::of(0..200_u64), 0..20_usize)
            .prop_map(|(scope, before, limit)| Action::History { scope, before, limit }),
        3 => (0..10_u64).prop_map(|back| Action::Snapshot { back }),
        2 => (0..250_i64).prop_map(|before| Action::Prune { before }),
        1 => Just(Action::Reopen),
    ]
}

/// The log as one would write it without a disk. The record at position `n` has number and time `n`.
#[derive(Debug, Default)]
struct Model {
    pruned: Seq,
    last: Seq,
    /// Newest first.
    snapshots: Vec<Snapshot>,
}

impl Model {
    fn read(&self, after: Seq, limit: usize) -> Result<Vec<Seq>, Seq> {
        if after < self.pruned {
            return Err(self.pruned + 1);
        }
        Ok((after + 1..=self.last).take(limit).collect())
    }

    fn history(&self, scope: u64, before: Option<Seq>, limit: usize) -> Vec<Seq> {
        let end = before.map_or(self.last, |before| self.last.min(before.saturating_sub(1)));
        (self.pruned + 1..=end).rev().filter(|seq| seq % 3 == scope).take(limit).collect()
    }

    fn save(&mut self, snapshot: Snapshot) {
        match self.snapshots.first_mut() {
            Some(newest) if snapshot.seq < newest.seq => {}
            Some(newest) if snapshot.seq == newest.seq => *newest = snapshot,
            _ => self.snapshots.insert(0, snapshot),
        }
        self.snapshots.truncate(2);
    }

    fn prune(&mut self, before: i64) -> u64 {
        let covered = self.snapshots.get(1).map_or(0, |spare| spare.seq);
        let old = (before.max(1) - 1) as Seq;
        let through = self.pruned.max(covered.min(old).min(self.last));
        let removed = through - self.pruned;
        self.pruned = through;
        removed
    }
}

proptest! {
    // Every append is synced, so the number of cases is what the disk allows in a few seconds.
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn the_store_does_what_the_model_does(actions in prop::collection::vec(action(), 1..60)) {
        let dir = DataDir::new();
        let mut model = Model::default();
        let mut store = dir.open();
        for action in actions {
            if matches!(action, Action::Reopen) {
                drop(store);
                store = Store::open(&dir, Options::default()).unwrap();
            } else {
                block_on(step(&store, &mut model, action));
            }
            let (last, latest) = block_on(async { (store.last_seq().await, store.latest_snapshot().await) });
            prop_assert_eq!(last.unwrap(), model.last);
            prop_assert_eq!(latest.unwrap(), model.snapshots.first().cloned());
        }
        let report = store.check().unwrap();
        prop_assert!(report.is_ok(), "{:?}", report);
        prop_assert_eq!(report.events, model.last - model.pruned);
    }
}

async fn step(store: &Store, model: &mut Model, action: Action) {
    match action {
        Action::Append { count, off_by } => {
            let after = off_by.map(|off| model.last.saturating_add_signed(off));
            let appended = store.append(records(model.last + 1..=model.last + count), after).await;
            match after {
                Some(expected) if expected != model.last => {
                    let moved = matches!(appended, Err(StoreError::Moved { expected: e, found: f })
                        if (e, f) == (expected, model.last));
                    assert!(moved, "{appended:?}");
                }
                _ => {
                    model.last += count;
                    assert_eq!(appended.unwrap(), model.last);
                }
            }
        }
        Action::AppendTogether { producers } => {
            // In the order in which they are polled, so the model knows who gets which position.
            let appends = (1..=producers).map(|n| store.append(records([model.last + n]), None));
            for (n, appended) in (1..).zip(join_all(appends).await) {
                assert_eq!(appended.unwrap(), model.last + n);
            }
            model.last += producers;
        }
        Action::Read { after, limit } => {
            let read = match store.read(after, limit).await {
                Ok(records) => Ok(records.iter().map(|record| record.seq).collect()),
                Err(StoreError::Pruned { first_kept }) => Err(first_kept),
                Err(err) => panic!("{err}"),
            };
            assert_eq!(read, model.read(after, limit));
        }
        Action::History { scope, before, limit } => {
            let history = store.history(&format!("ses_{scope}"), before, limit).await.unwrap();
            let seqs: Vec<Seq> = history.iter().map(|record| record.seq).collect();
            assert_eq!(seqs, model.history(scope, before, limit));
        }
        Action::Snapshot { back } => {
            let snapshot = snapshot(model.last.saturating_sub(back));
            store.save_snapshot(snapshot.clone()).await.unwrap();
            model.save(snapshot);
        }
        Action::Prune { before } => {
            let pruned = store.prune(Retention { before: Timestamp(before) }).await.unwrap();
            assert_eq!(pruned.events, model.prune(before));
        }
        Action::Reopen => unreachable!("done by the caller, who owns the store"),
    }
}
