//! Calls about branches that will not merge with each other.

use super::query::Query;
use super::{Client, ClientError};
use crate::{Conflict, Conflicts, segment};

impl Client {
    /// Which branches of a project will not merge with each other.
    pub async fn conflicts(&self, project: &str) -> Result<Conflicts, ClientError> {
        self.get(&format!("/api/projects/{}/conflicts", segment(project))).await
    }

    /// What two of them do not agree on, with both versions.
    pub async fn conflict(&self, project: &str, a: &str, b: &str) -> Result<Conflict, ClientError> {
        let path = format!("/api/projects/{}/conflicts/between", segment(project));
        self.get(Query::new(path).with("a", Some(a)).with("b", Some(b)).path()).await
    }
}
