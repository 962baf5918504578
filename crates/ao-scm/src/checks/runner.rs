//! The runner as others see it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ao_core::{Commit, ProjectId, PullId};
use ao_ports::{CheckRun, Clock, LogPart, Records, RunFilter};
use tokio::sync::{Mutex, Semaphore, broadcast, oneshot};
use tokio::task::JoinSet;
use tracing::warn;

use super::book::{self, Book};
use super::error::RunnerError;
use super::execution::execute;
use super::keep;
use super::leftovers;
use super::live::{Desk, Live, UnderWay};
use super::log;
use super::options::{Job, Options};
use super::place::{Placed, place};

/// How many pieces of news may wait for one listener.
const NEWS: usize = 1_024;
/// The most that is read of a log at once.
const LOG_PART: u32 = 1 << 20;
/// How many runs are listed if nobody says how many.
const RUNS: usize = 100;

/// Runs checks. Cheap to clone; when the last one is dropped, what runs is ended.
#[derive(Clone)]
pub struct Runner {
    desk: Arc<Desk>,
    /// Held only to start one. Not a part of what the tasks share: those would keep themselves alive.
    tasks: Arc<std::sync::Mutex<JoinSet<()>>>,
}

impl Runner {
    /// Makes a runner, after what an earlier daemon has left has been cleared away: its processes are ended, its checkouts
    /// removed, and its runs cancelled. There is only ever one for a folder.
    pub async fn open(
        options: Options,
        records: Arc<dyn Records>,
        clock: Arc<dyn Clock>,
    ) -> Result<Runner, RunnerError> {
        let book = Book::new(records);
        leftovers::clear(&options, &book, &*clock).await?;
        let logs = keep::size_of_logs(&options.logs()).map_err(RunnerError::file("list", options.logs()))?;
        let desk = Desk {
            slots: Arc::new(Semaphore::new(options.cap.clamp(1, Semaphore::MAX_PERMITS))),
            options,
            book,
            clock,
            live: Mutex::new(Live { logs, ..Live::default() }),
            news: broadcast::Sender::new(NEWS),
        };
        Ok(Runner { desk: Arc::new(desk), tasks: Arc::default() })
    }

    /// Sees to it that checks are run, and returns at once: a run for each, in the order of the job.
    ///
    /// Nothing is run twice. Asked again for the same commit of the same pull request, it is the same run, unless that was
    /// cancelled or is broken; with others ahead it is another question. The same tree and command elsewhere makes a new run
    /// that is `same_as` the one there is. With `again`, results do not count; what is under way does.
    pub async fn run(&self, job: Job) -> Result<Vec<CheckRun>, RunnerError> {
        let (runner, is_alone) = (self.clone(), job.ahead.is_empty());
        let (tell, told) = oneshot::channel();
        // In a task of its own: whoever asks may go away in the middle, and what is recorded has to be executed.
        tokio::spawn(async move {
            let unheard = tell.send(runner.place_all(job).await);
            // With others ahead it was for nobody else.
            if let Err(Ok(runs)) = unheard
                && !is_alone
            {
                let ids: Vec<String> = runs.into_iter().map(|run| run.id).collect();
                runner.desk.give_up(&ids).await;
            }
        });
        told.await.expect("it does not panic")
    }

