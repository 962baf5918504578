//! Calls about issues.

use super::query::{Meant, Query};
use super::{Client, ClientError};
use crate::{ImportOrder, Imported, Issue, IssueEdit, Issues, NewIssue, NewIssueComment};

const ISSUES: &str = "/api/issues";

/// A filter for issues. Absent fields match everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssuesWanted {
    pub project: Option<String>,
    /// `open` (the default), `closed` or `all`.
    pub state: Option<String>,
    /// Labels that all must be present, separated by commas.
    pub label: Option<String>,
    pub assignee: Option<String>,
    /// Text to search in the title and the body.
    pub text: Option<String>,
    pub limit: Option<usize>,
}

impl IssuesWanted {
    /// Returns the URL path of the list, for callers that want the raw response.
    pub fn path(&self) -> String {
        let query = Query::new(ISSUES)
            .with("project", self.project.as_ref())
            .with("state", self.state.as_ref())
            .with("label", self.label.as_ref())
            .with("assignee", self.assignee.as_ref())
            .with("text", self.text.as_ref())
            .with("limit", self.limit);
        query.path().to_owned()
    }
}

impl Client {
    pub async fn issues(&self, wanted: &IssuesWanted) -> Result<Issues, ClientError> {
        self.get(&wanted.path()).await
    }

    pub async fn add_issue(&self, new: &NewIssue) -> Result<Issue, ClientError> {
        self.post(ISSUES, new).await
    }

    pub async fn issue(&self, issue: impl Into<Meant<'_>>) -> Result<Issue, ClientError> {
        self.get(issue.into().at(ISSUES, "").path()).await
    }

    pub async fn edit_issue(
        &self,
        issue: impl Into<Meant<'_>>,
        edit: &IssueEdit,
    ) -> Result<Issue, ClientError> {
        self.patch(issue.into().at(ISSUES, "").path(), edit).await
    }

    pub async fn comment_on_issue(
        &self,
        issue: impl Into<Meant<'_>>,
        comment: &NewIssueComment,
    ) -> Result<Issue, ClientError> {
        self.post(issue.into().at(ISSUES, "/comments").path(), comment).await
    }

    pub async fn import_issues(&self, order: &ImportOrder) -> Result<Imported, ClientError> {
        self.post(&format!("{ISSUES}/import"), order).await
    }
}
