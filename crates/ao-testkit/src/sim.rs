//! The lives of the daemon, one after the other, and the world around them.

use std::sync::Arc;
use std::time::Duration;

use ao_core::{Input, ProjectId, State};
use ao_engine::{AdapterSet, AskError, Engine, EngineError, EngineRules, Handle, InputReceipt, Options};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fakes::{FakePort, MemoryStore, SimClock, slots, trackers};
use crate::outside::{self, WorldEvent};
use crate::parts::{DaemonParts, DaemonPorts, RunningParts, WatchedJobs};
use crate::script;
use crate::trace::TraceLine;
use crate::universe::{FakeBug, SimUniverse, UniverseState};
use crate::watch::{self, Invariant, WatchedRules};

/// The part of a world that runs on simulated time.
pub(crate) struct SimDriver {
    pub(crate) universe: Arc<SimUniverse>,
    rules: Arc<dyn EngineRules>,
    parts: Arc<dyn DaemonParts>,
    options: Options,
    pub(crate) projects: Vec<ProjectId>,
    life: Option<DaemonLife>,
    /// Inputs on their way to the engine. The answers are ignored.
    asks: JoinSet<()>,
    began: Instant,
}

/// One life of the daemon.
struct DaemonLife {
    handle: Handle,
    task: JoinHandle<Result<(), EngineError>>,
    /// The tasks beside the engine.
    beside: JoinSet<()>,
    stop: CancellationToken,
}

impl SimDriver {
    /// Creates a world without a daemon. Call it on the runtime that has the simulated time.
    pub(crate) fn new(
        universe: Arc<SimUniverse>,
        rules: Arc<dyn EngineRules>,
        parts: Arc<dyn DaemonParts>,
    ) -> SimDriver {
        let projects = vec![ProjectId::new("app"), ProjectId::new("lib")];
        let options = Options {
            judge: ao_core::reaction::ConditionJudge::default(),
            turn: 64,
            inbox: 64,
            snapshot_every: 300,
            reconcile_every: Duration::from_secs(30),
            effect_timeout: Duration::from_secs(20),
            look_timeout: Duration::from_secs(20),
            script_timeout: Duration::from_secs(20),
            test_timeout: Duration::from_secs(20),
            store_retry: Duration::from_secs(1),
        };
        let (asks, began) = (JoinSet::new(), Instant::now());
        SimDriver { universe, rules, parts, options, projects, life: None, asks, began }
    }

