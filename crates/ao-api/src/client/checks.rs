//! Calls about checks.

use super::query::{Meant, Query};
use super::{Client, ClientError};
use crate::{CheckLog, CheckRun, CheckRuns, CheckWish, Checks, Flakes, segment};

const CHECKS: &str = "/api/checks";

/// A filter for runs. Absent fields match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunsWanted {
    pub project: Option<String>,
    pub pull: Option<String>,
    /// The name of the check.
    pub check: Option<String>,
    pub state: Option<String>,
    pub limit: Option<usize>,
}

impl RunsWanted {
    /// Returns the URL path of the list, for callers that want the raw response.
    pub fn path(&self) -> String {
        let query = Query::new(CHECKS)
            .with("project", self.project.as_ref())
            .with("pull", self.pull.as_ref())
            .with("check", self.check.as_ref())
            .with("state", self.state.as_ref())
            .with("limit", self.limit);
        query.path().to_owned()
    }
}

impl Client {
    pub async fn check_runs(&self, wanted: &RunsWanted) -> Result<CheckRuns, ClientError> {
        self.get(&wanted.path()).await
    }

    /// Runs checks. Most of the returned runs have not ended yet.
    pub async fn run_checks(&self, wish: &CheckWish) -> Result<CheckRuns, ClientError> {
        self.post(CHECKS, wish).await
    }

    pub async fn check_run(&self, run: impl Into<Meant<'_>>) -> Result<CheckRun, ClientError> {
        self.get(run.into().at(CHECKS, "").path()).await
    }

    /// Returns a part of the output of a run. With `wait`, the response may be empty after a while if there is no
    /// output.
    pub async fn check_log(
        &self,
        run: impl Into<Meant<'_>>,
        from: u64,
        limit: Option<u32>,
        wait: bool,
    ) -> Result<CheckLog, ClientError> {
        let query = run.into().at(CHECKS, "/log").with("from", Some(from)).with("limit", limit);
        self.get(query.with("wait", wait.then_some(true)).path()).await
    }

    /// Returns the flaky failures of a project's checks.
    pub async fn flakes(&self, project: &str) -> Result<Flakes, ClientError> {
        self.get(&format!("/api/projects/{}/flakes", segment(project))).await
    }

    /// Returns the checks of a project, configured or proposed.
    pub async fn project_checks(&self, project: &str) -> Result<Checks, ClientError> {
        self.get(&format!("/api/projects/{}/checks", segment(project))).await
    }
}
