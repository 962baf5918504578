//! Calls about checks.

use super::path::RequestPath;
use super::{ApiCall, Client};
use crate::{CheckLog, CheckRun, CheckRunState, CheckRuns, CheckWish, segment};

const CHECKS: &str = "/api/checks";

/// The check runs to list. Absent fields do not restrict the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckRunQuery {
    pub project: Option<String>,
    pub pull: Option<String>,
    /// The name of the check.
    pub check: Option<String>,
    pub state: Option<CheckRunState>,
    pub limit: Option<usize>,
}

impl Client {
    pub fn check_runs(&self, query: &CheckRunQuery) -> ApiCall<'_, CheckRuns> {
        let path = RequestPath::new(CHECKS)
            .with("project", query.project.as_ref())
            .with("pull", query.pull.as_ref())
            .with("check", query.check.as_ref())
            .with("state", query.state)
            .with("limit", query.limit);
        self.get(path)
    }

    /// Starts checks. Most of the returned runs are still pending.
    pub fn run_checks(&self, wish: &CheckWish) -> ApiCall<'_, CheckRuns> {
        self.post(CHECKS, wish)
    }

    pub fn check_run(&self, run: &str) -> ApiCall<'_, CheckRun> {
        self.get(format!("{CHECKS}/{}", segment(run)))
    }

    /// Returns up to 1 MiB of a run's output from an offset on. With `wait`, returns once there is more output, the run has
    /// ended, or a time limit of the daemon has passed.
    pub fn check_log(&self, run: &str, from: u64, wait: bool) -> ApiCall<'_, CheckLog> {
        let path = RequestPath::new(format!("{CHECKS}/{}/log", segment(run)));
        self.get(
            path.with("from", Some(from)).with("limit", Some(super::OUTPUT_LIMIT)).with("wait", Some(wait)),
        )
    }
}
