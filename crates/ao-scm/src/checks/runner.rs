//! The public interface of the check runner.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ao_core::{Commit, ProjectId, PullId};
use ao_ports::{CheckRun, Clock, LogPart, Records, RunFilter};
use tokio::sync::{Mutex, Semaphore, broadcast, oneshot};
use tokio::task::JoinSet;
use tracing::warn;

use super::error::RunnerError;
use super::execution::execute;
use super::live::{LiveExecution, LiveRuns, RunnerState};
use super::options::{CheckJob, Options};
use super::placement::{CheckPlacement, place};
use super::run_records::{self, RunRecords};
use super::{leftovers, log, retention};

/// Number of updates that may wait for one subscriber.
const UPDATES: usize = 1_024;
/// The most bytes that one read of a log returns.
const LOG_PART: u32 = 1 << 20;
/// Number of runs listed by default.
const RUNS: usize = 100;

/// Runs checks. Cheap to clone; when the last clone is dropped, running commands are ended.
#[derive(Clone)]
pub struct Runner {
    shared: Arc<RunnerState>,
    /// Locked only to start a task. Not a part of what the tasks share: those would keep themselves alive.
    tasks: Arc<std::sync::Mutex<JoinSet<()>>>,
}

impl Runner {
    /// Opens a runner after cleaning up after an earlier daemon: its processes are ended, its checkouts removed, and
    /// its runs cancelled. A folder has at most one runner.
    pub async fn open(
        options: Options,
        records: Arc<dyn Records>,
        clock: Arc<dyn Clock>,
    ) -> Result<Runner, RunnerError> {
        let records = RunRecords::new(records);
        leftovers::clear(&options, &records, &*clock).await?;
        let logs =
            retention::size_of_logs(&options.logs()).map_err(RunnerError::file("list", options.logs()))?;
        let shared = RunnerState {
            slots: Arc::new(Semaphore::new(options.cap.clamp(1, Semaphore::MAX_PERMITS))),
            options,
            records,
            clock,
            live: Mutex::new(LiveRuns { logs, ..LiveRuns::default() }),
            updates: broadcast::Sender::new(UPDATES),
        };
        Ok(Runner { shared: Arc::new(shared), tasks: Arc::default() })
    }

    /// Starts checks and returns at once: one run for each check, in the order of the job.
    ///
    /// Nothing runs twice. A second request for the same commit of the same pull request returns the same run, unless
    /// that was cancelled or is broken; other pull requests ahead make it a different request. The same tree and
    /// command elsewhere gives a new run that is `same_as` the existing one. With `again`, stored results do not
    /// count; live runs do.
    pub async fn run(&self, job: CheckJob) -> Result<Vec<CheckRun>, RunnerError> {
        let (runner, is_alone) = (self.clone(), job.ahead.is_empty());
        let (sender, receiver) = oneshot::channel();
        // In a task of its own: the caller may be dropped at any point, and what is recorded has to be executed.
        tokio::spawn(async move {
            let unheard = sender.send(runner.place_all(job).await);
            // A speculative run was for this caller alone.
            if let Err(Ok(runs)) = unheard
                && !is_alone
            {
                let ids: Vec<String> = runs.into_iter().map(|run| run.id).collect();
                runner.shared.give_up(&ids).await;
            }
        });
        receiver.await.expect("it does not panic")
    }

