//! The stored runs, and the indexes to find them by.
//!
//! ```text
//!  run/<id>                 the run
//!  live/<id>                the run is not over; a new daemon finds here what the previous one left
//!  project/<project>/<no>   the runs of a project, newest first
//!  group/<group>/<no>       the runs of a pull request, or of a project's branches, newest first
//!  ask/<digest>             the newest run for this check, commit, pull request and list of pull requests ahead
//!  key/<digest>             the newest result for this tree, command and environment
//!  log/<execution>/<id>     the runs that share a log
//! ```

use std::sync::Arc;

use ao_core::ProjectId;
use ao_ports::{CheckRun, CheckSpec, RecordChange, Records, RunFilter, RunState, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::RunnerError;
use super::log::LogCut;
use super::options::CheckJob;

const SHELF: &str = "checks";
const PAGE: usize = 200;

/// A run with the data that is stored beside it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredRun {
    pub(super) run: CheckRun,
    /// Larger for newer ones.
    pub(super) order: u64,
    /// Digest of the tree, command and environment that the result is valid for.
    pub(super) key: String,
    /// Digest of the request.
    pub(super) ask: String,
    /// The execution whose log this run uses, if any.
    pub(super) execution: Option<String>,
    pub(super) shape: LogCut,
}

impl StoredRun {
    /// Returns true if the same tree and command would give the same result again.
    pub(super) fn is_result(&self) -> bool {
        matches!(self.run.state, RunState::Passed | RunState::Failed)
    }

    pub(super) fn group(&self) -> String {
        group(&self.run)
    }
}

/// Reads and writes runs in the daemon's records.
pub(super) struct RunRecords {
    records: Arc<dyn Records>,
}

impl RunRecords {
    pub(super) fn new(records: Arc<dyn Records>) -> RunRecords {
        RunRecords { records }
    }

    pub(super) async fn get(&self, id: &str) -> Result<Option<StoredRun>, RunnerError> {
        let Some(body) = self.records.get(SHELF, &format!("run/{id}")).await? else { return Ok(None) };
        let read = serde_json::from_str(&body);
        read.map(Some).map_err(|err| RunnerError::Unreadable { id: id.to_owned(), err })
    }

    /// Returns the newest run for the same request.
    pub(super) async fn by_ask(&self, ask: &str) -> Result<Option<StoredRun>, RunnerError> {
        self.pointed(&format!("ask/{ask}")).await
    }

    /// Returns the newest result for the same tree and command.
    pub(super) async fn by_key(&self, key: &str) -> Result<Option<StoredRun>, RunnerError> {
        self.pointed(&format!("key/{key}")).await
    }

    async fn pointed(&self, key: &str) -> Result<Option<StoredRun>, RunnerError> {
        match self.records.get(SHELF, key).await? {
            Some(body) => self.get(&pointer(&body)).await,
            None => Ok(None),
        }
    }

    /// Returns the ids of a project's runs, newest first, after a key that was returned with the previous page.
    pub(super) async fn page(
        &self,
        project: &str,
        filter: &RunFilter,
        after: Option<&str>,
    ) -> Result<Vec<(String, String)>, RunnerError> {
        let prefix = match &filter.pull {
            Some(pull) => format!("group/{pull}/"),
            None => format!("project/{project}/"),
        };
        let listed = self.records.list(SHELF, &prefix, after, PAGE).await?;
        Ok(listed.into_iter().map(|(key, body)| (key, pointer(&body))).collect())
    }

    /// Returns a page of the ids of a group's runs, newest first, after the first `skip`.
    pub(super) async fn group(&self, group: &str, skip: usize) -> Result<Vec<String>, RunnerError> {
        self.ids(&format!("group/{group}/"), skip).await
    }

    /// Returns the same for a project.
    pub(super) async fn of_project(
        &self,
        project: &ProjectId,
        skip: usize,
    ) -> Result<Vec<String>, RunnerError> {
        self.ids(&format!("project/{project}/"), skip).await
    }

    async fn ids(&self, prefix: &str, skip: usize) -> Result<Vec<String>, RunnerError> {
        let listed = self.records.list(SHELF, prefix, None, skip.saturating_add(PAGE)).await?;
        Ok(listed.into_iter().map(|(_, body)| pointer(&body)).collect())
    }

    /// Returns the ids of the runs that are not over.
    pub(super) async fn live(&self) -> Result<Vec<String>, RunnerError> {
        let listed = self.records.list(SHELF, "live/", None, usize::MAX >> 1).await?;
        Ok(listed.iter().filter_map(|(key, _)| key.strip_prefix("live/")).map(str::to_owned).collect())
    }