    async fn place_all(&self, job: Job) -> Result<Vec<CheckRun>, RunnerError> {
        for name in [job.commit.as_str(), &job.tree] {
            if name.len() < 40 || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(RunnerError::NotAnObject { name: name.to_owned() });
            }
        }
        let (desk, job) = (&self.desk, Arc::new(job));
        let mut live = desk.live.lock().await;
        if live.stopping {
            return Err(RunnerError::Stopping);
        }
        let mut placed = Vec::new();
        for spec in &job.checks {
            placed.push(place(desk, &mut live, &job, spec).await?);
        }
        let changes = placed.iter().flat_map(|placed| match placed {
            Placed::Known(_) => vec![],
            Placed::Over(stored) | Placed::Joined(stored, _) | Placed::New(stored, _) => book::enter(stored),
        });
        desk.book.change(changes.collect()).await?;
        let (mut group, mut new) = (None, 0);
        let runs = placed.into_iter().map(|placed| {
            let stored = match placed {
                Placed::Known(run) => {
                    if let Some(entry) = live.runs.get_mut(&run.id) {
                        entry.asks += 1;
                    }
                    return run;
                }
                Placed::Over(stored) => stored,
                Placed::Joined(stored, execution) => {
                    let under_way =
                        live.executions.get_mut(&execution).expect("found while the door was shut");
                    under_way.members.push(stored.run.id.clone());
                    live.insert(stored.clone());
                    stored
                }
                Placed::New(stored, execution) => {
                    live.by_key.insert(execution.key.clone(), execution.id.clone());
                    let members = vec![stored.run.id.clone()];
                    let under_way = UnderWay { execution: execution.clone(), members, began_at: None };
                    live.executions.insert(execution.id.clone(), under_way);
                    live.insert(stored.clone());
                    self.spawn(execute(desk.clone(), execution));
                    stored
                }
            };
            desk.announce(&stored.run);
            group = Some(stored.group());
            new += 1;
            stored.run
        });
        let runs = runs.collect();
        if let Some(group) = group {
            self.spawn(keep::prune(desk.clone(), group, desk.options.keep_runs));
            if live.is_time_to_prune(&job.project, new, desk.options.keep_project_runs) {
                self.spawn(keep::prune_project(desk.clone(), job.project.clone()));
            }
        }
        Ok(runs)
    }

    /// Waits until these runs are over. Those that are not known are left out. Can be dropped at any time.
    pub async fn finished(&self, ids: &[String]) -> Vec<CheckRun> {
        let mut over = Vec::new();
        for id in ids {
            let waiting = self.desk.live.lock().await.runs.get(id).map(|entry| entry.told.subscribe());
            let run = match waiting {
                Some(mut told) => told.wait_for(|run| run.state.is_over()).await.ok().map(|run| run.clone()),
                None => None,
            };
            over.extend(match run {
                Some(run) => Some(run),
                None => self.get(id).await,
            });
        }
        over
    }

    /// Cancels the runs of a pull request: all of them if it is over, or those of other commits if its head has moved. What
    /// somebody else waits for as well goes on for them. Of one that is over, the runs of earlier commits are forgotten.
    pub async fn cancel(&self, pull: &PullId, keep_head: Option<&Commit>) {
        let why = match keep_head {
            Some(_) => "the head has moved",
            None => "the pull request is over",
        };
        let is_over = keep_head.is_none();
        let group = pull.to_string();
        let (desk, pull, keep) = (self.desk.clone(), pull.clone(), keep_head.cloned());
        let cancelling = tokio::spawn(async move {
            let which = |run: &CheckRun| run.pull.as_ref() == Some(&pull) && keep.as_ref() != Some(&run.head);
            let mut live = desk.live.lock().await;
            desk.cancel(&mut live, which, why).await;
        });
        cancelling.await.expect("it does not panic");
        if is_over {
            self.spawn(keep::prune(self.desk.clone(), group, 0));
        }
    }

    /// Takes back that somebody has asked for these runs. What others have asked for goes on.
    pub async fn give_up(&self, ids: &[String]) {
        let (desk, ids) = (self.desk.clone(), ids.to_vec());
        let giving_up = tokio::spawn(async move { desk.give_up(&ids).await });
        giving_up.await.expect("it does not panic");
    }

    /// One run, if it is known.
    pub async fn get(&self, id: &str) -> Option<CheckRun> {
        if let Some(entry) = self.desk.live.lock().await.runs.get(id) {
            return Some(entry.stored.run.clone());
        }
        let kept = self.desk.book.get(id).await.inspect_err(|err| warn!(%err, id, "a run could not be read"));
        kept.ok().flatten().map(|stored| stored.run)
    }

    /// The runs of a project, newest first. A limit of 0 means a hundred.
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
            let page = self.desk.book.page(project.as_str(), filter, after.as_deref()).await?;
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

    /// A part of a run's output, from a place in the whole of it. With `wait`, returns when there is something, or nothing
    /// more will come. Can be dropped at any time.
    pub async fn log(&self, id: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, RunnerError> {
        let limit = u64::from(limit.min(LOG_PART));
        loop {
            let growing = {
                let live = self.desk.live.lock().await;
                let entry = live.runs.get(id);
                let under_way = entry.and_then(|entry| live.executions.get(entry.stored.execution.as_ref()?));
                under_way.map(|under_way| under_way.execution.clone())
            };
            let Some(execution) = growing else { return self.log_of_ended(id, from, limit).await };
            // Before it is read, so that nothing can come in between.
            let mut grown = execution.log.follow();
            let piece = execution.log.read(from, limit);
            let piece = piece.map_err(RunnerError::file("read", execution.log.path()))?;
            if !piece.bytes.is_empty() || !wait {
                return Ok(LogPart { bytes: piece.bytes, next: piece.next, ended: false });
            }
            // Its sender lives as long as the execution, which we hold.
            grown.changed().await.ok();
        }
    }

    async fn log_of_ended(&self, id: &str, from: u64, limit: u64) -> Result<LogPart, RunnerError> {
        let stored = self.desk.book.get(id).await?.ok_or_else(|| RunnerError::NoRun { id: id.to_owned() })?;
        let nothing = LogPart { bytes: vec![], next: from, ended: true };
        let (Some(execution), Some(_)) = (&stored.execution, &stored.run.log) else { return Ok(nothing) };
        let path = self.desk.options.log(execution);
        match log::read_ended(&path, stored.shape, from, limit) {
            Ok(piece) => Ok(LogPart { bytes: piece.bytes, next: piece.next, ended: piece.last }),
            Err(err) if err.kind() == std::io::ErrorKind::NotFound => {
                Err(RunnerError::LogGone { id: id.to_owned() })
            }
            Err(err) => Err(RunnerError::file("read", path)(err)),
        }
    }

    /// Hears of every change of a run's state, once it is recorded. Who falls behind asks for the runs.
    pub fn subscribe(&self) -> broadcast::Receiver<CheckRun> {
        self.desk.news.subscribe()
    }

    /// Ends everything in good order. What was under way is cancelled, so whoever asks next begins it anew.
    pub async fn stop(&self) {
        {
            let mut live = self.desk.live.lock().await;
            live.stopping = true;
            self.desk.cancel(&mut live, |_| true, leftovers::ENDED).await;
        }
        let mut tasks = std::mem::take(&mut *self.tasks.lock().expect("nobody panics while starting one"));
        let all = async { while tasks.join_next().await.is_some() {} };
        // Longer than it takes to kill what does not end. What is left then is found by the next daemon.
        let limit = self.desk.options.grace + Duration::from_secs(30);
        if tokio::time::timeout(limit, all).await.is_err() {
            warn!("some checks could not be ended in time");
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock().expect("nobody panics while starting one");
        // Those that are done are let go of.
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
        f.debug_struct("Runner").field("options", &self.desk.options).finish_non_exhaustive()
    }
}