    async fn place_all(&self, job: CheckJob) -> Result<Vec<CheckRun>, RunnerError> {
        for name in [job.commit.as_str(), &job.tree] {
            if name.len() < 40 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(RunnerError::NotAnObject { name: name.to_owned() });
            }
        }
        let (shared, job) = (&self.shared, Arc::new(job));
        let mut live = shared.live.lock().await;
        if live.stopping {
            return Err(RunnerError::Stopping);
        }
        let mut placed = Vec::new();
        for spec in &job.checks {
            placed.push(place(shared, &mut live, &job, spec).await?);
        }
        let changes = placed.iter().flat_map(|placed| match placed {
            CheckPlacement::Known(_) => vec![],
            CheckPlacement::Over(stored)
            | CheckPlacement::Joined(stored, _)
            | CheckPlacement::New(stored, _) => run_records::enter(stored),
        });
        shared.records.change(changes.collect()).await?;
        let (mut group, mut new) = (None, 0);
        let runs = placed.into_iter().map(|placed| {
            let stored = match placed {
                CheckPlacement::Known(run) => {
                    if let Some(entry) = live.runs.get_mut(&run.id) {
                        entry.asks += 1;
                    }
                    return run;
                }
                CheckPlacement::Over(stored) => stored,
                CheckPlacement::Joined(stored, execution) => {
                    let under_way =
                        live.executions.get_mut(&execution).expect("found while the door was shut");
                    under_way.members.push(stored.run.id.clone());
                    live.insert(stored.clone());
                    stored
                }
                CheckPlacement::New(stored, execution) => {
                    live.by_key.insert(execution.key.clone(), execution.id.clone());
                    let members = vec![stored.run.id.clone()];
                    let under_way = LiveExecution { execution: execution.clone(), members, began_at: None };
                    live.executions.insert(execution.id.clone(), under_way);
                    live.insert(stored.clone());
                    self.spawn(execute(shared.clone(), execution));
                    stored
                }
            };
            shared.announce(&stored.run);
            group = Some(stored.group());
            new += 1;
            stored.run
        });
        let runs = runs.collect();
        if let Some(group) = group {
            self.spawn(retention::prune(shared.clone(), group, shared.options.keep_runs));
            if live.is_time_to_prune(&job.project, new, shared.options.keep_project_runs) {
                self.spawn(retention::prune_project(shared.clone(), job.project.clone()));
            }
        }
        Ok(runs)
    }

    /// Waits until these runs are over. Skips unknown ones. Cancel-safe.
    pub async fn finished(&self, ids: &[String]) -> Vec<CheckRun> {
        let mut over = Vec::new();
        for id in ids {
            let waiting = self.shared.live.lock().await.runs.get(id).map(|entry| entry.progress.subscribe());
            let run = match waiting {
                Some(mut progress) => {
                    progress.wait_for(|run| run.state.is_over()).await.ok().map(|run| run.clone())
                }
                None => None,
            };
            over.extend(match run {
                Some(run) => Some(run),
                None => self.get(id).await,
            });
        }
        over
    }

    /// Cancels the runs of a pull request: all of them if it is over, or those of other commits if its head has
    /// moved. An execution that other runs wait for goes on. Deletes the runs of earlier commits once the pull
    /// request is over.
    pub async fn cancel(&self, pull: &PullId, keep_head: Option<&Commit>) {
        let why = match keep_head {
            Some(_) => "the head has moved",
            None => "the pull request is over",
        };
        let is_over = keep_head.is_none();
        let group = pull.to_string();
        let (shared, pull, keep) = (self.shared.clone(), pull.clone(), keep_head.cloned());
        let cancelling = tokio::spawn(async move {
            let which = |run: &CheckRun| run.pull.as_ref() == Some(&pull) && keep.as_ref() != Some(&run.head);
            let mut live = shared.live.lock().await;
            shared.cancel(&mut live, which, why).await;
        });
        cancelling.await.expect("it does not panic");
        if is_over {
            self.spawn(retention::prune(self.shared.clone(), group, 0));
        }
    }

    /// Withdraws a request for these runs. Runs that others requested go on.
    pub async fn give_up(&self, ids: &[String]) {
        let (shared, ids) = (self.shared.clone(), ids.to_vec());
        let giving_up = tokio::spawn(async move { shared.give_up(&ids).await });
        giving_up.await.expect("it does not panic");
    }

    /// Returns one run, if it is known.
    pub async fn get(&self, id: &str) -> Option<CheckRun> {
        if let Some(entry) = self.shared.live.lock().await.runs.get(id) {
            return Some(entry.stored.run.clone());
        }
        let kept =
            self.shared.records.get(id).await.inspect_err(|err| warn!(%err, id, "a run could not be read"));
        kept.ok().flatten().map(|stored| stored.run)
    }

    /// Returns the runs of a project, newest first. A limit of 0 means a hundred.
    pub async fn runs(&self, project: &ProjectId, filter: &RunFilter) -> Result<Vec<CheckRun>, RunnerError> {
        let limit = if filter.limit == 0 { RUNS } else { filter.limit };
        let fits = |run: &CheckRun| {
            run.project == *project
                && filter.pull.as_ref().is_none_or(|pull| run.pull.as_ref() == Some(pull))
                && filter.check.as_ref().is_none_or(|check| run.check == *check)
                && filter.state.is_none_or(|state| run.state == state)
                && (run.ahead.is_empty() || !filter.alone)
        };
        let (mut runs, mut after) = (Vec::new(), None);
        loop {
            let page = self.shared.records.page(project.as_str(), filter, after.as_deref()).await?;
            let Some((last, _)) = page.last().cloned() else { return Ok(runs) };
            for (_, id) in page {
                runs.extend(self.get(&id).await.filter(fits));
                if runs.len() == limit {
                    return Ok(runs);
                }
            }
            after = Some(last);
        }
    }

    /// Returns a part of a run's output, from an offset in the whole of it. With `wait`, returns when there is output
    /// or no more will come. Cancel-safe.
    pub async fn log(&self, id: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, RunnerError> {
        let limit = u64::from(limit.min(LOG_PART));
        loop {
            let growing = {
                let live = self.shared.live.lock().await;
                let entry = live.runs.get(id);
                let under_way = entry.and_then(|entry| live.executions.get(entry.stored.execution.as_ref()?));
                under_way.map(|under_way| under_way.execution.clone())
            };
            let Some(execution) = growing else { return self.log_of_ended(id, from, limit).await };
            // Subscribe before the read, so that no write is missed.
            let mut grown = execution.log.follow();
            let piece = execution.log.read(from, limit);
            let piece = piece.map_err(RunnerError::file("read", execution.log.path()))?;
            if !piece.bytes.is_empty() || !wait {
                return Ok(LogPart { bytes: piece.bytes, next: piece.next, ended: false });
            }
            // The sender lives as long as the execution, which we hold.
            grown.changed().await.ok();
        }
    }

    async fn log_of_ended(&self, id: &str, from: u64, limit: u64) -> Result<LogPart, RunnerError> {
        let stored =
            self.shared.records.get(id).await?.ok_or_else(|| RunnerError::NoRun { id: id.to_owned() })?;
        let nothing = LogPart { bytes: vec![], next: from, ended: true };
        let (Some(execution), Some(_)) = (&stored.execution, &stored.run.log) else { return Ok(nothing) };
        let path = self.shared.options.log(execution);
        match log::read_ended(&path, stored.shape, from, limit) {
            Ok(piece) => Ok(LogPart { bytes: piece.bytes, next: piece.next, ended: piece.last }),
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => {
                Err(RunnerError::LogGone { id: id.to_owned() })
            }
            Err(err) => Err(RunnerError::file("read", path)(err)),
        }
    }

    /// Subscribes to every change of a run's state, once it is recorded. A receiver that lags behind reads the runs
    /// instead.
    pub fn subscribe(&self) -> broadcast::Receiver<CheckRun> {
        self.shared.updates.subscribe()
    }

    /// Ends everything in good order. Cancels live runs, so the next request starts them again.
    pub async fn stop(&self) {
        {
            let mut live = self.shared.live.lock().await;
            live.stopping = true;
            self.shared.cancel(&mut live, |_| true, leftovers::ENDED).await;
        }
        let mut tasks = std::mem::take(&mut *self.tasks.lock().expect("no panic while a task is started"));
        let all = async { while tasks.join_next().await.is_some() {} };
        // Longer than it takes to kill a stubborn process. The next daemon finds what is left.
        let limit = self.shared.options.grace + Duration::from_secs(30);
        if tokio::time::timeout(limit, all).await.is_err() {
            warn!("some checks could not be ended in time");
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().expect("no panic while a task is started");
        // Join finished tasks.
        while let Some(done) = tasks.try_join_next() {
            if let Err(err) = done {
                warn!(%err, "a task of the checks ended badly");
            }
        }
        tasks.spawn(task);
    }
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("options", &self.shared.options).finish_non_exhaustive()
    }
}
