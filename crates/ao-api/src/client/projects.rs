//! Calls about projects: their checks, conflicts, plan and repository.

use serde_json::json;

use super::path::RequestPath;
use super::{ApiCall, Client};
use crate::{
    AdviceList, Budgets, Checks, ConfirmedChanges, Conflict, Conflicts, Flakes, Plan, Project, Projects,
    RepositoryTrust, segment,
};

const PROJECTS: &str = "/api/projects";

fn path(project: &str, rest: &str) -> String {
    format!("{PROJECTS}/{}{rest}", segment(project))
}

impl Client {
    pub fn projects(&self) -> ApiCall<'_, Projects> {
        self.get(PROJECTS)
    }

    /// Starts no more sessions of a project automatically.
    pub fn stop_work(&self, project: &str) -> ApiCall<'_, Project> {
        self.post(path(project, "/stop"), &json!({}))
    }

    /// Starts sessions of a project automatically again.
    pub fn start_work(&self, project: &str) -> ApiCall<'_, Project> {
        self.post(path(project, "/start"), &json!({}))
    }

    /// Returns the changes to a project's repository that wait for a person to confirm them.
    pub fn repository_trust(&self, project: &str) -> ApiCall<'_, RepositoryTrust> {
        self.get(path(project, "/trust"))
    }

    /// Trusts the repository of a project as it is now.
    pub fn trust_project(&self, project: &str) -> ApiCall<'_, ConfirmedChanges> {
        self.post(path(project, "/trust"), &json!({}))
    }

    /// Forgets a project together with the file that names it.
    pub fn forget_project(&self, project: &str) -> ApiCall<'_, ()> {
        self.delete(path(project, ""))
    }

    /// Lists the flaky failures of a project's checks.
    pub fn flakes(&self, project: &str) -> ApiCall<'_, Flakes> {
        self.get(path(project, "/flakes"))
    }

    /// Lists the checks of a project, configured or proposed.
    pub fn project_checks(&self, project: &str) -> ApiCall<'_, Checks> {
        self.get(path(project, "/checks"))
    }

    /// Lists the branches of a project that will not merge with each other.
    pub fn conflicts(&self, project: &str) -> ApiCall<'_, Conflicts> {
        self.get(path(project, "/conflicts"))
    }

    /// Returns the conflict of two branches, with both versions.
    pub fn conflict(&self, project: &str, a: &str, b: &str) -> ApiCall<'_, Conflict> {
        self.get(RequestPath::new(path(project, "/conflicts/between")).with("a", Some(a)).with("b", Some(b)))
    }

    /// Returns the order in which tasks will start.
    pub fn plan(&self, project: Option<&str>) -> ApiCall<'_, Plan> {
        self.get(RequestPath::new("/api/plan").with("project", project))
    }

    pub fn advice(&self, project: Option<&str>) -> ApiCall<'_, AdviceList> {
        self.get(RequestPath::new("/api/advice").with("project", project))
    }

    pub fn budgets(&self) -> ApiCall<'_, Budgets> {
        self.get("/api/budgets")
    }
}
