//! Issues as documents of the daemon.
//!
//! ```text
//!  {project}/counter                       the last number, and when something changed last
//!  {project}/open/0000000012               an issue; the list of open ones is all that begins so
//!  {project}/closed/0000000011             an issue that nobody reads until it is asked for
//!  {project}/changed/{when}/0000000012     in the order of changes; says only whether it is closed
//!  {project}/comment/0000000012/0000000001 apart, so that lists stay cheap
//!  {project}/key/{mark}                    the number that was made with it
//! ```
//!
//! Every change is one transaction with all of these in it.

use std::collections::BTreeSet;
use std::sync::Arc;

use ao_core::{ProjectId, Timestamp};
use ao_ports::{Clock, RecordChange, Records, StoreError, TrackerError};
use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::issue::{Issue, IssueComment};
use super::storage::{IssueMatcher, IssueStorage};

const SHELF: &str = "issues";

/// Documents per query.
const BATCH: usize = 500;

pub(super) struct RecordStorage {
    /// The project's name with the slash behind it.
    prefix: String,
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct IssueCounter {
    last: u64,
    /// Changes are ordered even if the clock runs backwards: a query for changes since a time must not miss any.
    changed: i64,
}

/// An issue as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct IssueDoc {
    #[serde(flatten)]
    issue: Issue,
    /// Its position in the order of changes: `updated`, or later, when one that it waits for was closed.
    touched: Timestamp,
}

impl RecordStorage {
    pub(super) fn new(
        project: &ProjectId,
        records: Arc<dyn Records>,
        clock: Arc<dyn Clock>,
    ) -> RecordStorage {
        RecordStorage { prefix: format!("{}/", escaped(project.as_str())), records, clock }
    }

    async fn doc(&self, number: u64) -> Result<Option<IssueDoc>, TrackerError> {
        // It may move from one key to the other between two reads.
        for closed in [false, true, false] {
            if let Some(doc) = self.read(&self.issue_key(number, closed)).await? {
                return Ok(Some(doc));
            }
        }
        Ok(None)
    }

    async fn read<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, TrackerError> {
        match self.records.get(SHELF, key).await.map_err(failed)? {
            Some(body) => parsed(key, &body).map(Some),
            None => Ok(None),
        }
    }

    /// Returns all documents whose keys have this prefix, each with the rest of its key.
    async fn all<T: DeserializeOwned>(&self, under: &str) -> Result<Vec<(String, T)>, TrackerError> {
        let prefix = format!("{}{under}", self.prefix);
        let (mut found, mut after) = (Vec::new(), None::<String>);
        loop {
            let batch = self.records.list(SHELF, &prefix, after.as_deref(), BATCH).await.map_err(failed)?;
            let full = batch.len() == BATCH;
            after = batch.last().map(|(key, _)| key.clone());
            for (key, body) in batch {
                found.push((key[prefix.len()..].to_owned(), parsed(&key, &body)?));
            }
            if !full {
                return Ok(found);
            }
        }
    }

    async fn counter(&self) -> Result<(IssueCounter, Timestamp), TrackerError> {
        let counter: IssueCounter = self.read(&self.key("counter")).await?.unwrap_or_default();
        let now = self.clock.now().max(Timestamp(counter.changed));
        Ok((counter, now))
    }

    /// Replaces a document, together with its entry in the order of changes.
    fn put(&self, changes: &mut Vec<RecordChange>, was: Option<&IssueDoc>, is: &IssueDoc) {
        let key = |issue: &Issue| self.issue_key(issue.number, issue.closed);
        if let Some(was) = was {
            changes.push(RecordChange::remove(SHELF, self.changed_key(was)));
            if was.issue.closed != is.issue.closed {
                changes.push(RecordChange::remove(SHELF, key(&was.issue)));
            }
        }
        changes.push(put(key(&is.issue), is));
        changes.push(put(self.changed_key(is), &is.issue.closed));
    }

    async fn change(&self, changes: Vec<RecordChange>) -> Result<(), TrackerError> {
        self.records.change(changes).await.map_err(failed)
    }

    fn key(&self, rest: &str) -> String {
        format!("{}{rest}", self.prefix)
    }

    fn issue_key(&self, number: u64, closed: bool) -> String {
        format!("{}{}/{number:010}", self.prefix, if closed { "closed" } else { "open" })
    }

    fn changed_key(&self, doc: &IssueDoc) -> String {
        format!("{}changed/{:020}/{:010}", self.prefix, doc.touched.0.max(0), doc.issue.number)
    }
}

#[async_trait]
impl IssueStorage for RecordStorage {
    async fn get(&self, number: u64) -> Result<Option<Issue>, TrackerError> {
        Ok(self.doc(number).await?.map(|doc| doc.issue))
    }

    async fn open(&self) -> Result<Vec<Issue>, TrackerError> {
        let docs = self.all::<IssueDoc>("open/").await?;
        Ok(docs.into_iter().map(|(_, doc)| doc.issue).collect())
    }

    async fn closed(&self, wanted: &IssueMatcher, limit: usize) -> Result<Vec<Issue>, TrackerError> {
        let mut found = Vec::new();
        if limit == 0 {
            return Ok(found);
        }
        // The order of changes is small; only as many issues are read as needed.
        for (place, closed) in self.all::<bool>("changed/").await?.into_iter().rev() {
            let Some(number) = number_of(&place).filter(|_| closed) else { continue };
            let doc: Option<IssueDoc> = self.read(&self.issue_key(number, true)).await?;
            let Some(issue) = doc.map(|doc| doc.issue).filter(|issue| wanted.fits(issue)) else { continue };
            found.push(issue);
            if found.len() == limit {
                break;
            }
        }
        Ok(found)
    }

