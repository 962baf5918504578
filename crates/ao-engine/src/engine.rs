//! The loop. Start reading at [`Engine::run`] and [`Engine::take`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use ao_core::reaction::ConditionJudge;
use ao_core::{
    Effect, EffectKey, Input, Refusal, SNAPSHOT_FORMAT, Scope, StampedEvent, State, Timestamp, codec,
};
use ao_ports::{Clock, EventStore, NewRecord, Seq, Snapshot, StoreError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::error::{AskError, EngineError};
use crate::feed::Feed;
use crate::handle::{Answer, EngineRequest, Handle, InputReceipt, LongAsks};
use crate::load::load;
use crate::rules::EngineRules;
use crate::running::{Done, Running};
use crate::slots::AdapterSet;
use crate::timekeeper::Timekeeper;

/// The pause before timers are taken again if they led to no event the last time.
const SPIN_PAUSE: Duration = Duration::from_secs(1);

/// Options of the loop.
#[derive(Debug, Clone)]
pub struct Options {
    /// The number of inputs that one commit may cover.
    pub turn: usize,
    /// The capacity of the inbox. Senders wait beyond it, so a flood cannot fill the memory.
    pub inbox: usize,
    /// The number of events after which a snapshot is taken.
    pub snapshot_every: u64,
    /// The interval of reconciliation, besides every start.
    pub reconcile_every: Duration,
    /// The time after which an effect has failed.
    pub effect_timeout: Duration,
    /// The timeout of a look, a census and a notice, whose late results are useless.
    pub look_timeout: Duration,
    /// The timeout of creating, setting up and removing a workspace, which run scripts of users.
    pub script_timeout: Duration,
    /// The timeout of testing a merge. Each check has its own limit, and may wait in a long queue; this one is for a
    /// forge that hangs.
    pub test_timeout: Duration,
    /// The delay after the log could not be written.
    pub store_retry: Duration,
    /// The evaluator of the conditions of reactions.
    pub judge: ConditionJudge,
    /// Keeps asks that are too long for the state. Without it, their ends are lost.
    pub long_asks: Option<Arc<dyn LongAsks>>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            turn: 256,
            inbox: 1024,
            snapshot_every: 10_000,
            reconcile_every: Duration::from_secs(30),
            effect_timeout: Duration::from_secs(120),
            look_timeout: Duration::from_secs(20),
            script_timeout: Duration::from_secs(3600),
            test_timeout: Duration::from_secs(24 * 3600),
            store_retry: Duration::from_secs(1),
            judge: ConditionJudge::default(),
            long_asks: None,
        }
    }
}

impl Options {
    fn timeout(&self, effect: &Effect) -> Duration {
        match effect {
            Effect::CreateWorkspace { .. } => self.script_timeout,
            Effect::TestMerge { .. } => self.test_timeout,
            Effect::RunJob { job } => self.script_timeout + job.order.own_time(),
            // The adapter applies the project's own limit and reports the result; this is for an adapter that hangs.
            Effect::SetUp { plan, .. } => self.script_timeout + plan.setup.timeout,
            Effect::RemoveWorkspace { order, .. } => self.script_timeout + order.timeout,
            Effect::Follow { .. } => Duration::MAX,
            Effect::Look { .. } | Effect::Census { .. } | Effect::Notify { .. } => self.look_timeout,
            Effect::Launch { .. }
            | Effect::Answer { .. }
            | Effect::Deliver { .. }
            | Effect::CancelTurn { .. }
            | Effect::End { .. }
            | Effect::EndStray { .. }
            | Effect::Merge { .. } => self.effect_timeout,
        }
    }
}

/// The only owner of the state.
pub struct Engine {
    options: Options,
    rules: Arc<dyn EngineRules>,
    slots: Arc<AdapterSet>,
    store: Arc<dyn EventStore>,
    state: State,
    /// The position of the last event in the log.
    seq: Seq,
    snapshot: Seq,
    time: Timekeeper,
    inbox: mpsc::Receiver<EngineRequest>,
    feed: Feed,
    running: Running,
    /// The handle that lasting effects report to.
    handle: Handle,
    /// Set while timers are postponed, because they led to no event.
    not_before: Option<Instant>,
    /// Snapshots being written to disk.
    chores: JoinSet<()>,
    stop: CancellationToken,
}

/// Inputs with the channels that wait for their answers.
type Turn = Vec<EngineRequest>;

impl Engine {
    /// Reads the log and prepares the engine to run. Cancelling `stop` ends it.
    pub async fn open(
        options: Options,
        rules: Arc<dyn EngineRules>,
        slots: AdapterSet,
        store: Arc<dyn EventStore>,
        clock: Arc<dyn Clock>,
        stop: CancellationToken,
    ) -> Result<(Engine, Handle), EngineError> {
        let loaded = load(&*store).await?;
        let time = Timekeeper::new(clock, loaded.state.at);
        let (sender, inbox) = mpsc::channel(options.inbox);
        let feed = Feed::new();
        let handle = Handle {
            inbox: sender,
            feed: feed.clone(),
            store: store.clone(),
            long_asks: options.long_asks.clone(),
        };
        let engine = Engine {
            rules,
            slots: Arc::new(slots),
            store,
            state: loaded.state.judged_by(options.judge),
            seq: loaded.seq,
            snapshot: loaded.snapshot,
            time,
            inbox,
            feed,
            running: Running::default(),
            handle: handle.clone(),
            not_before: None,
            chores: JoinSet::new(),
            stop,
            options,
        };
        Ok((engine, handle))
    }

