//! Calls about policies.

use super::query::{Meant, Query};
use super::{Client, ClientError};
use crate::{PolicyShown, PolicyVerdict};

impl Client {
    /// Returns the verdict of the project's policy for a pull request.
    pub async fn policy_verdict(&self, pull: Meant<'_>) -> Result<PolicyVerdict, ClientError> {
        self.get(pull.at("/api/pulls", "/policy").path()).await
    }

    /// Returns the policy of a project; by default of the only one.
    pub async fn policy(&self, project: Option<&str>) -> Result<PolicyShown, ClientError> {
        self.get(Query::new("/api/policy").with("project", project).path()).await
    }
}