    pub(crate) fn elapsed(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    pub(crate) fn handle(&self) -> Handle {
        self.life.as_ref().expect("the daemon is up").handle.clone()
    }

    // ── the daemon's lives ──

    /// Starts the daemon, again and again until it is up: reading the log can fail too.
    pub(crate) async fn start(&mut self) {
        loop {
            let fake = {
                let mut inner = self.universe.lock();
                inner.life += 1;
                inner.dead = false;
                inner.outside.watchers.clear();
                inner.outside.looking.clear();
                let life = inner.life;
                inner.note(|| TraceLine::Note(format!("the daemon starts, life {life}")));
                FakePort::new(self.universe.clone(), life)
            };
            let stop = CancellationToken::new();
            let watched = WatchedRules { universe: self.universe.clone(), rules: self.rules.clone() };
            let opened = tokio::select! {
                biased;
                () = self.universe.crashed.notified() => continue,
                opened = Engine::open(
                    self.options.clone(),
                    Arc::new(watched),
                    AdapterSet::default(),
                    Arc::new(MemoryStore(fake.clone())),
                    Arc::new(SimClock(fake.clone())),
                    stop.clone(),
                ) => opened,
            };
            match opened {
                Ok((mut engine, handle)) => {
                    self.compare(&handle);
                    let beside = self.start_parts(&fake, &mut engine, &handle);
                    self.life = Some(DaemonLife { handle, task: tokio::spawn(engine.run()), beside, stop });
                    return;
                }
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }

    /// Starts the parts beside the engine, and fills its slots.
    fn start_parts(&self, fake: &FakePort, engine: &mut Engine, handle: &Handle) -> JoinSet<()> {
        let mut slots = slots(fake, &self.projects);
        let RunningParts { jobs, tasks } = self.parts.start(DaemonPorts {
            handle: handle.clone(),
            clock: Arc::new(SimClock(fake.clone())),
            slots: slots.clone(),
            trackers: trackers(fake, &self.projects),
        });
        slots.jobs = Some(Arc::new(WatchedJobs { fake: fake.clone(), jobs }));
        engine.plug(slots);
        let lost = fake.life > 1 && self.with(|inner| inner.fake_bug == FakeBug::Looks);
        if lost { JoinSet::new() } else { tasks }
    }

    /// Compares the engine's state, as read from the log, with the shadow.
    fn compare(&mut self, handle: &Handle) {
        let (handle, universe) = (handle.clone(), self.universe.clone());
        self.asks.spawn(async move {
            let compare = move |state: &State| watch::agrees(&mut universe.lock(), state);
            let _ = handle.view(compare).await;
        });
    }

    /// Restarts the daemon after a crash. Its memory is lost, and the next one starts from the log.
    pub(crate) async fn revive(&mut self) {
        if let Some(mut life) = self.life.take() {
            life.task.abort();
            let _ = life.task.await;
            life.beside.shutdown().await;
        }
        {
            let mut inner = self.universe.lock();
            inner.note(|| TraceLine::Note("the daemon crashed".into()));
            if inner.fake_bug == FakeBug::Store {
                inner.log.records.pop();
            }
        }
        self.start().await;
    }

    /// An orderly restart.
    pub(crate) async fn restart(&mut self) {
        if let Some(mut life) = self.life.take() {
            life.stop.cancel();
            tokio::select! {
                biased;
                () = self.universe.crashed.notified() => {}
                _ = life.task => {}
            }
            life.beside.shutdown().await;
        }
        self.start().await;
    }

    // ── events ──

    /// Runs the world until then, or until an invariant is violated.
    pub(crate) async fn run_until(&mut self, until: u64) {
        loop {
            let next = {
                let inner = self.universe.lock();
                if inner.over {
                    return;
                }
                inner.outside.next().unwrap_or(until).min(until)
            };
            let wake = self.began + Duration::from_millis(next);
            let life = self.life.as_mut().expect("the daemon is up");
            tokio::select! {
                biased;
                () = self.universe.halted.notified() => return,
                () = self.universe.crashed.notified() => self.revive().await,
                ended = &mut life.task => {
                    self.life = None;
                    let what = match ended {
                        Ok(Ok(())) => "it stopped by itself".to_owned(),
                        Ok(Err(err)) => format!("it gave up: {err}"),
                        Err(err) => format!("it panicked: {err}"),
                    };
                    self.universe.lock().broken(Invariant::EngineLives, what);
                    self.start().await;
                }
                Some(ended) = life.beside.join_next() => {
                    let what = format!("a task beside the engine has ended: {ended:?}");
                    self.universe.lock().broken(Invariant::EngineLives, what);
                }
                () = self.universe.sooner.notified() => {}
                () = tokio::time::sleep_until(wake) => {
                    while self.asks.try_join_next().is_some() {}
                    let now = self.elapsed();
                    loop {
                        let due = self.universe.lock().outside.pop_due(now);
                        let Some(happening) = due else { break };
                        self.happens(happening).await;
                    }
                    if now >= until {
                        return;
                    }
                }
            }
        }
    }

    async fn happens(&mut self, happening: WorldEvent) {
        match happening {
            WorldEvent::Report(report) => self.post(report.into()),
            WorldEvent::Act => script::act(self).await,
            WorldEvent::Ran(rerun) => self.with(|inner| outside::ran(inner, &rerun)),
            WorldEvent::Post(inputs) => inputs.into_iter().for_each(|input| self.post(input)),
            other => outside::perform(&mut self.universe.lock(), other),
        }
    }

    /// Sends an input to the engine, if it is up.
    pub(crate) fn post(&mut self, input: Input) {
        let Some(life) = &self.life else { return };
        let handle = life.handle.clone();
        self.asks.spawn(async move {
            let _ = handle.ask(input).await;
        });
    }

    pub(crate) async fn ask(&mut self, input: Input) -> Result<InputReceipt, AskError> {
        let handle = self.handle();
        handle.ask(input).await
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut UniverseState) -> T) -> T {
        look(&mut self.universe.lock())
    }
}