    async fn changed(
        &self,
        since: Timestamp,
        page: Option<&str>,
        limit: usize,
    ) -> Result<(Vec<Issue>, Option<String>), TrackerError> {
        let prefix = self.key("changed/");
        let since = format!("{prefix}{:020}/", since.0.max(0));
        let after = page.map_or(since.clone(), |page| format!("{prefix}{page}").max(since));
        let places = self.records.list(SHELF, &prefix, Some(&after), limit).await.map_err(failed)?;
        let next =
            places.last().filter(|_| places.len() == limit).map(|(key, _)| key[prefix.len()..].to_owned());
        let mut issues = Vec::new();
        for (key, _) in &places {
            if let Some(number) = number_of(key) {
                issues.extend(self.get(number).await?);
            }
        }
        Ok((issues, next))
    }

    async fn still_open(&self, numbers: &BTreeSet<u64>) -> Result<BTreeSet<u64>, TrackerError> {
        let mut open = BTreeSet::new();
        for number in numbers {
            if self.records.get(SHELF, &self.issue_key(*number, false)).await.map_err(failed)?.is_some() {
                open.insert(*number);
            }
        }
        Ok(open)
    }

    async fn find(&self, key: &str) -> Result<Option<u64>, TrackerError> {
        self.read(&self.key(&format!("key/{key}"))).await
    }

    async fn keys(&self) -> Result<Vec<(String, u64)>, TrackerError> {
        self.all("key/").await
    }

    async fn add(&self, issue: Issue) -> Result<u64, TrackerError> {
        let (counter, now) = self.counter().await?;
        let number = counter.last + 1;
        let doc = IssueDoc { touched: now, issue: Issue { number, updated: now, ..issue } };
        let mut changes = vec![put(self.key("counter"), &IssueCounter { last: number, changed: now.0 })];
        self.put(&mut changes, None, &doc);
        if let Some(key) = &doc.issue.key {
            changes.push(put(self.key(&format!("key/{key}")), &number));
        }
        self.change(changes).await?;
        Ok(number)
    }

    async fn save(&self, was: &Issue, is: &Issue, waiting: &[Issue]) -> Result<(), TrackerError> {
        let (counter, now) = self.counter().await?;
        let Some(old) = self.doc(was.number).await? else {
            return Err(TrackerError::not_found(format!("issue #{}", was.number)));
        };
        let mut changes = vec![put(self.key("counter"), &IssueCounter { changed: now.0, ..counter })];
        let new = IssueDoc { touched: now, issue: Issue { updated: now, ..is.clone() } };
        self.put(&mut changes, Some(&old), &new);
        for issue in waiting {
            if let Some(old) = self.doc(issue.number).await? {
                self.put(&mut changes, Some(&old), &IssueDoc { touched: now, ..old.clone() });
            }
        }
        self.change(changes).await
    }

    async fn comments(&self, number: u64) -> Result<Vec<IssueComment>, TrackerError> {
        let docs = self.all(&format!("comment/{number:010}/")).await?;
        Ok(docs.into_iter().map(|(_, comment)| comment).collect())
    }

    async fn comment(&self, issue: &Issue, comment: IssueComment) -> Result<(), TrackerError> {
        let (counter, now) = self.counter().await?;
        let Some(old) = self.doc(issue.number).await? else {
            return Err(TrackerError::not_found(format!("issue #{}", issue.number)));
        };
        let under = format!("comment/{:010}/", issue.number);
        let last = self.all::<IssueComment>(&under).await?.last().map_or(Some(0), |(n, _)| n.parse().ok());
        let next = last.map_or(u64::MAX, |last: u64| last + 1);
        let mut changes = vec![
            put(self.key("counter"), &IssueCounter { changed: now.0, ..counter }),
            put(self.key(&format!("{under}{next:010}")), &IssueComment { at: now, ..comment }),
        ];
        let issue = Issue { updated: now, ..old.issue.clone() };
        self.put(&mut changes, Some(&old), &IssueDoc { touched: now, issue });
        self.change(changes).await
    }
}

/// Escapes a project's name as one part of a key.
pub(super) fn escaped(project: &str) -> String {
    project.replace('%', "%25").replace('/', "%2F")
}

fn number_of(place: &str) -> Option<u64> {
    place.rsplit_once('/')?.1.parse().ok()
}

fn put(key: String, body: &impl Serialize) -> RecordChange {
    RecordChange::put(SHELF, key, serde_json::to_string(body).expect("plain data can be written as JSON"))
}

fn parsed<T: DeserializeOwned>(key: &str, body: &str) -> Result<T, TrackerError> {
    serde_json::from_str(body).map_err(|err| {
        TrackerError::Failed(format!(
            "the document `{key}` of `{SHELF}` cannot be read: {err}; restore a backup"
        ))
    })
}

pub(super) fn failed(err: StoreError) -> TrackerError {
    TrackerError::Failed(err.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_projects_keys_begin_with_those_of_another() {
        assert_eq!(escaped("my-app"), "my-app");
        assert_eq!(escaped("a/open"), "a%2Fopen");
        assert_eq!(escaped("a%2Fopen"), "a%252Fopen");
    }
}
