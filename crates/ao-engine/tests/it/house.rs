//! A daemon in a temporary folder.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::budget::SpendLimits;
use ao_core::effect::{LaunchPlan, SetUpPlan, WorkspacePlan};
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::input::{ProcessLife, SpawnRequest};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::session::{AgentAbilities, AgentChoice, ProcessRef, SessionRole, StatusWord};
use ao_core::workspace::TreeFacts;
use ao_core::{Attempt, Event, Input, ProjectId, SessionId, TaskId, Timestamp};
use ao_engine::{AdapterSet, AskError, CoreRules, Engine, EngineError, Handle, Options};
use ao_ports::{
    Agent, AgentError, AnswerOrder, AnswerOutcome, CancelOrder, Cancelled, CensusEntry, CleanedFiles, Clock,
    CreatedWorkspace, DeliverOrder, DeliveryOutcome, EndOrder, EventStore, ExecEnd, ExecOrder, ExecOutcome,
    FollowOrder, LaunchPreparation, LookOrder, Notifier, OutputPart, ProcessIo, ProgramCommand,
    RemovalOutcome, RemoveOrder, Report, Reporter, Runtime, RuntimeAbilities, RuntimeError, Runtimes, Screen,
    StartSpec, TreeRef, Workspace, WorkspaceDrift, WorkspaceError, WorkspaceSurvey, WriteOrder, WriteOutcome,
};
use ao_store::Store;
use ao_testkit::WallClock;
use async_trait::async_trait;
use camino::{Utf8Path, Utf8PathBuf};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The outside world, and what is to go wrong in it.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) alive: Mutex<BTreeMap<(SessionId, Attempt), ProcessRef>>,
    pub(crate) starts: AtomicU32,
    pub(crate) taken: Mutex<Vec<String>>,
    /// How many launches panic before one works.
    pub(crate) panics: AtomicU32,
    /// Workspaces hang for ever while this is set.
    pub(crate) hangs: AtomicBool,
    /// Followers see the end of everything at once.
    pub(crate) short_sighted: AtomicBool,
    pub(crate) followed: Followers,
    /// The runtime shares no files with this machine.
    pub(crate) is_elsewhere: AtomicBool,
    /// The commands that were run where agents live, with their folders.
    pub(crate) executed: Mutex<Vec<(String, String)>>,
    /// The life and the folder of each process in a census, if they are not the usual ones.
    pub(crate) census_shows: Mutex<Option<(ProcessLife, Option<String>)>>,
}

/// Who reads along.
pub(crate) struct Followers(watch::Sender<Followed>);

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Followed {
    pub(crate) begun: u32,
    pub(crate) now: u32,
}

impl Followers {
    pub(crate) async fn wait_for(&self, wanted: impl FnMut(&Followed) -> bool) {
        self.0.subscribe().wait_for(wanted).await.expect("the world stands");
    }

    pub(crate) fn begun(&self) -> u32 {
        self.0.borrow().begun
    }

    fn begin(&self) -> impl Drop + '_ {
        struct Leaves<'a>(&'a watch::Sender<Followed>);
        impl Drop for Leaves<'_> {
            fn drop(&mut self) {
                self.0.send_modify(|followed| followed.now -= 1);
            }
        }
        self.0.send_modify(|followed| {
            *followed = Followed { begun: followed.begun + 1, now: followed.now + 1 }
        });
        Leaves(&self.0)
    }
}

impl Default for Followers {
    fn default() -> Followers {
        Followers(watch::Sender::new(Followed::default()))
    }
}

pub(crate) struct House {
    pub(crate) handle: Handle,
    pub(crate) store: Store,
    stop: CancellationToken,
    running: JoinHandle<Result<(), EngineError>>,
}

impl House {
    pub(crate) async fn open(dir: &Utf8Path, world: &Arc<World>) -> House {
        House::open_with(dir, world, ao_store::Options::default(), Options::default()).await
    }

    pub(crate) async fn open_with(
        dir: &Utf8Path,
        world: &Arc<World>,
        store: ao_store::Options,
        options: Options,
    ) -> House {
        House::open_plugged(dir, world, store, options, BTreeMap::new()).await
    }

    pub(crate) async fn open_plugged(
        dir: &Utf8Path,
        world: &Arc<World>,
        store: ao_store::Options,
        options: Options,
        notifiers: BTreeMap<String, Arc<dyn Notifier>>,
    ) -> House {
        let store = Store::open(dir, store).expect("the store opens");
        let slots = AdapterSet {
            runtimes: Runtimes::from_iter([world.clone() as Arc<dyn Runtime>]),
            agents: BTreeMap::from([("parrot".to_owned(), world.clone() as Arc<dyn Agent>)]),
            workspaces: BTreeMap::from([("folder".to_owned(), world.clone() as Arc<dyn Workspace>)]),
            notifiers,
            ..AdapterSet::default()
        };
        let stop = CancellationToken::new();
        let log: Arc<dyn EventStore> = Arc::new(store.clone());
        let (engine, handle) = Engine::open(
            options,
            Arc::new(CoreRules),
            slots,
            log,
            Arc::new(WallClock::default()),
            stop.clone(),
        )
        .await
        .expect("the engine opens");
        House { handle, store, stop, running: tokio::spawn(engine.run()) }
    }

