//! A runtime whose one process is two buffers.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_agent::{CommandAgent, Ground, Options, Prompt};
use ao_core::input::ProcessLife;
use ao_core::{Attempt, SessionId};
use ao_ports::{
    Agent, CensusEntry, DeliverOrder, EndOrder, FollowOrder, OutputPart, ProcessRef, Runtime,
    RuntimeAbilities, RuntimeError, Runtimes, Screen, StartSpec, WriteOrder, WriteOutcome,
};
use ao_testkit::{ManualClock, ReportLog};
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
    pub(crate) life: Mutex<Option<ProcessLife>>,
    /// It shares no files with this machine, and places none.
    pub(crate) is_elsewhere: AtomicBool,
    pub(crate) clock: ManualClock,
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
        *self.life.lock().unwrap() = Some(ProcessLife::Gone { code: Some(0) });
        self.changed.notify_waiters();
    }

    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    fn piece(&self, from: u64, limit: usize) -> OutputPart {
        let ended = matches!(*self.life.lock().unwrap(), Some(ProcessLife::Gone { .. }));
        let said = self.said.lock().unwrap();
        let rest = said.get(from as usize..).unwrap_or_default();
        OutputPart {
            from,
            bytes: rest[..rest.len().min(limit)].to_vec(),
            ended: ended && rest.len() <= limit,
        }
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
    ) -> Result<OutputPart, RuntimeError> {
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

    async fn look(&self, _: &ProcessRef) -> ProcessLife {
        self.life.lock().unwrap().unwrap_or(ProcessLife::Alive { busy: false })
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
    notebook: &Arc<ReportLog>,
) -> JoinHandle<()> {
    let (agent, notebook) = (agent.clone(), notebook.clone());
    tokio::spawn(async move { agent.follow(&order, notebook).await })
}

/// An agent over buffers, and a folder of its own that goes with the test.
pub(crate) struct Stage {
    pub(crate) agent: Arc<CommandAgent>,
    pub(crate) notebook: Arc<ReportLog>,
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
        clock: Arc::new(buffers.clock.clone()),
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
