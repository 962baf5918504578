//! Shared parts of all runtimes on this host.
//!
//! | module | purpose |
//! |---|---|
//! | [`procfs`], [`members`], [`wait`], [`end`] | reads processes, finds those of an attempt, waits for them, ends them |
//! | [`files`], [`attempt_dir`], [`sweep`] | the state of an attempt on disk, and its removal long after the end |
//! | [`start`], [`turns`], [`life`], [`report`] | the parts of starting, ending and looking that all runtimes share |
//! | [`viewers`], [`exec`] | which viewer has control of a terminal; commands beside agents |
//! | [`defaults`] | default settings |
//! | [`file_watch`], [`output_wait`] | notices changes of files, and waits for output that way |

pub(crate) mod attempt_dir;
pub(crate) mod end;
pub(crate) mod exec;
pub(crate) mod file_watch;
pub(crate) mod files;
pub(crate) mod life;
pub(crate) mod members;
pub(crate) mod output_wait;
pub(crate) use ao_process::procfs;
pub(crate) mod defaults;
pub(crate) mod report;
pub(crate) mod start;
pub(crate) mod state;
pub(crate) mod sweep;
pub(crate) mod turns;
pub(crate) mod viewers;
pub(crate) mod wait;

pub(crate) use attempt_dir::{AttemptDir, EndState, ProgramExit};
pub(crate) use members::{AttemptKey, ProcessRecord};
