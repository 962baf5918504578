//! State that every runtime on this host keeps.

use super::file_watch::FileWatcher;
use super::life::CpuSamples;
use super::report::ReportSender;
use super::start::StartLimit;
use super::sweep::AttemptSweeper;
use super::turns::AttemptTurns;
use super::viewers::Viewers;

#[derive(Default)]
pub(crate) struct HostState {
    pub(crate) reports: ReportSender,
    pub(crate) samples: CpuSamples,
    /// Wakes callers that wait for output or an exit.
    pub(crate) file_watcher: FileWatcher,
    pub(crate) turns: AttemptTurns,
    pub(crate) start_limit: StartLimit,
    pub(crate) viewers: Viewers,
    pub(crate) sweep: AttemptSweeper,
}
