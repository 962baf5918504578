//! What holds in every runtime unless somebody says otherwise, so that an agent finds the same wherever it runs.

use std::time::Duration;

/// How large a terminal is that nobody has attached to, in columns and rows.
pub(crate) const SIZE: (u16, u16) = (120, 40);
/// How long an agent has to end by itself before it is killed.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// How long the output of what was ended is kept.
pub(crate) const KEEP_ENDED: Duration = Duration::from_secs(3 * 24 * 3600);
