//! Storage of pull requests: in the daemon's records, and open ones in memory too, so that reading them needs neither
//! a process nor a wait.
//!
//! ```text
//!  {project}/counter                      the number of the next one
//!  {project}/open/0000000007              open pull requests
//!  {project}/done/9999999992              merged and closed ones, the newest first
//!  {project}/threads/0000000007/000001    review threads
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use ao_core::ProjectId;
use ao_ports::{RecordChange, Records, StoreError};
use serde::de::DeserializeOwned;
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::JoinHandle;

use super::LocalError;
use super::record::{PullRecord, ThreadRecord};
use super::repository::BranchRefs;

const SHELF: &str = "pulls";

/// Number of records per page.
const PAGE: usize = 500;

/// Number of merged and closed pull requests that count as recent.
const NEW: usize = 100;

/// Numbers have ten digits in keys; those of done pull requests count down from here, because the newest are read
/// first.
const LAST: u64 = 9_999_999_999;

/// A pull request with its threads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PullEntry {
    pub(super) pull: PullRecord,
    pub(super) threads: BTreeMap<u32, ThreadRecord>,
}

/// The exclusive right to change something, with the state that only writers need.
#[derive(Debug, Default)]
pub(super) struct WriteAccess {
    pub(super) next: u64,
    /// The refs as of the last look.
    pub(super) refs: Option<BranchRefs>,
    /// The refs as of the look before that.
    pub(super) earlier: Option<BranchRefs>,
    /// The write in progress, which continues even if the caller that started it is dropped.
    saving: Option<JoinHandle<Result<u64, StoreError>>>,
}

pub(super) struct PullRecords {
    project: ProjectId,
    records: Arc<dyn Records>,
    /// One writer at a time. Readers do not wait for it.
    writing: Mutex<WriteAccess>,
    /// Locked only to copy or replace an entry.
    open: Arc<RwLock<BTreeMap<u64, Arc<PullEntry>>>>,
}

impl PullRecords {
    /// Returns the daemon's records, for data that is stored beside pull requests.
    pub(super) fn records(&self) -> &dyn Records {
        &*self.records
    }

    pub(super) async fn load(
        project: ProjectId,
        records: Arc<dyn Records>,
    ) -> Result<PullRecords, LocalError> {
        let pulls = PullRecords { project, records, writing: Mutex::default(), open: Arc::default() };
        let next = match pulls.records.get(SHELF, &pulls.key("counter")).await? {
            Some(text) => read(&pulls.key("counter"), &text)?,
            None => 1,
        };
        pulls.writing.lock().await.next = next;
        let prefix = pulls.key("open/");
        let mut after: Option<String> = None;
        loop {
            let page = pulls.records.list(SHELF, &prefix, after.as_deref(), PAGE).await?;
            for (key, text) in &page {
                let pull: PullRecord = read(key, text)?;
                let entry = pulls.with_threads(pull).await?;
                pulls.open.write().expect(QUIET).insert(entry.pull.number, Arc::new(entry));
            }
            if page.len() < PAGE {
                return Ok(pulls);
            }
            after = page.last().map(|(key, _)| key.clone());
        }
    }

