//! The runs that are not over, the executions they wait for, and the publication of results.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ao_core::{ProjectId, Timestamp};
use ao_ports::{CheckRun, Clock, RecordChange, RunState};
use tokio::sync::{Mutex, Semaphore, broadcast, watch};
use tracing::warn;

use super::execution::Execution;
use super::options::Options;
use super::run_records::{self, RunRecords, StoredRun};
use super::verdict::RunVerdict;

/// State that all parts of a runner share.
pub(super) struct RunnerState {
    pub(super) options: Options,
    pub(super) records: RunRecords,
    pub(super) clock: Arc<dyn Clock>,
    /// Fair: the longest waiting execution gets the next slot.
    pub(super) slots: Arc<Semaphore>,
    /// Also locked while a result is recorded: a request must find either the execution or its stored result.
    pub(super) live: Mutex<LiveRuns>,
    /// Receivers that lag behind by more than its capacity read the runs instead.
    pub(super) updates: broadcast::Sender<CheckRun>,
}

/// Runs and executions that are not over.
#[derive(Default)]
pub(super) struct LiveRuns {
    pub(super) runs: HashMap<String, LiveRun>,
    pub(super) executions: HashMap<String, LiveExecution>,
    /// The execution for a key, as long as new runs can join it.
    pub(super) by_key: HashMap<String, String>,
    pub(super) order: u64,
    /// Total size of all finished logs, in bytes.
    pub(super) logs: u64,
    /// Number of new runs of each project since its oldest ones were last deleted.
    pub(super) since_pruned: HashMap<ProjectId, usize>,
    pub(super) stopping: bool,
}

pub(super) struct LiveRun {
    pub(super) stored: StoredRun,
    /// Number of requests for this run that were not withdrawn.
    pub(super) asks: u32,
    pub(super) progress: watch::Sender<CheckRun>,
}

pub(super) struct LiveExecution {
    pub(super) execution: Arc<Execution>,
    /// The runs that wait for it; the others refer to the first one by `same_as`.
    pub(super) members: Vec<String>,
    /// Absent while it waits for a slot.
    pub(super) began_at: Option<Timestamp>,
}

impl LiveRuns {
    pub(super) fn insert(&mut self, stored: StoredRun) {
        let progress = watch::Sender::new(stored.run.clone());
        self.runs.insert(stored.run.id.clone(), LiveRun { stored, asks: 1, progress });
    }

    /// Returns a number larger than all before it.
    pub(super) fn next_order(&mut self, now: Timestamp) -> u64 {
        // Room for a thousand in one millisecond.
        self.order = (self.order + 1).max((now.0.max(0) as u64) << 10);
        self.order
    }

    /// Counts new runs of a project, and returns true if it is time to delete its oldest ones. Not with every run,
    /// because that has to count all of them.
    pub(super) fn is_time_to_prune(&mut self, project: &ProjectId, new: usize, keep: usize) -> bool {
        // Also due the first time after a start.
        let since = self.since_pruned.entry(project.clone()).or_insert(keep);
        *since = since.saturating_add(new);
        let is_time = *since >= (keep / 50).max(1);
        if is_time {
            *since = 0;
        }
        is_time
    }

    fn no_longer_joined(&mut self, execution: &Execution) {
        if self.by_key.get(&execution.key) == Some(&execution.id) {
            self.by_key.remove(&execution.key);
        }
    }
}

impl RunnerState {
    /// Records that an execution has its slot.
    pub(super) async fn begun(&self, execution: &Execution) {
        let mut live = self.live.lock().await;
        let now = self.clock.now();
        let Some(under_way) = live.executions.get_mut(&execution.id) else { return };
        under_way.began_at = Some(now);
        let members = under_way.members.clone();
        let mut begun = Vec::new();
        for id in &members {
            let Some(entry) = live.runs.get_mut(id) else { continue };
            entry.stored.run.state = RunState::Running;
            entry.stored.run.began_at = Some(now);
            entry.stored.run.log = Some(execution.log.path().to_string());
            begun.push(entry.stored.clone());
        }
        let changes = begun.iter().flat_map(run_records::update).collect();
        if let Err(err) = self.records.change(changes).await {
            warn!(%err, execution = execution.id, "the beginning of a check could not be recorded");
            return;
        }
        for stored in begun {
            self.publish(&live, stored.run);
        }
    }

