//! The interface of both ways to store issues. Validation happens above it.

use std::collections::BTreeSet;

use ao_core::Timestamp;
use ao_ports::{TaskFilter, TrackerError};
use async_trait::async_trait;

use super::issue::{Issue, IssueComment};

/// The storage of one project's issues. A caller that changes something holds the tracker's turn.
#[async_trait]
pub(super) trait IssueStorage: Send + Sync {
    async fn get(&self, number: u64) -> Result<Option<Issue>, TrackerError>;

    /// Returns all open issues, in no order.
    async fn open(&self) -> Result<Vec<Issue>, TrackerError>;

    /// Returns at most `limit` matching closed issues, those that changed last, in no order.
    async fn closed(&self, wanted: &IssueMatcher, limit: usize) -> Result<Vec<Issue>, TrackerError>;

    /// Returns the issues that changed at that time or later, or that wait for one that did; oldest change first. Also
    /// returns the next page, if there are more than `limit`.
    async fn changed(
        &self,
        since: Timestamp,
        page: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Issue>, Option<String>), TrackerError>;

    /// Returns those that are not closed yet.
    async fn still_open(&self, numbers: &BTreeSet<u64>) -> Result<BTreeSet<u64>, TrackerError>;

    async fn find(&self, key: &str) -> Result<Option<u64>, TrackerError>;

    /// Returns the keys that issues were created with, each with the number of its issue, in no order.
    async fn keys(&self) -> Result<Vec<(String, u64)>, TrackerError>;

    /// Creates an issue. Its `number` is ignored; the assigned number is returned.
    async fn add(&self, issue: Issue) -> Result<u64, TrackerError>;

    /// Replaces an issue. `waiting` are the open issues that it affects.
    async fn save(&self, was: &Issue, is: &Issue, waiting: &[Issue]) -> Result<(), TrackerError>;

    /// Returns the comments, oldest first.
    async fn comments(&self, number: u64) -> Result<Vec<IssueComment>, TrackerError>;

    async fn comment(&self, issue: &Issue, comment: IssueComment) -> Result<(), TrackerError>;
}

/// A filter, prepared to match many issues.
#[derive(Debug, Clone)]
pub(super) struct IssueMatcher {
    labels: BTreeSet<String>,
    assignee: Option<String>,
    words: Vec<String>,
}

impl IssueMatcher {
    pub(super) fn new(filter: &TaskFilter) -> IssueMatcher {
        IssueMatcher {
            labels: filter.labels.clone(),
            assignee: filter.assignee.clone(),
            words: filter
                .text
                .iter()
                .flat_map(|text| text.split_whitespace())
                .map(str::to_lowercase)
                .collect(),
        }
    }

    pub(super) fn fits(&self, issue: &Issue) -> bool {
        self.labels.is_subset(&issue.labels)
            && (self.assignee.is_none() || self.assignee == issue.assignee)
            && (self.words.is_empty() || {
                let (title, body) = (issue.title.to_lowercase(), issue.body.to_lowercase());
                self.words.iter().all(|word| title.contains(word) || body.contains(word))
            })
    }
}
