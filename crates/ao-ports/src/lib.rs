//! The slots of `ao` as small traits in domain words.

mod store;

pub use store::{EventStore, NewRecord, Record, Seq, Snapshot, StoreError};