    /// Puts adapters into the slots before the engine runs, for adapters that need its handle.
    pub fn plug(&mut self, slots: AdapterSet) {
        self.slots = Arc::new(slots);
    }

    /// Runs until it is stopped. Running effects are cancelled; the next start wants them again.
    pub async fn run(mut self) -> Result<(), EngineError> {
        let mut reconcile = interval(self.options.reconcile_every);
        reconcile.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let due = self.next_due();
            let first = tokio::select! {
                biased;
                () = self.stop.cancelled() => break,
                // Before the inbox, which may never be empty. A timer moves when it is taken, so neither can starve
                // the others.
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => vec![request(Input::Tick)],
                _ = reconcile.tick() => self.reconcile(),
                Some(done) = self.running.next() => self.finished(done),
                Some(letter) = self.inbox.recv() => vec![letter],
            };
            let turn = self.gather(first);
            let (before, was_due) = (self.seq, due.is_some_and(|due| due <= Instant::now()));
            self.take(turn).await?;
            // A timer is due and leads to no event: a defect in our rules, but no reason to use up a core.
            self.not_before = (was_due && self.seq == before).then(|| Instant::now() + SPIN_PAUSE);
            while self.chores.try_join_next().is_some() {}
        }
        self.running.shutdown().await;
        self.chores.shutdown().await;
        self.save_snapshot().await;
        Ok(())
    }

    /// Adds all other inputs that are ready, so that one commit covers them all.
    fn gather(&mut self, mut turn: Turn) -> Turn {
        while turn.len() < self.options.turn {
            if let Some(done) = self.running.try_next() {
                let results = self.finished(done);
                turn.extend(results);
            } else if let Ok(letter) = self.inbox.try_recv() {
                turn.push(letter);
            } else {
                break;
            }
        }
        turn
    }

    /// Takes one turn: decide, commit, publish, answer, act.
    async fn take(&mut self, turn: Turn) -> Result<(), EngineError> {
        let mut happened: Vec<StampedEvent> = Vec::new();
        let mut answers: Vec<(Answer, Result<std::ops::Range<usize>, Refusal>)> = Vec::new();
        let mut views = Vec::new();
        let mut plugged = false;
        for letter in turn {
            match letter {
                EngineRequest::Input(input, answer) => {
                    let from = happened.len();
                    let moment = self.time.moment();
                    let outcome = self.rules.step(&mut self.state, &moment, *input);
                    match &outcome {
                        // The caller gets the refusal; a signal has no caller, so it is logged.
                        Err(refusal) if refusal.is_about_a_signal() => {
                            tracing::warn!(%refusal, "signal dropped");
                        }
                        Err(refusal) => tracing::debug!(%refusal, "input refused"),
                        Ok(_) => {}
                    }
                    let outcome = outcome.map(|events| happened.extend(events));
                    if let Some(answer) = answer {
                        answers.push((answer, outcome.map(|()| from..happened.len())));
                    }
                }
                EngineRequest::View(look) => views.push(look),
                EngineRequest::Plug(slots) => {
                    self.slots = Arc::new(*slots);
                    plugged = true;
                }
            }
        }
        if let Err(err) = self.commit(&happened).await {
            for (answer, _) in answers {
                let _ = answer.send(Err(AskError::NotStored(err.clone())));
            }
            // Stopped meanwhile, there is no state on disk to view: callers get the error that the engine has
            // stopped.
            if self.recover(err).await? {
                for look in views {
                    look(&self.state, self.seq);
                }
            }
            return Ok(());
        }
        self.feed.publish(self.seq + 1 - happened.len() as u64, &happened);
        for (answer, outcome) in answers {
            // The caller may have gone. The input is carried out anyway.
            let _ = answer.send(
                outcome
                    .map_err(AskError::from)
                    .map(|range| InputReceipt { seq: self.seq, events: happened[range].to_vec() }),
            );
        }
        for look in views {
            look(&self.state, self.seq);
        }
        let mut scopes: BTreeSet<Scope> =
            happened.iter().filter_map(|stamped| stamped.event.scope()).collect();
        if plugged {
            // Entries that waited for their forge can continue.
            scopes.extend(self.state.projects.keys().cloned().map(Scope::Project));
        }
        for scope in &scopes {
            self.act(scope);
        }
        if self.seq - self.snapshot >= self.options.snapshot_every {
            self.begin_snapshot();
        }
        Ok(())
    }

    async fn commit(&mut self, happened: &[StampedEvent]) -> Result<(), StoreError> {
        if happened.is_empty() {
            return Ok(());
        }
        let records = happened.iter().map(record).collect();
        self.seq = self.store.append(records, Some(self.seq)).await?;
        Ok(())
    }

    /// Drops everything that is not on disk, and continues from the log. Results of effects are dropped with it, so
    /// all wanted effects start again. Returns whether it succeeded before it was stopped.
    async fn recover(&mut self, err: StoreError) -> Result<bool, EngineError> {
        let mut err = EngineError::Store(err);
        loop {
            match err {
                EngineError::Store(StoreError::Full { .. } | StoreError::Failed { .. }) => {}
                fatal => return Err(fatal),
            }
            tracing::error!(error = %err, source = ?std::error::Error::source(&err), "nothing can be written down");
            tokio::select! {
                () = self.stop.cancelled() => {
                    // The state holds events that are not on disk, and a snapshot would make them permanent.
                    self.snapshot = self.seq;
                    return Ok(false);
                }
                () = tokio::time::sleep(self.options.store_retry) => {}
            }
            match load(&*self.store).await {
                Ok(loaded) => {
                    self.state = loaded.state.judged_by(self.options.judge);
                    self.seq = loaded.seq;
                    for scope in ao_core::scopes(&self.state) {
                        self.act(&scope);
                    }
                    return Ok(true);
                }
                Err(again) => err = again,
            }
        }
    }

    // ── acting ──

    /// Starts the effects that a scope wants and that are not running.
    fn act(&mut self, scope: &Scope) {
        let wanted = self.rules.wants(&self.state, scope);
        match scope {
            Scope::Session(session) => self.running.break_off(*session, &wanted),
            Scope::Project(project) => {
                let project_state = self.state.projects.get(project);
                self.running.abandon(project, |key| match key {
                    EffectKey::TestMerge { pull, head, base, ahead, checks, .. } => {
                        let queue = project_state.and_then(|project| project.queue_with(pull));
                        queue.and_then(|queue| queue.in_test(pull, head, base, ahead, *checks)).is_some()
                    }
                    _ => true,
                });
            }
            Scope::Host | Scope::Notice(_) | Scope::Job(_) => {}
        }
        for effect in wanted {
            self.begin(effect);
        }
    }

    fn begin(&mut self, effect: Effect) {
        // Forges are plugged in shortly after the start. A missing forge is no fault of the change, and must not use
        // up its tries.
        let merged = match &effect {
            Effect::TestMerge { order, .. } => Some(&order.pull),
            Effect::Merge { order, .. } => Some(&order.pull),
            _ => None,
        };
        if merged.is_some_and(|pull| self.slots.scm(&pull.project).is_err()) {
            tracing::debug!(effect = %effect.key(), "waits for the forge of its project");
            return;
        }
        let timeout = self.options.timeout(&effect);
        let reporter = Arc::new(self.handle.clone());
        self.running.begin(effect, self.slots.clone(), self.time.now(), timeout, reporter);
    }

    fn finished(&mut self, done: Done) -> Turn {
        self.running.finished(done).into_iter().map(request).collect()
    }

    /// Compares the wanted state with the actual one. The first turn after a crash is no different from any other.
    fn reconcile(&mut self) -> Turn {
        for scope in ao_core::scopes(&self.state) {
            self.act(&scope);
        }
        for runtime in ao_core::runtimes(&self.state) {
            self.begin(Effect::Census { runtime });
        }
        // The wall clock may have been moved forward while we slept.
        vec![request(Input::Tick)]
    }

    fn next_due(&mut self) -> Option<Instant> {
        let due: Timestamp = self.state.next_due()?;
        let due = Instant::now() + self.time.until(due);
        Some(self.not_before.map_or(due, |not_before| due.max(not_before)))
    }

    // ── snapshots ──

    fn begin_snapshot(&mut self) {
        self.snapshot = self.seq;
        let (store, state, seq) = (self.store.clone(), self.state.clone(), self.seq);
        self.chores.spawn(async move { keep_snapshot(&*store, &state, seq).await });
    }

    async fn save_snapshot(&mut self) {
        if self.seq > self.snapshot {
            keep_snapshot(&*self.store, &self.state, self.seq).await;
        }
    }
}

/// Stores a snapshot. It only saves time: without it, the log is replayed.
async fn keep_snapshot(store: &dyn EventStore, state: &State, seq: Seq) {
    let snapshot = Snapshot { seq, format: SNAPSHOT_FORMAT, body: state.to_snapshot() };
    if let Err(err) = store.save_snapshot(snapshot).await {
        tracing::warn!(%err, "snapshot not kept");
    }
}

fn request(input: Input) -> EngineRequest {
    EngineRequest::Input(Box::new(input), None)
}

fn record(stamped: &StampedEvent) -> NewRecord {
    let encoded = codec::encode(&stamped.event);
    NewRecord {
        at: stamped.at,
        kind: encoded.kind,
        version: encoded.version,
        scope: encoded.scope,
        body: encoded.body,
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("seq", &self.seq).finish_non_exhaustive()
    }
}
