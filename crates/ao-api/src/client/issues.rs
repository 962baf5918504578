//! Calls about issues.

use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::path::{ItemName, RequestPath};
use super::{ApiCall, Client};
use crate::{ImportOrder, Imported, Issue, IssueEdit, IssueStateFilter, Issues, NewIssue, NewIssueComment};

const ISSUES: &str = "/api/issues";

/// The issues to list. Absent fields do not restrict the list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct IssueQuery {
    /// Only those of this project.
    pub project: Option<String>,
    /// By default `open`.
    #[param(inline)]
    pub state: Option<IssueStateFilter>,
    /// Only those with all of these labels, separated by commas.
    pub label: Option<String>,
    pub assignee: Option<String>,
    /// Only those with this text in title or body.
    pub text: Option<String>,
    /// The maximum number; 100 by default, at most 10,000.
    pub limit: Option<usize>,
}

impl Client {
    pub fn issues(&self, query: &IssueQuery) -> ApiCall<'_, Issues> {
        self.get(RequestPath::query(ISSUES, query))
    }

    pub fn add_issue(&self, new: &NewIssue) -> ApiCall<'_, Issue> {
        self.post(ISSUES, new)
    }

    pub fn issue(&self, issue: &ItemName) -> ApiCall<'_, Issue> {
        self.get(issue.path(ISSUES, ""))
    }

    pub fn edit_issue(&self, issue: &ItemName, edit: &IssueEdit) -> ApiCall<'_, Issue> {
        self.patch(issue.path(ISSUES, ""), edit)
    }

    pub fn comment_on_issue(&self, issue: &ItemName, comment: &NewIssueComment) -> ApiCall<'_, Issue> {
        self.post(issue.path(ISSUES, "/comments"), comment)
    }

    pub fn import_issues(&self, order: &ImportOrder) -> ApiCall<'_, Imported> {
        self.post(format!("{ISSUES}/import"), order)
    }
}
