//! Calls about branches that conflict with each other.

use super::query::Query;
use super::{Client, ClientError};
use crate::{Conflict, Conflicts, segment};

impl Client {
    /// Returns the branches of a project that conflict with each other.
    pub async fn conflicts(&self, project: &str) -> Result<Conflicts, ClientError> {
        self.get(&format!("/api/projects/{}/conflicts", segment(project))).await
    }

    /// Returns the conflicts of two branches, with both versions.
    pub async fn conflict(&self, project: &str, a: &str, b: &str) -> Result<Conflict, ClientError> {
        let path = format!("/api/projects/{}/conflicts/between", segment(project));
        self.get(Query::new(path).with("a", Some(a)).with("b", Some(b)).path()).await
    }
}
