//! A runtime whose one process is two buffers, and a notebook for reports.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_agent::{CommandAgent, Ground, Options, Prompt};
use ao_core::evidence::Signal;
use ao_core::input::Life;
use ao_core::{Attempt, SessionId, Timestamp};
use ao_ports::{
    Agent, CensusEntry, Clock, DeliverOrder, EndOrder, FollowOrder, Output, ProcessRef, Report, Reporter,
    Runtime, RuntimeAbilities, RuntimeError, Runtimes, Screen, StartSpec, WriteOrder, WriteOutcome,
};
use ao_testkit::pty::WallClock;
use async_trait::async_trait;
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

pub(crate) const SESSION: SessionId = SessionId(0x4f);
pub(crate) const ATTEMPT: Attempt = Attempt(1);

/// The process, as the runtime keeps it over restarts of the daemon.
#[derive(Default)]
pub(crate) struct Buffers {
    said: Mutex<Vec<u8>>,
    told: Mutex<Vec<String>>,
    numbers: Mutex<BTreeSet<u64>>,
    pub(crate) life: Mutex<Option<Life>>,
    fresh: AtomicU64,
    /// It shares no files with this machine, and places none.
    pub(crate) is_elsewhere: AtomicBool,
    /// The number of reads of output.
    asked: AtomicU64,
    /// Something was said, or the process has ended.
    changed: Notify,
}

impl Buffers {
    pub(crate) fn says(&self, line: &str) {
        self.said.lock().unwrap().extend_from_slice(format!("{line}\n").as_bytes());
        self.changed.notify_waiters();
    }

    pub(crate) fn ends(&self) {
        *self.life.lock().unwrap() = Some(Life::Gone { code: Some(0) });
        self.changed.notify_waiters();
    }

    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn piece(&self, from: u64, limit: usize) -> Output {
        let ended = matches!(*self.life.lock().unwrap(), Some(Life::Gone { .. }));
        let said = self.said.lock().unwrap();
        let rest = said.get(from as usize..).unwrap_or_default();
        Output { from, bytes: rest[..rest.len().min(limit)].to_vec(), ended: ended && rest.len() <= limit }
    }

    /// The writes to the process.
    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }
}

pub(crate) fn runtimes(buffers: &Arc<Buffers>) -> Runtimes {
    Runtimes::from_iter([buffers.clone() as Arc<dyn Runtime>])
}

#[async_trait]
impl Runtime for Buffers {
    fn name(&self) -> &str {
        "process"
    }

    fn abilities(&self) -> RuntimeAbilities {
        let shared = !self.is_elsewhere.load(Ordering::Relaxed);
        RuntimeAbilities {
            pipes: true,
            shares_files: shared,
            places_files: shared,
            ..RuntimeAbilities::default()
        }
    }

    async fn reference(&self, _: SessionId, _: Attempt) -> Result<Option<ProcessRef>, RuntimeError> {
        Ok(Some(process()))
    }

    async fn start(&self, _: &StartSpec) -> Result<ProcessRef, RuntimeError> {
        Ok(process())
    }

    async fn write(&self, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
        assert!(self.numbers.lock().unwrap().insert(order.number), "a number is used once");
        self.told.lock().unwrap().push(String::from_utf8(order.bytes.clone()).unwrap());
        Ok(WriteOutcome::Written)
    }

    async fn output(
        &self,
        _: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<Output, RuntimeError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let found = async {
            loop {
                // From before the look, so that nothing falls in between.
                let changed = self.changed.notified();
                let piece = self.piece(from, limit);
                if !piece.bytes.is_empty() || piece.ended {
                    return piece;
                }
                changed.await;
            }
        };
        Ok(tokio::time::timeout(wait, found).await.unwrap_or_else(|_| self.piece(from, limit)))
    }

    async fn screen(&self, _: &ProcessRef) -> Result<Screen, RuntimeError> {
        Err(RuntimeError::Failed("no screen".into()))
    }

    async fn look(&self, _: &ProcessRef) -> Life {
        self.life.lock().unwrap().unwrap_or(Life::Alive { busy: false })
    }

    async fn folder(&self, _: &ProcessRef) -> Option<String> {
        None
    }

    async fn census(&self) -> Result<Vec<CensusEntry>, RuntimeError> {
        Ok(vec![])
    }

    async fn end(&self, _: &EndOrder) -> Result<(), RuntimeError> {
        Ok(())
    }
}

/// tokio's clock, so that tests can stop it; and numbers in a row.
impl Clock for Buffers {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }

    fn fresh(&self) -> u64 {
        self.fresh.fetch_add(1, Ordering::Relaxed)
    }
}

/// The clock of the machine, or one that is behind it.
pub(crate) struct LateClock(AtomicU64);

impl LateClock {
    pub(crate) fn behind(by: Duration) -> LateClock {
        LateClock(AtomicU64::new(u64::try_from(by.as_millis()).unwrap()))
    }

