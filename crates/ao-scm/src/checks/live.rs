//! The runs that are not over, who waits for which execution, and how all of them hear of its end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ao_core::{ProjectId, Timestamp};
use ao_ports::{Change, CheckRun, Clock, RunState};
use tokio::sync::{Mutex, Semaphore, broadcast, watch};
use tracing::warn;

use super::book::{self, Book, Stored};
use super::execution::Execution;
use super::options::Options;
use super::verdict::Verdict;

/// What all parts of a runner share.
pub(super) struct Desk {
    pub(super) options: Options,
    pub(super) book: Book,
    pub(super) clock: Arc<dyn Clock>,
    /// Fair: who waits longest is next.
    pub(super) slots: Arc<Semaphore>,
    /// Held also while something is recorded: between the end of an execution and its result on the shelf, nobody may
    /// come in and find neither.
    pub(super) live: Mutex<Live>,
    /// Who falls behind by more than this asks for the runs instead.
    pub(super) news: broadcast::Sender<CheckRun>,
}

/// What is under way.
#[derive(Default)]
pub(super) struct Live {
    pub(super) runs: HashMap<String, Entry>,
    pub(super) executions: HashMap<String, UnderWay>,
    /// The execution that speaks of a tree and command, as long as it can be joined.
    pub(super) by_key: HashMap<String, String>,
    pub(super) order: u64,
    /// How many bytes all logs have together, but for those that are being written.
    pub(super) logs: u64,
    /// How many runs each project has got since its oldest ones were last looked for.
    pub(super) since_pruned: HashMap<ProjectId, usize>,
    pub(super) stopping: bool,
}

pub(super) struct Entry {
    pub(super) stored: Stored,
    /// How often it was asked for, but for those who have given it up since.
    pub(super) asks: u32,
    pub(super) told: watch::Sender<CheckRun>,
}

pub(super) struct UnderWay {
    pub(super) execution: Arc<Execution>,
    /// The runs that wait for it; the first one is the one that the others are the same as.
    pub(super) members: Vec<String>,
    /// Absent while it waits for a slot.
    pub(super) began_at: Option<Timestamp>,
}

impl Live {
    pub(super) fn insert(&mut self, stored: Stored) {
        let told = watch::Sender::new(stored.run.clone());
        self.runs.insert(stored.run.id.clone(), Entry { stored, asks: 1, told });
    }

    /// A number that is larger than all before it.
    pub(super) fn next_order(&mut self, now: Timestamp) -> u64 {
        // Room for a thousand in one millisecond.
        self.order = (self.order + 1).max((now.0.max(0) as u64) << 10);
        self.order
    }

    /// Counts new runs of a project, and says whether it is time to look for its oldest ones. Not with every run, because
    /// for that all of them have to be counted.
    pub(super) fn is_time_to_prune(&mut self, project: &ProjectId, new: usize, keep: usize) -> bool {
        // The first time after a start, too.
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

impl Desk {
    /// An execution has its slot.
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
        let changes = begun.iter().flat_map(book::update).collect();
        if let Err(err) = self.book.change(changes).await {
            warn!(%err, execution = execution.id, "the beginning of a check could not be recorded");
            return;
        }
        for stored in begun {
            self.tell(&live, stored.run);
        }
    }

    /// An execution is over. All who wait for it hear of it once it is recorded.
    pub(super) async fn settle(&self, execution: &Execution, verdict: Verdict, tries: u32) {
        let mut live = self.live.lock().await;
        live.no_longer_joined(execution);
        let Some(under_way) = live.executions.remove(&execution.id) else { return };
        let now = self.clock.now();
        let shape = execution.log.shape();
        let mut ended: Vec<Stored> = Vec::new();
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
        if let Err(err) = self.record(ended.iter().flat_map(book::end).collect()).await {
            // Nobody may believe a result that is gone after a restart.
            for Stored { run, .. } in &mut ended {
                run.state = RunState::Broken;
                run.why = Some(format!("its result could not be recorded: {err}"));
            }
        }
        self.over(&mut live, ended);
        execution.log.wake();
    }

    /// Ends the waiting of some runs. Executions that nobody waits for any more are cancelled.
    pub(super) async fn cancel(&self, live: &mut Live, which: impl Fn(&CheckRun) -> bool, why: &str) {
        let now = self.clock.now();
        let (mut ended, mut promoted, mut abandoned) = (Vec::new(), Vec::new(), Vec::new());
        let Live { runs, executions, .. } = live;
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
                let Some(Entry { stored, .. }) = runs.get_mut(id) else { continue };
                if stored.run.same_as.as_ref().is_some_and(|first| gone.contains(first)) {
                    stored.run.same_as = (*id != left[0]).then(|| left[0].clone());
                    promoted.push(stored.clone());
                }
            }
            under_way.members = left;
        }
        let changes =
            ended.iter().flat_map(book::end).chain(promoted.iter().flat_map(book::update)).collect();
        // If it cannot be recorded, the next daemon finds them under way and says the same.
        self.record(changes).await.ok();
        for execution in &abandoned {
            live.no_longer_joined(execution);
        }
        for stored in promoted {
            self.tell(live, stored.run);
        }
        self.over(live, ended);
        for execution in abandoned {
            execution.cancelled.cancel();
            execution.log.wake();
        }
    }

    /// Somebody who has asked for these runs does not want them any more. Those that nobody else has asked for are ended.
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
        self.cancel(&mut live, which, "nobody waits for it any more").await;
    }

    /// Tells of runs that are over, and lets go of them.
    fn over(&self, live: &mut Live, ended: Vec<Stored>) {
        for stored in ended {
            self.tell(live, stored.run.clone());
            live.runs.remove(&stored.run.id);
        }
    }

    /// Tells those who wait for a run and those who listen to all of them where it stands.
    fn tell(&self, live: &Live, run: CheckRun) {
        if let Some(entry) = live.runs.get(&run.id) {
            entry.told.send_replace(run.clone());
        }
        // Nobody needs to listen.
        self.news.send(run).ok();
    }

    /// Tells of a run that nobody has heard of before.
    pub(super) fn announce(&self, run: &CheckRun) {
        self.news.send(run.clone()).ok();
    }

    /// Writes down what must not be lost, a few times if it has to be.
    async fn record(&self, changes: Vec<Change>) -> Result<(), ao_ports::StoreError> {
        let mut tries = 0;
        loop {
            match self.book.change(changes.clone()).await {
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
