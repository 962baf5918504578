//! What everything in `ao` means, as values.

mod time;

pub use time::Timestamp;