    pub(crate) fn catches_up(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Clock for LateClock {
    fn now(&self) -> Timestamp {
        let behind = i64::try_from(self.0.load(Ordering::Relaxed)).unwrap();
        Timestamp(WallClock.now().0 - behind)
    }

    fn fresh(&self) -> u64 {
        WallClock.fresh()
    }
}

#[derive(Default)]
pub(crate) struct Notebook {
    reports: Mutex<Vec<Report>>,
    reported: Notify,
}

#[async_trait]
impl Reporter for Notebook {
    async fn report(&self, report: Report) {
        self.reports.lock().unwrap().push(report);
        self.reported.notify_one();
    }
}

impl Notebook {
    /// Returns a short form of the reports.
    pub(crate) fn reports(&self) -> Vec<String> {
        let short = |report: &Report| match report {
            Report::Signal { signal, .. } => format!("{:?}", signal.reading),
            Report::Taken { text, .. } => format!("Taken {text:?}"),
            Report::Flooding { .. } => "Flooding".to_owned(),
            Report::Denied { call, tool, .. } => format!("Denied {tool} {call}"),
            Report::Conversation { conversation, .. } => format!("Conversation {conversation}"),
            Report::ConversationGone { .. } => "ConversationGone".into(),
            Report::LastWords { text, .. } => format!("LastWords {text:?}"),
            Report::Spent { spend, .. } => format!("Spent {:?}", spend.turns),
        };
        self.reports.lock().unwrap().iter().map(short).collect()
    }

    /// Returns the signals of the agent, each with its source.
    pub(crate) fn with_source(&self) -> Vec<String> {
        let seen = |report: &Report| match report {
            Report::Signal { signal, .. } => Some(format!("{:?} {:?}", signal.source, signal.reading)),
            _ => None,
        };
        self.reports.lock().unwrap().iter().filter_map(seen).collect()
    }

    pub(crate) fn signals(&self) -> Vec<Signal> {
        let signal = |report: &Report| match report {
            Report::Signal { signal, .. } => Some(signal.clone()),
            _ => None,
        };
        self.reports.lock().unwrap().iter().filter_map(signal).collect()
    }

    /// Waits until the reports are as wished.
    pub(crate) async fn when(&self, is: impl Fn(&[String]) -> bool) -> Vec<String> {
        self.wait(|| self.reports(), is).await
    }

    pub(crate) async fn when_with_source(&self, is: impl Fn(&[String]) -> bool) -> Vec<String> {
        self.wait(|| self.with_source(), is).await
    }

    async fn wait(&self, read: impl Fn() -> Vec<String>, is: impl Fn(&[String]) -> bool) -> Vec<String> {
        loop {
            let reported = self.reported.notified();
            let reports = read();
            if is(&reports) {
                return reports;
            }
            reported.await;
        }
    }

    /// Returns the names of the reported turns.
    pub(crate) fn turns(&self) -> Vec<String> {
        let turn = |report: &Report| match report {
            Report::Taken { turn, .. } => Some(turn.clone()),
            _ => None,
        };
        self.reports.lock().unwrap().iter().filter_map(turn).collect()
    }

    /// Waits until there are so many, and no longer. With a paused clock the bound costs no time.
    pub(crate) async fn until(&self, count: usize) -> Vec<String> {
        let enough = async {
            while self.reports().len() < count {
                self.reported.notified().await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(60), enough).await;
        self.reports()
    }
}

pub(crate) fn process() -> ProcessRef {
    ProcessRef::new("process", "ses_4f/1")
}

pub(crate) fn follow() -> FollowOrder {
    FollowOrder {
        session: SESSION,
        attempt: ATTEMPT,
        process: process(),
        conversation: None,
        with_launch: None,
    }
}

/// Follows the process from now on, until it has ended or the guard is dropped.
pub(crate) fn following(
    agent: &Arc<CommandAgent>,
    order: FollowOrder,
    notebook: &Arc<Notebook>,
) -> JoinHandle<()> {
    let (agent, notebook) = (agent.clone(), notebook.clone());
    tokio::spawn(async move { agent.follow(&order, notebook).await })
}

/// An agent over buffers, and a folder of its own that goes with the test.
pub(crate) struct Stage {
    pub(crate) agent: Arc<CommandAgent>,
    pub(crate) notebook: Arc<Notebook>,
    _state: TempDir,
}

pub(crate) fn agent(buffers: &Arc<Buffers>, prompt: Prompt, args: &[&str]) -> Stage {
    let args = args.iter().map(ToString::to_string).collect();
    agent_with(buffers, Options { args, prompt, ..Options::default() })
}

pub(crate) fn agent_with(buffers: &Arc<Buffers>, options: Options) -> Stage {
    let state = tempfile::tempdir().unwrap();
    let options = Options { name: "mine".into(), program: "my-agent".into(), ..options };
    let path = state.path().to_owned();
    let ground = Ground {
        runtimes: runtimes(buffers),
        clock: buffers.clone(),
        state: path,
        hooks: None,
        environment: Default::default(),
        places: Default::default(),
    };
    let agent = Arc::new(CommandAgent::new(options, ground).unwrap());
    Stage { agent, notebook: Arc::default(), _state: state }
}

pub(crate) fn order(delivery: u32, tries: u32, text: &str) -> DeliverOrder {
    DeliverOrder {
        session: SESSION,
        attempt: ATTEMPT,
        process: Some(process()),
        conversation: None,
        delivery,
        tries,
        text: text.into(),
        interrupt: false,
    }
}
