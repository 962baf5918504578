//! The daemon's lives, one after the other, and the world that goes on around them.

use std::sync::Arc;
use std::time::Duration;

use ao_core::pull::PullInput;
use ao_core::{Input, ProjectId, State};
use ao_engine::{AskError, Engine, EngineError, Handle, Options, Receipt, Rules};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fakes::{Fake, MemoryStore, SimClock, slots};
use crate::outside::{self, Happening};
use crate::script;
use crate::trace::Line;
use crate::universe::{Careless, Inner, Universe};
use crate::watch::{self, Invariant, Watched};

/// The part of a world that lives on simulated time.
pub(crate) struct Sim {
    pub(crate) universe: Arc<Universe>,
    rules: Arc<dyn Rules>,
    options: Options,
    pub(crate) projects: Vec<ProjectId>,
    life: Option<Life>,
    /// Inputs on their way to the engine. Nobody waits for the answers.
    asks: JoinSet<()>,
    began: Instant,
}

/// One of the daemon's lives.
struct Life {
    handle: Handle,
    task: JoinHandle<Result<(), EngineError>>,
    stop: CancellationToken,
}

impl Sim {
    /// A world without a daemon. To be called on the runtime whose time it is to live on.
    pub(crate) fn new(universe: Arc<Universe>, rules: Arc<dyn Rules>) -> Sim {
        let projects = vec![ProjectId::new("app"), ProjectId::new("lib")];
        let options = Options {
            judge: ao_core::reaction::Judge::default(),
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
        Sim { universe, rules, options, projects, life: None, asks, began }
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
                let life = inner.life;
                inner.note(|| Line::Note(format!("the daemon starts, life {life}")));
                Fake { universe: self.universe.clone(), life }
            };
            let stop = CancellationToken::new();
            let watched = Watched { universe: self.universe.clone(), rules: self.rules.clone() };
            let opened = tokio::select! {
                biased;
                () = self.universe.crashed.notified() => continue,
                opened = Engine::open(
                    self.options.clone(),
                    Arc::new(watched),
                    slots(&fake, &self.projects),
                    Arc::new(MemoryStore(fake.clone())),
                    Arc::new(SimClock(fake.clone())),
                    stop.clone(),
                ) => opened,
            };
            match opened {
                Ok((engine, handle)) => {
                    self.compare(&handle);
                    self.life = Some(Life { handle, task: tokio::spawn(engine.run()), stop });
                    return;
                }
                Err(_) => tokio::time::sleep(Duration::from_secs(1)).await,
            }
        }
    }

    /// Has the engine's state, as it was read from the log, compared with the shadow.
    fn compare(&mut self, handle: &Handle) {
        let (handle, universe) = (handle.clone(), self.universe.clone());
        self.asks.spawn(async move {
            let compare = move |state: &State| watch::agrees(&mut universe.lock(), state);
            let _ = handle.view(compare).await;
        });
    }

    /// The daemon is dead; what it had in memory is gone, and the next one starts from the log.
    pub(crate) async fn revive(&mut self) {
        if let Some(life) = self.life.take() {
            life.task.abort();
            let _ = life.task.await;
        }
        {
            let mut inner = self.universe.lock();
            inner.note(|| Line::Note("the daemon crashed".into()));
            if inner.careless == Careless::Store {
                inner.log.records.pop();
            }
        }
        self.start().await;
    }

    /// An orderly restart.
    pub(crate) async fn restart(&mut self) {
        if let Some(life) = self.life.take() {
            life.stop.cancel();
            tokio::select! {
                biased;
                () = self.universe.crashed.notified() => {}
                _ = life.task => {}
            }
        }
        self.start().await;
    }

    // ── what happens ──

    /// Lets the world go on until then, or until something does not hold.
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

    async fn happens(&mut self, happening: Happening) {
        match happening {
            Happening::Report(report) => self.post(report.into()),
            Happening::Act => script::act(self).await,
            Happening::Ran(rerun) => {
                let seen = self.with(|inner| outside::ran(inner, &rerun));
                if let Some(facts) = seen {
                    self.post(Input::Pull { pull: rerun.pull, input: PullInput::Seen(Box::new(facts)) });
                }
            }
            other => outside::perform(&mut self.universe.lock(), other),
        }
    }

    /// Sends an input to the engine, if it is up to hear it.
    pub(crate) fn post(&mut self, input: Input) {
        let Some(life) = &self.life else { return };
        let handle = life.handle.clone();
        self.asks.spawn(async move {
            let _ = handle.ask(input).await;
        });
    }

    pub(crate) async fn ask(&mut self, input: Input) -> Result<Receipt, AskError> {
        let handle = self.handle();
        handle.ask(input).await
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut Inner) -> T) -> T {
        look(&mut self.universe.lock())
    }
}