    /// Waits for the right to change something.
    pub(super) async fn writing(&self) -> MutexGuard<'_, WriteAccess> {
        let mut writing = self.writing.lock().await;
        // The caller of the previous write has gone, so its result is of no interest.
        written(&mut writing).await.ok();
        writing
    }

    /// Returns all open ones, the oldest first.
    pub(super) fn open(&self) -> Vec<Arc<PullEntry>> {
        self.open.read().expect(QUIET).values().cloned().collect()
    }

    /// Returns the current state of one, if it is open.
    pub(super) fn open_one(&self, number: u64) -> Option<Arc<PullEntry>> {
        self.open.read().expect(QUIET).get(&number).cloned()
    }

    pub(super) async fn find(&self, number: u64) -> Result<Option<Arc<PullEntry>>, LocalError> {
        let open = self.open_one(number);
        if open.is_some() {
            return Ok(open);
        }
        let key = self.done_key(number);
        match self.records.get(SHELF, &key).await? {
            Some(text) => Ok(Some(Arc::new(self.with_threads(read(&key, &text)?).await?))),
            None => Ok(None),
        }
    }

    /// Returns the newest done ones that match, without their threads.
    pub(super) async fn done(
        &self,
        limit: usize,
        wanted: impl Fn(&PullRecord) -> bool,
    ) -> Result<Vec<PullRecord>, LocalError> {
        let prefix = self.key("done/");
        let (mut found, mut after) = (vec![], None::<String>);
        while found.len() < limit {
            let page = self.records.list(SHELF, &prefix, after.as_deref(), PAGE.min(limit.max(50))).await?;
            for (key, text) in &page {
                let pull: PullRecord = read(key, text)?;
                if wanted(&pull) && found.len() < limit {
                    found.push(pull);
                }
            }
            match page.last() {
                Some((key, _)) => after = Some(key.clone()),
                None => break,
            }
        }
        Ok(found)
    }

    /// Returns the newest recent one that is done and matches.
    pub(super) async fn newly_done(
        &self,
        wanted: impl Fn(&PullRecord) -> bool,
    ) -> Result<Option<PullRecord>, LocalError> {
        for (key, text) in self.records.list(SHELF, &self.key("done/"), None, NEW).await? {
            let pull: PullRecord = read(&key, &text)?;
            if wanted(&pull) {
                return Ok(Some(pull));
            }
        }
        Ok(None)
    }

    /// Saves entries, all or none. Records and memory agree even if the caller is dropped meanwhile.
    pub(super) async fn save(
        &self,
        writing: &mut WriteAccess,
        entries: Vec<PullEntry>,
    ) -> Result<(), LocalError> {
        let mut changes = vec![];
        let mut next = writing.next;
        for entry in &entries {
            let number = entry.pull.number;
            let (open, done) = (self.open_key(number), self.done_key(number));
            let (here, not_here) = if entry.pull.is_open() { (open, done) } else { (done, open) };
            changes.push(RecordChange::put(SHELF, here, text(&entry.pull)));
            changes.push(RecordChange::remove(SHELF, not_here));
            let known = self.open_one(number);
            for (thread, record) in &entry.threads {
                if known.as_ref().and_then(|known| known.threads.get(thread)) != Some(record) {
                    let key = format!("{}{thread:06}", self.threads_key(number));
                    changes.push(RecordChange::put(SHELF, key, text(record)));
                }
            }
            next = next.max(number + 1);
        }
        if next != writing.next {
            changes.push(RecordChange::put(SHELF, self.key("counter"), text(&next)));
        }
        let (records, open) = (self.records.clone(), self.open.clone());
        writing.saving = Some(tokio::spawn(async move {
            records.change(changes).await?;
            let mut open = open.write().expect(QUIET);
            for entry in entries {
                match entry.pull.is_open() {
                    true => open.insert(entry.pull.number, Arc::new(entry)),
                    false => open.remove(&entry.pull.number),
                };
            }
            Ok(next)
        }));
        written(writing).await
    }

    async fn with_threads(&self, pull: PullRecord) -> Result<PullEntry, LocalError> {
        let mut threads = BTreeMap::new();
        if pull.threads > 0 {
            let prefix = self.threads_key(pull.number);
            for (key, text) in self.records.list(SHELF, &prefix, None, usize::MAX >> 1).await? {
                let thread: ThreadRecord = read(&key, &text)?;
                threads.insert(thread.number, thread);
            }
        }
        Ok(PullEntry { pull, threads })
    }

    fn key(&self, rest: &str) -> String {
        format!("{}/{rest}", self.project)
    }

    fn open_key(&self, number: u64) -> String {
        self.key(&format!("open/{number:010}"))
    }

    fn done_key(&self, number: u64) -> String {
        self.key(&format!("done/{:010}", LAST.saturating_sub(number)))
    }

    fn threads_key(&self, number: u64) -> String {
        self.key(&format!("threads/{number:010}/"))
    }
}

/// Waits for the write in progress.
async fn written(writing: &mut WriteAccess) -> Result<(), LocalError> {
    let Some(saving) = &mut writing.saving else { return Ok(()) };
    let saved = saving.await;
    writing.saving = None;
    // The task ends on its own, at shutdown, or by a panic, which is passed on to the caller.
    writing.next = saved.map_err(|err| match err.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(err) => StoreError::Failed { path: "records".to_owned(), detail: err.to_string() },
    })??;
    Ok(())
}

/// Reason why the lock is never poisoned.
const QUIET: &str = "no panic while an entry is read or replaced";

fn read<T: DeserializeOwned>(key: &str, text: &str) -> Result<T, LocalError> {
    serde_json::from_str(text).map_err(|err| LocalError::Unreadable { key: key.to_owned(), err })
}

fn text(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("records are plain data with text keys")
}