    pub(crate) async fn stop(self) -> Result<(), EngineError> {
        self.stop.cancel();
        let ended = self.running.await.expect("the engine does not panic");
        self.store.close().await.expect("the store closes");
        ended
    }

    pub(crate) async fn with_project(&self) {
        let config = ProjectConfig {
            path: "app".into(),
            default_branch: "main".into(),
            max_live: None,
            ..ProjectConfig::default()
        };
        let input = ProjectInput::Configure(Box::new(config));
        self.handle.ask(Input::Project { project: app(), input }).await.expect("the project is added");
    }

    pub(crate) async fn spawn(&self, key: &str) -> Result<SessionId, AskError> {
        let receipt = self.handle.ask(Input::Spawn(Box::new(request(key)))).await?;
        Ok(receipt
            .events
            .iter()
            .find_map(|stamped| stamped.event.session())
            .expect("a spawn makes a session"))
    }

    pub(crate) async fn status(&self, session: SessionId) -> Option<StatusWord> {
        let now = now();
        self.handle
            .view(move |state| state.sessions.get(&session).map(|session| session.status(now).word))
            .await
            .expect("the engine runs")
    }

    /// How many messages wait for a session's agent.
    pub(crate) async fn waiting(&self, session: SessionId) -> usize {
        let look = move |state: &ao_core::State| state.sessions[&session].outbox.waiting.len();
        self.handle.view(look).await.expect("the engine runs")
    }

