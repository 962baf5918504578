//! Defaults of all runtimes, so that an agent finds the same wherever it runs.

use std::time::Duration;

/// Size of a terminal without a viewer, in columns and rows.
pub(crate) const SIZE: (u16, u16) = (120, 40);
/// Time that an agent gets to end by itself before it is killed.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// Time for which the output of an ended attempt is kept.
pub(crate) const KEEP_ENDED: Duration = Duration::from_secs(3 * 24 * 3600);
