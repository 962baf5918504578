//! Calls about checks.

use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::path::RequestPath;
use super::{ApiCall, Client};
use crate::{CheckLog, CheckRun, CheckRunState, CheckRuns, NewCheckRun, segment};

const CHECKS: &str = "/api/checks";

/// The check runs to list. Absent fields do not restrict the list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CheckRunQuery {
    /// Only those of this project.
    pub project: Option<String>,
    /// Only those of this pull request: `7`, `!7`, `my-app!7`, a branch, or a session that has one.
    pub pull: Option<String>,
    /// Only those of the check with this name.
    pub check: Option<String>,
    /// Only those in this state.
    #[param(inline)]
    pub state: Option<CheckRunState>,
    /// The maximum number; 100 by default, at most 10,000.
    pub limit: Option<usize>,
}

impl Client {
    pub fn check_runs(&self, query: &CheckRunQuery) -> ApiCall<'_, CheckRuns> {
        self.get(RequestPath::query(CHECKS, query))
    }

    /// Starts checks. Most of the returned runs are still pending.
    pub fn run_checks(&self, request: &NewCheckRun) -> ApiCall<'_, CheckRuns> {
        self.post(CHECKS, request)
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