    /// Waits for an event that the test is about.
    pub(crate) async fn until_event(&self, mut wanted: impl FnMut(&Event) -> bool) {
        let mut feed = self.handle.subscribe(0);
        let wait = async {
            while let Some(published) = feed.next().await.expect("the feed goes on") {
                if wanted(&published.event) {
                    return;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(20), wait).await.expect("it happens within its time");
    }
}

pub(crate) fn temp() -> (tempfile::TempDir, Utf8PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let path = Utf8PathBuf::from_path_buf(dir.path().join("data")).expect("a readable path");
    (dir, path)
}

pub(crate) fn app() -> ProjectId {
    ProjectId::new("app")
}

pub(crate) fn request(key: &str) -> SpawnRequest {
    SpawnRequest {
        project: app(),
        task: Some(TaskId { project: app(), key: key.into() }),
        role: SessionRole::Worker,
        title: key.into(),
        prompt: format!("Do {key}."),
        name: None,
        branch: None,
        origin: Default::default(),
        agent: AgentChoice {
            name: "parrot".into(),
            abilities: AgentAbilities { resume: true, ..AgentAbilities::default() },
            ..AgentChoice::default()
        },
        runtime: "here".into(),
        workspace: "folder".into(),
        priority: 0,
        limits: SpendLimits::default(),
        trusted: false,
    }
}

pub(crate) fn idle(attempt: Attempt) -> Signal {
    Signal {
        attempt,
        source: SignalSource::Protocol,
        at: now(),
        confidence: Confidence::High,
        reading: Reading::Idle,
    }
}

fn now() -> Timestamp {
    WallClock::default().now()
}

#[async_trait]
impl Workspace for World {
    async fn create(
        &self,
        _: SessionId,
        _: Attempt,
        plan: &WorkspacePlan,
    ) -> Result<CreatedWorkspace, WorkspaceError> {
        if self.hangs.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        Ok(CreatedWorkspace { path: format!("app/{}", plan.name), base: "c0".into(), as_found: false })
    }

    async fn set_up(&self, _: SessionId, _: Attempt, _: &SetUpPlan) -> Result<(), WorkspaceError> {
        Ok(())
    }

    async fn end_programs(&self, _: SessionId, _: &str) -> Result<(), WorkspaceError> {
        Ok(())
    }

    async fn whereabouts(&self, _: &TreeRef) -> WorkspaceDrift {
        WorkspaceDrift::default()
    }

    async fn survey(&self, _: &str, _: &[TreeRef]) -> Result<Vec<WorkspaceSurvey>, WorkspaceError> {
        Ok(vec![])
    }

    async fn clean(&self, _: &TreeRef) -> Result<CleanedFiles, WorkspaceError> {
        Ok(CleanedFiles { bytes: 0, paths: 0 })
    }

    async fn forget_rescues(&self, _: &str, _: Timestamp) -> Result<u32, WorkspaceError> {
        Ok(0)
    }

    async fn inspect(&self, _: &TreeRef) -> TreeFacts {
        TreeFacts::default()
    }

    async fn remove(&self, _: &RemoveOrder) -> Result<RemovalOutcome, WorkspaceError> {
        Ok(RemovalOutcome::Removed { rescue: None })
    }
}

#[async_trait]
impl Agent for World {
    fn abilities(&self) -> AgentAbilities {
        AgentAbilities { resume: true, ..AgentAbilities::default() }
    }

    async fn prepare(
        &self,
        _: SessionId,
        _: Attempt,
        _: &LaunchPlan,
    ) -> Result<LaunchPreparation, AgentError> {
        let command = ProgramCommand {
            program: "parrot".into(),
            args: vec![],
            env: BTreeMap::new(),
            pass: vec![],
            secrets: vec![],
            files: vec![],
            io: ProcessIo::Pipes,
        };
        Ok(LaunchPreparation::Run { command, conversation: None })
    }

    async fn deliver(&self, order: &DeliverOrder) -> Result<DeliveryOutcome, AgentError> {
        self.taken.lock().unwrap().push(order.text.clone());
        Ok(DeliveryOutcome::Taken { turn: order.delivery.to_string(), text: order.text.clone() })
    }

    async fn follow(&self, order: &FollowOrder, reporter: Arc<dyn Reporter>) {
        let _leaves = self.followed.begin();
        if self.short_sighted.load(Ordering::Relaxed) {
            return;
        }
        let signal = Signal {
            attempt: order.attempt,
            source: SignalSource::Protocol,
            at: now(),
            confidence: Confidence::High,
            reading: Reading::Working { doing: "what a follower saw".into() },
        };
        reporter.report(Report::Signal { session: order.session, signal }).await;
        std::future::pending::<()>().await;
    }

    async fn answer(&self, _: &AnswerOrder) -> Result<AnswerOutcome, AgentError> {
        Ok(AnswerOutcome::Given)
    }

    async fn cancel(&self, _: &CancelOrder) -> Result<Cancelled, AgentError> {
        Ok(Cancelled::NoTurn)
    }

    async fn look(&self, order: &LookOrder) -> Result<Vec<Signal>, AgentError> {
        Ok(vec![idle(order.attempt)])
    }
}

#[async_trait]
impl Runtime for World {
    fn name(&self) -> &str {
        "here"
    }

    fn abilities(&self) -> RuntimeAbilities {
        let shares_files = !self.is_elsewhere.load(Ordering::Relaxed);
        RuntimeAbilities { pipes: true, shares_files, ..RuntimeAbilities::default() }
    }

    async fn reference(
        &self,
        session: SessionId,
        attempt: Attempt,
    ) -> Result<Option<ProcessRef>, RuntimeError> {
        Ok(self.alive.lock().unwrap().get(&(session, attempt)).cloned())
    }

    async fn exec(&self, order: &ExecOrder) -> Result<ExecOutcome, RuntimeError> {
        self.executed.lock().unwrap().push((order.path.clone(), order.command.clone()));
        let code = if order.command == "false" { 1 } else { 0 };
        Ok(ExecOutcome { end: ExecEnd::Exited { code: Some(code) }, output: "no rule".into() })
    }

    async fn start(&self, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
        if self.panics.load(Ordering::Relaxed) > 0 {
            self.panics.fetch_sub(1, Ordering::Relaxed);
            panic!("the adapter has a bug");
        }
        let mut alive = self.alive.lock().unwrap();
        let process = alive.entry((spec.session, spec.attempt)).or_insert_with(|| {
            self.starts.fetch_add(1, Ordering::Relaxed);
            ProcessRef::new("here", format!("{} {}", spec.session, spec.attempt))
        });
        Ok(process.clone())
    }

    async fn write(&self, _: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
        Ok(WriteOutcome::Written)
    }

    async fn output(
        &self,
        process: &ProcessRef,
        from: u64,
        _: usize,
        wait: Duration,
    ) -> Result<OutputPart, RuntimeError> {
        let ended = || !self.alive.lock().unwrap().values().any(|alive| alive == process);
        if !ended() {
            tokio::time::sleep(wait).await;
        }
        Ok(OutputPart { from, bytes: vec![], ended: ended() })
    }

    async fn screen(&self, _: &ProcessRef) -> Result<Screen, RuntimeError> {
        Err(RuntimeError::Unable { runtime: "here".into(), wish: "show a screen".into() })
    }

    async fn look(&self, _: &ProcessRef) -> ProcessLife {
        ProcessLife::Unknown
    }

    async fn folder(&self, _: &ProcessRef) -> Option<String> {
        None
    }

    async fn census(&self) -> Result<Vec<CensusEntry>, RuntimeError> {
        let alive = self.alive.lock().unwrap();
        let shown = self.census_shows.lock().unwrap().clone();
        let (life, folder) = shown.unwrap_or((ProcessLife::Alive { busy: false }, None));
        Ok(alive
            .iter()
            .map(|((session, attempt), process)| CensusEntry {
                process: process.clone(),
                session: *session,
                attempt: *attempt,
                life,
                folder: folder.clone(),
            })
            .collect())
    }

    async fn end(&self, order: &EndOrder) -> Result<(), RuntimeError> {
        self.alive.lock().unwrap().remove(&(order.session, order.attempt));
        Ok(())
    }
}
