//! Calls about issues.

use super::path::{ItemName, RequestPath};
use super::{ApiCall, Client};
use crate::{ImportOrder, Imported, Issue, IssueEdit, IssueStateFilter, Issues, NewIssue, NewIssueComment};

const ISSUES: &str = "/api/issues";

/// The issues to list. Absent fields do not restrict the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueQuery {
    pub project: Option<String>,
    /// By default `open`.
    pub state: Option<IssueStateFilter>,
    /// Labels separated by commas; an issue must have all of them.
    pub label: Option<String>,
    pub assignee: Option<String>,
    /// Text to search for in titles and bodies.
    pub text: Option<String>,
    pub limit: Option<usize>,
}

impl Client {
    pub fn issues(&self, query: &IssueQuery) -> ApiCall<'_, Issues> {
        let path = RequestPath::new(ISSUES)
            .with("project", query.project.as_ref())
            .with("state", query.state)
            .with("label", query.label.as_ref())
            .with("assignee", query.assignee.as_ref())
            .with("text", query.text.as_ref())
            .with("limit", query.limit);
        self.get(path)
    }

    pub fn add_issue(&self, new: &NewIssue) -> ApiCall<'_, Issue> {
        self.post(ISSUES, new)
    }

    pub fn issue<'a>(&self, issue: impl Into<ItemName<'a>>) -> ApiCall<'_, Issue> {
        self.get(issue.into().path(ISSUES, ""))
    }

    pub fn edit_issue<'a>(&self, issue: impl Into<ItemName<'a>>, edit: &IssueEdit) -> ApiCall<'_, Issue> {
        self.patch(issue.into().path(ISSUES, ""), edit)
    }

    pub fn comment_on_issue<'a>(
        &self,
        issue: impl Into<ItemName<'a>>,
        comment: &NewIssueComment,
    ) -> ApiCall<'_, Issue> {
        self.post(issue.into().path(ISSUES, "/comments"), comment)
    }

    pub fn import_issues(&self, order: &ImportOrder) -> ApiCall<'_, Imported> {
        self.post(format!("{ISSUES}/import"), order)
    }
}
