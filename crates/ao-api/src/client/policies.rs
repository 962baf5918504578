//! Calls about policies.

use super::query::{Meant, Query};
use super::{Client, ClientError};
use crate::{PolicyShown, PolicyVerdict};

impl Client {
    /// What the policy of its project says of a pull request.
    pub async fn policy_verdict(&self, pull: Meant<'_>) -> Result<PolicyVerdict, ClientError> {
        self.get(pull.at("/api/pulls", "/policy").path()).await
    }

    /// The policy of a project; of the only one, if none is named.
    pub async fn policy(&self, project: Option<&str>) -> Result<PolicyShown, ClientError> {
        self.get(Query::new("/api/policy").with("project", project).path()).await
    }
}
