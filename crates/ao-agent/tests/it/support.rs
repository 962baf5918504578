//! A runtime whose one process is two buffers.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
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
use serde_json::{Value, json};
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
    /// It acts on the messages that it gets, as an agent of the line protocol does.
    plays: bool,
    /// The asks of the current turn that it has not opened yet, and the number of those that it has.
    asks: Mutex<(VecDeque<String>, u32)>,
    turns: Mutex<Vec<String>>,
    /// Its runtime writes each number once, also if it is asked again.
    pub(crate) remembers_writes: AtomicBool,
    /// Writes fail, as if the daemon ended before.
    pub(crate) fails_writes: AtomicBool,
    /// It shares no files with this machine, and places none.
    pub(crate) is_elsewhere: AtomicBool,
    pub(crate) clock: ManualClock,
    /// The number of reads of output.
    asked: AtomicU64,
    /// Something was said, or the process has ended.
    changed: Notify,
}

impl Buffers {
    /// A process that acts on the messages that it gets.
    pub(crate) fn playing() -> Buffers {
        Buffers { plays: true, ..Buffers::default() }
    }

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

    pub(crate) fn turns(&self) -> Vec<String> {
        self.turns.lock().unwrap().clone()
    }

    /// Acts on a line as an agent of the line protocol does, with tags in its messages.
    fn play(&self, line: &Value) {
        let text = line["text"].as_str().unwrap_or_default();
        match line["ao"].as_str() {
            Some("message") => {
                self.turns.lock().unwrap().push(text.to_owned());
                self.says(&json!({ "ao": "taken", "delivery": line["delivery"], "text": text }).to_string());
                self.says(r#"{"ao":"working"}"#);
                let asks = text.split("[[ask ").skip(1).filter_map(|part| part.split_once("]]"));
                self.asks.lock().unwrap().0 = asks.map(|(question, _)| question.to_owned()).collect();
                if !text.contains("[[work") {
                    self.go_on();
                }
            }
            Some("answer") => {
                self.says(&json!({ "ao": "ask_closed", "ask": line["ask"] }).to_string());
                self.says(r#"{"ao":"working"}"#);
                self.go_on();
            }
            Some("cancel") => self.says(r#"{"ao":"idle"}"#),
            other => panic!("{other:?} is no word of the protocol"),
        }
    }

    /// Opens the next ask of the turn, or ends it.
    fn go_on(&self) {
        let mut asks = self.asks.lock().unwrap();
        let Some(question) = asks.0.pop_front() else { return self.says(r#"{"ao":"idle"}"#) };
        asks.1 += 1;
        let id = format!("ask-{}", asks.1);
        self.says(&json!({ "ao": "asking", "ask": id, "question": question }).to_string());
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
            remembers_writes: self.remembers_writes.load(Ordering::Relaxed),
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
        if self.fails_writes.load(Ordering::Relaxed) {
            return Err(RuntimeError::Failed("no writes".into()));
        }
        let is_new = self.numbers.lock().unwrap().insert(order.number);
        if !is_new && self.remembers_writes.load(Ordering::Relaxed) {
            return Ok(WriteOutcome::AlreadyWritten);
        }
        assert!(is_new, "a number is used once");
        let line = String::from_utf8(order.bytes.clone()).unwrap();
        self.told.lock().unwrap().push(line.clone());
        if self.plays {
            self.play(&serde_json::from_str(line.trim()).unwrap());
        }
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
    state: TempDir,
}

impl Stage {
    /// Returns the folder in which the agent keeps its state over restarts.
    pub(crate) fn folder(&self) -> &Path {
        self.state.path()
    }
}

pub(crate) fn agent(buffers: &Arc<Buffers>, prompt: Prompt, args: &[&str]) -> Stage {
    let args = args.iter().map(ToString::to_string).collect();
    agent_with(buffers, Options { args, prompt, ..Options::default() })
}

pub(crate) fn agent_with(buffers: &Arc<Buffers>, options: Options) -> Stage {
    let state = tempfile::tempdir().unwrap();
    Stage { agent: agent_over(buffers, options, state.path()), notebook: Arc::default(), state }
}

/// An agent with the state that is in a folder, as a daemon has it that has just started.
pub(crate) fn agent_over(buffers: &Arc<Buffers>, options: Options, state: &Path) -> Arc<CommandAgent> {
    let options = Options { name: "mine".into(), program: "my-agent".into(), ..options };
    let ground = Ground {
        runtimes: runtimes(buffers),
        clock: Arc::new(buffers.clock.clone()),
        state: state.to_owned(),
        hooks: None,
        environment: Default::default(),
        places: Default::default(),
    };
    Arc::new(CommandAgent::new(options, ground).unwrap())
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