    /// Records the end of an execution, then publishes it to all runs that wait for it.
    pub(super) async fn settle(&self, execution: &Execution, verdict: RunVerdict, tries: u32) {
        let mut live = self.live.lock().await;
        live.no_longer_joined(execution);
        let Some(under_way) = live.executions.remove(&execution.id) else { return };
        let now = self.clock.now();
        let shape = execution.log.shape();
        let mut ended: Vec<StoredRun> = Vec::new();
        for id in &under_way.members {
            let Some(entry) = live.runs.get(id) else { continue };
            let mut stored = entry.stored.clone();
            stored.shape = shape;
            let run = &mut stored.run;
            run.state = verdict.state;
            run.why = verdict.why.clone();
            run.exit_code = verdict.exit_code;
            run.failure = verdict.failure.clone();
            run.ended_at = Some(now);
            run.tries = if run.same_as.is_none() { tries } else { 0 };
            ended.push(stored);
        }
        if let Err(err) = self.record(ended.iter().flat_map(run_records::end).collect()).await {
            // A result that is not recorded would be gone after a restart, so it must not count.
            for StoredRun { run, .. } in &mut ended {
                run.state = RunState::Broken;
                run.why = Some(format!("its result could not be recorded: {err}"));
            }
        }
        self.over(&mut live, ended);
        execution.log.wake();
    }

    /// Cancels some runs, and the executions that no run waits for any more.
    pub(super) async fn cancel(&self, live: &mut LiveRuns, which: impl Fn(&CheckRun) -> bool, why: &str) {
        let now = self.clock.now();
        let (mut ended, mut promoted, mut abandoned) = (Vec::new(), Vec::new(), Vec::new());
        let LiveRuns { runs, executions, .. } = live;
        for under_way in executions.values_mut() {
            let is_wanted = |id: &String| runs.get(id).is_some_and(|entry| !which(&entry.stored.run));
            let (left, gone): (Vec<_>, Vec<_>) =
                std::mem::take(&mut under_way.members).into_iter().partition(is_wanted);
            for stored in gone.iter().filter_map(|id| runs.get(id)).map(|entry| &entry.stored) {
                let mut stored = stored.clone();
                stored.shape = under_way.execution.log.shape();
                stored.run.state = RunState::Cancelled;
                stored.run.why = Some(why.to_owned());
                stored.run.ended_at = Some(now);
                ended.push(stored);
            }
            if left.is_empty() && !gone.is_empty() {
                abandoned.push(under_way.execution.clone());
            }
            // If the first one has gone, the next one takes its place.
            for id in &left {
                let Some(LiveRun { stored, .. }) = runs.get_mut(id) else { continue };
                if stored.run.same_as.as_ref().is_some_and(|first| gone.contains(first)) {
                    stored.run.same_as = (*id != left[0]).then(|| left[0].clone());
                    promoted.push(stored.clone());
                }
            }
            under_way.members = left;
        }
        let changes = ended
            .iter()
            .flat_map(run_records::end)
            .chain(promoted.iter().flat_map(run_records::update))
            .collect();
        // If this cannot be recorded, the next daemon finds the runs live and cancels them.
        self.record(changes).await.ok();
        for execution in &abandoned {
            live.no_longer_joined(execution);
        }
        for stored in promoted {
            self.publish(live, stored.run);
        }
        self.over(live, ended);
        for execution in abandoned {
            execution.cancelled.cancel();
            execution.log.wake();
        }
    }

    /// Withdraws requests for these runs, and cancels the runs without any other request.
    pub(super) async fn give_up(&self, ids: &[String]) {
        let mut live = self.live.lock().await;
        let mut unwanted: Vec<String> = vec![];
        for id in ids {
            let Some(entry) = live.runs.get_mut(id) else { continue };
            entry.asks = entry.asks.saturating_sub(1);
            if entry.asks == 0 {
                unwanted.push(id.clone());
            }
        }
        let which = |run: &CheckRun| unwanted.contains(&run.id);
        self.cancel(&mut live, which, "it was no longer needed").await;
    }

    /// Publishes runs that are over, and removes them from the live ones.
    fn over(&self, live: &mut LiveRuns, ended: Vec<StoredRun>) {
        for stored in ended {
            self.publish(live, stored.run.clone());
            live.runs.remove(&stored.run.id);
        }
    }

    /// Publishes the state of a run to those who wait for it and to all subscribers.
    fn publish(&self, live: &LiveRuns, run: CheckRun) {
        if let Some(entry) = live.runs.get(&run.id) {
            entry.progress.send_replace(run.clone());
        }
        // There may be no subscriber.
        self.updates.send(run).ok();
    }

    /// Publishes a new run.
    pub(super) fn announce(&self, run: &CheckRun) {
        self.updates.send(run.clone()).ok();
    }

    /// Records changes, with a few retries.
    async fn record(&self, changes: Vec<RecordChange>) -> Result<(), ao_ports::StoreError> {
        let mut tries = 0;
        loop {
            match self.records.change(changes.clone()).await {
                Err(err) if tries < 3 => {
                    warn!(%err, "the end of a check could not be recorded; trying again");
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                recorded => return recorded,
            }
        }
    }
}
