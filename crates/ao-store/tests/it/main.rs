//! The guarantees of the event log, one file per guarantee.

mod append;
mod bad_input;
mod check;
mod child;
mod durability;
mod export;
mod full_disk;
mod lock;
mod model;
mod old_files;
mod read;
mod records;
mod retention;
mod snapshots;
mod support;