    /// Returns true if any run still uses the log of an execution.
    pub(super) async fn has_log(&self, execution: &str) -> Result<bool, RunnerError> {
        Ok(!self.records.list(SHELF, &format!("log/{execution}/"), None, 1).await?.is_empty())
    }

    /// Returns the changes that delete a run.
    pub(super) async fn forget(&self, stored: &StoredRun) -> Result<Vec<RecordChange>, RunnerError> {
        let id = &stored.run.id;
        let mut keys = vec![format!("run/{id}"), format!("live/{id}")];
        keys.extend(places(stored));
        keys.extend(stored.execution.iter().map(|execution| format!("log/{execution}/{id}")));
        for key in [format!("ask/{}", stored.ask), format!("key/{}", stored.key)] {
            // Keep a pointer that has moved on to a newer run.
            if self.records.get(SHELF, &key).await?.is_some_and(|body| pointer(&body) == *id) {
                keys.push(key);
            }
        }
        Ok(keys.into_iter().map(|key| RecordChange::remove(SHELF, key)).collect())
    }

    pub(super) async fn change(&self, changes: Vec<RecordChange>) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.records.change(changes).await
    }
}

/// Returns the changes that add a new run.
pub(super) fn enter(stored: &StoredRun) -> Vec<RecordChange> {
    let point = |key: String| RecordChange::put(SHELF, key, pointer_to(&stored.run.id));
    let mut changes = update(stored);
    changes.extend(places(stored).into_iter().map(point));
    changes.push(point(format!("ask/{}", stored.ask)));
    let log = stored.execution.iter().map(|execution| format!("log/{execution}/{}", stored.run.id));
    changes.extend(log.map(point));
    if !stored.run.state.is_over() {
        changes.push(point(format!("live/{}", stored.run.id)));
    }
    changes
}

/// Returns the changes that store the current state of a run.
pub(super) fn update(stored: &StoredRun) -> Vec<RecordChange> {
    let body = serde_json::to_string(stored).expect("text and numbers only");
    vec![RecordChange::put(SHELF, format!("run/{}", stored.run.id), body)]
}

/// Returns the changes that end a run.
pub(super) fn end(stored: &StoredRun) -> Vec<RecordChange> {
    let mut changes = update(stored);
    changes.push(RecordChange::remove(SHELF, format!("live/{}", stored.run.id)));
    if stored.is_result() && stored.run.same_as.is_none() {
        changes.push(RecordChange::put(SHELF, format!("key/{}", stored.key), pointer_to(&stored.run.id)));
    }
    changes
}

/// Returns the digest that a result is valid for. Leaves out values that are passed through, and secrets: they may
/// change without changing the meaning, and must not end up in a key. Includes the name of the check, because the
/// command can read it.
pub(super) fn key(job: &CheckJob, spec: &CheckSpec) -> String {
    let environment = serde_json::to_string(&spec.environment).expect("text only");
    let timeout = spec.timeout.as_millis().to_string();
    digest(&[job.project.as_str(), &job.tree, &spec.name, &spec.command, &timeout, &environment])
}

/// Returns the digest of a request: a check for a commit of a pull request, if it touches some paths. The paths
/// decide whether the check runs and not how it ends, so they are not part of the key. A speculative run is never the
/// pull request's own run, even for the same tree on the same base: it can be cancelled on its own.
pub(super) fn ask(job: &CheckJob, spec: &CheckSpec, key: &str) -> String {
    let paths = serde_json::to_string(&spec.paths).expect("text only");
    let pull = job.pull.as_ref().map(ToString::to_string).unwrap_or_default();
    let base = job.base.as_ref().map_or("", |base| base.as_str());
    let required = if spec.required { "required" } else { "" };
    let ahead: Vec<String> = job.ahead.iter().map(ToString::to_string).collect();
    let mut parts = vec![key, &pull, job.head.as_str(), base, required, &paths];
    parts.extend(ahead.iter().map(String::as_str));
    digest(&parts)
}

fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // With the length, so that no two lists of parts give the same digest.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize()[..16])
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn places(stored: &StoredRun) -> [String; 2] {
    // Keys sort in ascending order, and the newest run comes first.
    let number = !stored.order;
    [
        format!("project/{}/{number:016x}", stored.run.project),
        format!("group/{}/{number:016x}", stored.group()),
    ]
}

fn group(run: &CheckRun) -> String {
    run.pull.as_ref().map_or_else(|| format!("{}!", run.project), ToString::to_string)
}

fn pointer_to(id: &str) -> String {
    serde_json::to_string(id).expect("text only")
}

fn pointer(body: &str) -> String {
    serde_json::from_str(body).unwrap_or_default()
}
