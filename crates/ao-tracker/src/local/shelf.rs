//! What both ways of keeping issues can do. What an issue may look like, and who waits for whom, is decided above.

use std::collections::BTreeSet;

use ao_core::Timestamp;
use ao_ports::{TaskFilter, TrackerError};
use async_trait::async_trait;

use super::issue::{Comment, Issue};

/// Where the issues of one project are. Whoever changes something holds the tracker's turn.
#[async_trait]
pub(super) trait Shelf: Send + Sync {
    async fn get(&self, number: u64) -> Result<Option<Issue>, TrackerError>;

    /// All that are open, in no order.
    async fn open(&self) -> Result<Vec<Issue>, TrackerError>;

    /// Those closed ones that are wanted, at most `limit`, those that changed last, in no order.
    async fn closed(&self, wanted: &Wanted, limit: usize) -> Result<Vec<Issue>, TrackerError>;

    /// Those that changed at that time or later, or for whom somebody did whom they wait for; oldest change first. With
    /// where to go on, if there are more than `limit`.
    async fn changed(
        &self,
        since: Timestamp,
        page: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Issue>, Option<String>), TrackerError>;

    /// Which of these are not closed yet.
    async fn still_open(&self, numbers: &BTreeSet<u64>) -> Result<BTreeSet<u64>, TrackerError>;

    async fn find(&self, key: &str) -> Result<Option<u64>, TrackerError>;

    /// The keys that issues were made with, each with the number of its issue, in no order.
    async fn keys(&self) -> Result<Vec<(String, u64)>, TrackerError>;

    /// Makes one. The number that it has already is not looked at; the one that it gets is returned.
    async fn add(&self, issue: Issue) -> Result<u64, TrackerError>;

    /// Makes of an issue what it is to be. `waiting` are open ones that this is news for.
    async fn save(&self, was: &Issue, is: &Issue, waiting: &[Issue]) -> Result<(), TrackerError>;

    /// Oldest first.
    async fn comments(&self, number: u64) -> Result<Vec<Comment>, TrackerError>;

    async fn comment(&self, issue: &Issue, comment: Comment) -> Result<(), TrackerError>;
}

/// A filter, ready to be held against many issues.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    labels: BTreeSet<String>,
    assignee: Option<String>,
    words: Vec<String>,
}

impl Wanted {
    pub(super) fn new(filter: &TaskFilter) -> Wanted {
        Wanted {
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
