//! Runs as they are kept, and how they are found again.
//!
//! ```text
//!  run/<id>                 the run
//!  live/<id>                it is not over; a new daemon looks here for what the last one left
//!  project/<project>/<no>   the runs of a project, newest first
//!  group/<group>/<no>       those of a pull request, or of a project's branches, newest first
//!  ask/<digest>             the newest run for this check of this commit of this pull request, with the same ahead
//!  key/<digest>             the newest result for this tree, command and environment
//!  log/<execution>/<id>     the runs that share a log
//! ```

use std::sync::Arc;

use ao_core::ProjectId;
use ao_ports::{Change, CheckRun, CheckSpec, Records, RunFilter, RunState, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::RunnerError;
use super::log::Shape;
use super::options::Job;

const SHELF: &str = "checks";
const PAGE: usize = 200;

/// A run with what we have to know of it besides.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) run: CheckRun,
    /// Larger for newer ones.
    pub(super) order: u64,
    /// What its result speaks of.
    pub(super) key: String,
    /// What was asked for.
    pub(super) ask: String,
    /// Whose log it is, if there is one.
    pub(super) execution: Option<String>,
    pub(super) shape: Shape,
}

impl Stored {
    /// Whether the same tree and command would say the same again.
    pub(super) fn is_result(&self) -> bool {
        matches!(self.run.state, RunState::Passed | RunState::Failed)
    }

    pub(super) fn group(&self) -> String {
        group(&self.run)
    }
}

/// The shelf.
pub(super) struct Book {
    records: Arc<dyn Records>,
}

impl Book {
    pub(super) fn new(records: Arc<dyn Records>) -> Book {
        Book { records }
    }

    pub(super) async fn get(&self, id: &str) -> Result<Option<Stored>, RunnerError> {
        let Some(body) = self.records.get(SHELF, &format!("run/{id}")).await? else { return Ok(None) };
        let read = serde_json::from_str(&body);
        read.map(Some).map_err(|err| RunnerError::Unreadable { id: id.to_owned(), err })
    }

    /// The newest run that was asked for in the same words.
    pub(super) async fn by_ask(&self, ask: &str) -> Result<Option<Stored>, RunnerError> {
        self.pointed(&format!("ask/{ask}")).await
    }

    /// The newest result for the same tree and command.
    pub(super) async fn by_key(&self, key: &str) -> Result<Option<Stored>, RunnerError> {
        self.pointed(&format!("key/{key}")).await
    }

    async fn pointed(&self, key: &str) -> Result<Option<Stored>, RunnerError> {
        match self.records.get(SHELF, key).await? {
            Some(body) => self.get(&pointer(&body)).await,
            None => Ok(None),
        }
    }

    /// The ids of a project's runs, newest first, behind a key that was returned with the page before.
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

    /// The ids of the runs of a group, newest first, a page of them behind the first `skip`.
    pub(super) async fn group(&self, group: &str, skip: usize) -> Result<Vec<String>, RunnerError> {
        self.ids(&format!("group/{group}/"), skip).await
    }

    /// The same of a project.
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

    /// The ids of the runs that are not over.
    pub(super) async fn live(&self) -> Result<Vec<String>, RunnerError> {
        let listed = self.records.list(SHELF, "live/", None, usize::MAX >> 1).await?;
        Ok(listed.iter().filter_map(|(key, _)| key.strip_prefix("live/")).map(str::to_owned).collect())
    }

    /// Whether any run still has the log of an execution.
    pub(super) async fn has_log(&self, execution: &str) -> Result<bool, RunnerError> {
        Ok(!self.records.list(SHELF, &format!("log/{execution}/"), None, 1).await?.is_empty())
    }

    /// What has to change for a run to be forgotten.
    pub(super) async fn forget(&self, stored: &Stored) -> Result<Vec<Change>, RunnerError> {
        let id = &stored.run.id;
        let mut keys = vec![format!("run/{id}"), format!("live/{id}")];
        keys.extend(places(stored));
        keys.extend(stored.execution.iter().map(|execution| format!("log/{execution}/{id}")));
        for key in [format!("ask/{}", stored.ask), format!("key/{}", stored.key)] {
            // A newer one may stand there by now.
            if self.records.get(SHELF, &key).await?.is_some_and(|body| pointer(&body) == *id) {
                keys.push(key);
            }
        }
        Ok(keys.into_iter().map(|key| Change::remove(SHELF, key)).collect())
    }

    pub(super) async fn change(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        if changes.is_empty() {
            return Ok(());
        }
        self.records.change(changes).await
    }
}

/// What has to change for a new run to be known.
pub(super) fn enter(stored: &Stored) -> Vec<Change> {
    let point = |key: String| Change::put(SHELF, key, pointer_to(&stored.run.id));
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

/// What has to change for a run to stand where it stands now.
pub(super) fn update(stored: &Stored) -> Vec<Change> {
    let body = serde_json::to_string(stored).expect("text and numbers only");
    vec![Change::put(SHELF, format!("run/{}", stored.run.id), body)]
}

/// What has to change for a run to be over.
pub(super) fn end(stored: &Stored) -> Vec<Change> {
    let mut changes = update(stored);
    changes.push(Change::remove(SHELF, format!("live/{}", stored.run.id)));
    if stored.is_result() && stored.run.same_as.is_none() {
        changes.push(Change::put(SHELF, format!("key/{}", stored.key), pointer_to(&stored.run.id)));
    }
    changes
}

/// What a result speaks of. Not the values that are passed on and not the secrets: those may change and mean the same, and
/// have no place in a key. The name is a part of it, because a command can ask for it.
pub(super) fn key(job: &Job, spec: &CheckSpec) -> String {
    let environment = serde_json::to_string(&spec.environment).expect("text only");
    let timeout = spec.timeout.as_millis().to_string();
    digest(&[job.project.as_str(), &job.tree, &spec.name, &spec.command, &timeout, &environment])
}

/// What was asked for: a result, for a commit of a pull request, if it touches some paths. The paths say whether there is
/// anything to run and nothing of the result, so they are no part of the key. What is tried with others ahead is never the
/// pull request's own run, also if it is the same tree on the same base: the one can be given up and the other not.
pub(super) fn ask(job: &Job, spec: &CheckSpec, key: &str) -> String {
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
        // With its length, so that no two lists of parts look the same.
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex(&hash.finalize()[..16])
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn places(stored: &Stored) -> [String; 2] {
    // Keys are ordered upwards, and the newest is to be the first.
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
