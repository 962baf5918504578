//! A real daemon whose adapters do what a test says, and words to call the API with.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_config::{Env, Places};
use ao_core::agent_report::AgentReport;
use ao_core::budget::SpendLimits as Budget;
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::input::{ProcessLife, SpawnRequest};
use ao_core::pull::{PullFacts, PullInput};
use ao_core::session::{AgentAbilities, AgentChoice, ProcessRef, Session, SessionInput, SessionRole};
use ao_core::setup::Origin;
use ao_core::{
    Attempt, Effect, Input, Moment, ProjectId, PullId, Refusal, Scope, SessionId, StampedEvent, State,
    Timestamp,
};
use ao_daemon::Daemon;
use ao_daemon::config::InForce;
use ao_daemon::registry::{Adapter, AdapterMaker, HostDeps, Registry};
use ao_engine::{CoreRules, EngineRules, Handle};
use ao_ports::{
    CensusEntry, Clock, Descent, EndOrder, Frame, Lineage, OutputPart, Runtime, RuntimeAbilities,
    RuntimeError, Screen, StartSpec, TerminalView, ViewOptions, WriteOrder, WriteOutcome,
};
use ao_server::{App, Auth, Bind, Limits, Listener, Options, Parts, Peer, Running, app, serve};
use ao_testkit::{FailingReads, WallClock};
use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::forge::{Forge, task};

/// The rules that ship, except that of what the state wants only merges are done, once a test plugs the forge in.
#[derive(Default)]
struct Still {
    merges: AtomicBool,
}

impl EngineRules for Still {
    fn step(&self, state: &mut State, moment: &Moment, input: Input) -> Result<Vec<StampedEvent>, Refusal> {
        CoreRules.step(state, moment, input)
    }

    fn wants(&self, state: &State, scope: &Scope) -> Vec<Effect> {
        let mut wanted = CoreRules.wants(state, scope);
        let merges = self.merges.load(Ordering::SeqCst);
        wanted.retain(|effect| merges && matches!(effect, Effect::TestMerge { .. } | Effect::Merge { .. }));
        wanted
    }
}

/// The state of an event log that a test makes unreadable.
#[derive(Default)]
pub(crate) struct ReadFaults {
    pub(crate) unreadable: AtomicBool,
    /// The number of reads that failed.
    pub(crate) refused: AtomicU64,
}

impl ReadFaults {
    fn next_fails(&self) -> bool {
        let fails = self.unreadable.load(Ordering::SeqCst);
        self.refused.fetch_add(fails.into(), Ordering::SeqCst);
        fails
    }
}

/// Nobody descends from anybody.
struct Unrelated;

impl Lineage for Unrelated {
    fn descent(&self, _: i32) -> Descent {
        Descent::Apart
    }
}

/// A runtime whose terminal and output are set by a test.
#[derive(Default)]
pub(crate) struct Stage {
    pub(crate) output: Mutex<String>,
    pub(crate) scene: Mutex<Option<Scene>>,
}

/// A view that a test has made ready.
pub(crate) type Scene = Box<dyn FnOnce(ViewOptions) -> Box<dyn TerminalView> + Send>;

fn unable<T>() -> Result<T, RuntimeError> {
    Err(RuntimeError::Unable { runtime: "stage".into(), wish: "do that".into() })
}

#[async_trait]
impl Runtime for Stage {
    fn name(&self) -> &str {
        "stage"
    }

    fn abilities(&self) -> RuntimeAbilities {
        RuntimeAbilities::default()
    }

    async fn start(&self, _: &StartSpec) -> Result<ProcessRef, RuntimeError> {
        unable()
    }

    async fn reference(&self, _: SessionId, _: Attempt) -> Result<Option<ProcessRef>, RuntimeError> {
        Ok(None)
    }

    async fn write(&self, _: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
        unable()
    }

    async fn output(
        &self,
        _: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<OutputPart, RuntimeError> {
        let until = tokio::time::Instant::now() + wait;
        loop {
            let output = {
                let all = self.output.lock().unwrap();
                let from = usize::try_from(from).unwrap_or(usize::MAX).min(all.len());
                let bytes = all.as_bytes()[from..all.len().min(from + limit)].to_vec();
                OutputPart { from: from as u64, bytes, ended: false }
            };
            if !output.bytes.is_empty() || tokio::time::Instant::now() >= until {
                return Ok(output);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn screen(&self, _: &ProcessRef) -> Result<Screen, RuntimeError> {
        unable()
    }

    async fn attach(
        &self,
        _: &ProcessRef,
        options: ViewOptions,
    ) -> Result<Box<dyn TerminalView>, RuntimeError> {
        match self.scene.lock().unwrap().take() {
            Some(scene) => Ok(scene(options)),
            None => unable(),
        }
    }

    async fn look(&self, _: &ProcessRef) -> ProcessLife {
        ProcessLife::Unknown
    }

    async fn folder(&self, _: &ProcessRef) -> Option<String> {
        None
    }

    async fn census(&self) -> Result<Vec<CensusEntry>, RuntimeError> {
        unable()
    }

    async fn end(&self, _: &EndOrder) -> Result<(), RuntimeError> {
        unable()
    }
}

thread_local! {
    /// The tokens of the agents of this test, by the names that it calls them by.
    static TOKENS: RefCell<BTreeMap<String, String>> = const { RefCell::new(BTreeMap::new()) };
}

/// Returns the token that a test calls by this name, or the name itself.
fn token_named(name: &str) -> String {
    TOKENS.with_borrow(|tokens| tokens.get(name).cloned()).unwrap_or_else(|| name.to_owned())
}

/// A real daemon in a folder of its own, in which nothing happens by itself: its forge, its tracker and one of its runtimes
/// do what the test says.
pub(crate) struct House {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) daemon: Arc<Daemon>,
    pub(crate) handle: Handle,
    pub(crate) store: ao_store::Store,
    pub(crate) read_faults: Arc<ReadFaults>,
    pub(crate) clock: Arc<WallClock>,
    pub(crate) forge: Arc<Forge>,
    pub(crate) stage: Arc<Stage>,
    pub(crate) auth: Arc<Auth>,
    pub(crate) limits: Limits,
    pub(crate) stop: CancellationToken,
    rules: Arc<Still>,
}

impl House {
    pub(crate) async fn new() -> House {
        TOKENS.with_borrow_mut(BTreeMap::clear);
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        let (forge, stage, rules) =
            (Arc::<Forge>::default(), Arc::<Stage>::default(), Arc::<Still>::default());
        let mut registry = Registry::built_in();
        let staged = stage.clone();
        let make = move |_: &HostDeps| -> Arc<dyn Runtime> { staged.clone() };
        let staged = AdapterMaker::Runtime(RuntimeAbilities::default(), Arc::new(make));
        registry.add(Adapter::new("stage", "of the tests", staged));
        // Whatever is configured on this machine counts for nothing.
        let places =
            Places { env: Env::new([]), cwd: path.to_owned(), home: None, catalog: registry.catalog() };
        let mut configs = InForce::open_in(path, places, Arc::new(registry)).unwrap();
        let mut options = ao_daemon::daemon::DaemonOptions::new(path, "/nonexistent/ao");
        for project in ["my-app", "docs"] {
            configs = configs.with(&configuration(path, project)).unwrap();
            options.scms.insert(ProjectId::new(project), forge.clone());
            options.trackers.insert(ProjectId::new(project), forge.clone());
        }
        options.configs = Some(configs);
        options.rules = rules.clone();
        options.background = false;
        let read_faults = Arc::<ReadFaults>::default();
        let faults = read_faults.clone();
        options.log = Some(Box::new(move |store| {
            Arc::new(FailingReads { store: Arc::new(store), fails: Box::new(move || faults.next_fails()) })
        }));
        let clock = Arc::new(WallClock::default());
        let daemon = Arc::new(Daemon::start(options, clock.clone()).await.unwrap());
        let auth = Arc::new(Auth::open(folder.path()).unwrap());
        House {
            folder,
            handle: daemon.handle.clone(),
            store: daemon.store.clone(),
            read_faults,
            daemon,
            clock,
            forge,
            stage,
            auth,
            limits: Limits::default(),
            stop: CancellationToken::new(),
            rules,
        }
    }

    /// An issue of `my-app` that the tracker has.
    pub(crate) fn issue(&self, key: &str) {
        self.forge.lock().issue(&task("my-app", key));
    }

    /// Gives a name to the token of a session's first agent.
    pub(crate) fn give_token(&self, name: &str, session: SessionId) -> String {
        self.give_token_to(name, session, Attempt(1))
    }

    pub(crate) fn give_token_to(&self, name: &str, session: SessionId, attempt: Attempt) -> String {
        let (_, proof) = self.daemon.spool.token(session, attempt);
        let token = format!("{session}/{attempt}/{proof}");
        TOKENS.with_borrow_mut(|tokens| tokens.insert(name.to_owned(), token.clone()));
        token
    }

    /// Fails if more was done than looking: a project came or went, or the daemon was ended.
    #[track_caller]
    pub(crate) fn is_in_place(&self) {
        assert_eq!(self.daemon.config.in_force().paths().len(), 2);
        assert!(!self.stop.is_cancelled());
    }

    pub(crate) fn parts(&self) -> Parts {
        Parts {
            daemon: self.daemon.clone(),
            clock: self.clock.clone(),
            about: about(),
            auth: self.auth.clone(),
            lineage: Arc::new(Unrelated),
            limits: self.limits.clone(),
            page: true,
            owner: "anna".into(),
            names: vec![],
        }
    }

    /// The API without sockets, as if it listened on port 3000.
    pub(crate) async fn app(&self) -> Router {
        let bound = "127.0.0.1:3000".parse().unwrap();
        app(App::start(self.parts(), Some(bound), self.stop.clone()).await.unwrap())
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("run").join("ao.sock")
    }

    /// The API on a socket and a port of its own.
    pub(crate) async fn serve(&self) -> Running {
        let bind = Bind { addr: "127.0.0.1:0".parse().unwrap(), allow_remote: false };
        let tcp = Listener::bind(bind, Duration::ZERO).await.unwrap();
        let options = Options { parts: self.parts(), socket: Some(self.socket()), tcp: Some(tcp) };
        serve(options, self.stop.clone()).await.unwrap()
    }

    pub(crate) fn client(&self) -> ao_api::client::Client {
        ao_api::client::Client::socket(self.socket())
    }

    // ── what happens ──

    pub(crate) async fn spawn(&self, title: &str) -> SessionId {
        self.spawn_as(title, "my-app", SessionRole::Worker).await
    }

    pub(crate) async fn spawn_as(&self, title: &str, project: &str, role: SessionRole) -> SessionId {
        let mut order = order(title, project);
        order.role = role;
        if role == SessionRole::Reviewer {
            let pull = PullId { project: order.project.clone(), number: 1 };
            order.origin = ao_core::setup::Origin::Read { commit: "c1".into(), pull };
        }
        let receipt = self.handle.ask(Input::Spawn(Box::new(order))).await.unwrap();
        receipt.events.iter().find_map(|stamped| stamped.event.session()).unwrap()
    }

    pub(crate) async fn tell(&self, session: SessionId, input: SessionInput) {
        self.handle.ask(Input::Session { session, input }).await.unwrap();
    }

    /// Its agent runs and is at its prompt, and has taken its task.
    pub(crate) async fn run(&self, session: SessionId) {
        let attempt = Attempt(1);
        let path = format!("/trees/{session}");
        self.tell(session, SessionInput::WorkspaceReady { attempt, path, base: "b0".into(), as_found: true })
            .await;
        let process = ProcessRef::new("stage", "p");
        self.tell(session, SessionInput::Launched { attempt, process, conversation: None }).await;
        self.agent_shows(session, Reading::Idle).await;
        self.tell(session, SessionInput::Written { attempt, delivery: 1, tries: 1 }).await;
        self.taken(session, "turn-0", "fix it").await;
        self.agent_shows(session, Reading::Idle).await;
    }

    pub(crate) async fn agent_shows(&self, session: SessionId, reading: Reading) {
        let signal = Signal {
            attempt: Attempt(1),
            source: SignalSource::Hook,
            at: self.clock.now(),
            confidence: Confidence::High,
            reading,
        };
        self.tell(session, SessionInput::Signal(signal)).await;
    }

    /// The agent took a text as a user's turn.
    pub(crate) async fn taken(&self, session: SessionId, turn: &str, text: &str) {
        let (attempt, source, at) = (Attempt(1), SignalSource::Protocol, Timestamp(0));
        let report = AgentReport::taken(turn, text);
        self.tell(session, SessionInput::Reported { attempt, source, at, report }).await;
    }

    pub(crate) async fn session<T: Send + 'static>(
        &self,
        id: SessionId,
        look: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> T {
        self.handle.view(move |state| look(&state.sessions[&id])).await.unwrap()
    }

    pub(crate) async fn seq(&self) -> u64 {
        self.handle.view_at(|_, seq| seq).await.unwrap()
    }

    /// Something happens, so many times: one event each.
    pub(crate) async fn happen(&self, session: SessionId, times: usize) {
        for _ in 0..times {
            let paused = self.session(session, |session| !session.holds.is_empty()).await;
            let input = if paused {
                SessionInput::Resume { limits: None }
            } else {
                SessionInput::Pause { by: "anna".into() }
            };
            self.tell(session, input).await;
        }
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.daemon.stop().await.unwrap();
    }
}

// ── what it is made of ──

/// Writes the configuration of a project, and a repository that has a commit by the looks of it.
pub(crate) fn configuration(folder: &Utf8Path, project: &str) -> Utf8PathBuf {
    let root = folder.join("src").join(project);
    std::fs::create_dir_all(root.join(".git/refs/heads")).unwrap();
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(root.join(".git/refs/heads/main"), format!("{}\n", "a".repeat(40))).unwrap();
    let checks = if project == "my-app" { "\n    checks: [{ name: build, command: make }]" } else { "" };
    // The adapters are those of the test, whatever is named here; the keys of issues are as GitHub has them.
    let text = format!(
        "defaults: {{ agent: fake, runtime: process, workspace: worktree, tracker: github, scm: github, notifiers: [] }}\n\
         tools: {{ fake: {{ program: sh }} }}\n\
         projects:\n  {project}:\n    path: {root}\n    defaultBranch: main\n    sessionPrefix: {project}{checks}\n"
    );
    let file = folder.join("src").join(format!("{project}.yaml"));
    std::fs::write(&file, text).unwrap();
    file
}

fn about() -> ao_api::Daemon {
    ao_api::Daemon {
        version: "1.2.3".into(),
        build: "b".into(),
        api: ao_api::VERSION,
        pid: std::process::id(),
        started_at: ao_api::Timestamp::UNIX_EPOCH,
        data_dir: "/data".into(),
        socket: "/data/ao.sock".into(),
        url: None,
        log: "/data/ao.log".into(),
        configs: vec![],
        config_problem: None,
        live_sessions: 0,
        queued_sessions: 0,
        max_parallel_agents: 0,
        seq: 0,
    }
}

/// An order for a session in the runtime of the test.
pub(crate) fn order(title: &str, project: &str) -> SpawnRequest {
    SpawnRequest {
        task: None,
        project: ProjectId::new(project),
        role: SessionRole::Worker,
        title: title.into(),
        prompt: "fix it".into(),
        name: None,
        branch: None,
        origin: Origin::default(),
        agent: AgentChoice {
            name: "fake".into(),
            specialist: None,
            account: None,
            model: None,
            abilities: AgentAbilities::default(),
            args: vec![],
            effort: None,
            permissions: None,
            mode: None,
        },
        runtime: "stage".into(),
        workspace: "worktree".into(),
        priority: 0,
        limits: Budget::default(),
        trusted: false,
    }
}

/// A view of frames that a function makes, one after another.
pub(crate) struct Frames<F>(pub(crate) F);

#[async_trait]
impl<F: FnMut() -> Option<Frame> + Send> TerminalView for Frames<F> {
    async fn next(&mut self) -> Result<Option<Frame>, RuntimeError> {
        match (self.0)() {
            Some(frame) => Ok(Some(frame)),
            None => std::future::pending().await,
        }
    }

    async fn type_bytes(&mut self, _: &[u8]) -> Result<(), RuntimeError> {
        Ok(())
    }

    async fn resize(&mut self, _: (u16, u16)) -> Result<(), RuntimeError> {
        Ok(())
    }

    async fn control(&mut self, _: bool) -> Result<(), RuntimeError> {
        Ok(())
    }
}

// ── calling ──

/// A request with what a caller over TCP sends.
pub(crate) struct Call(axum::http::request::Builder, Vec<u8>);

pub(crate) fn call(method: Method, path: &str) -> Call {
    Call(Request::builder().method(method).uri(path).header("host", "localhost:3000"), vec![])
}

pub(crate) fn get(path: &str) -> Call {
    call(Method::GET, path)
}

pub(crate) fn post(path: &str, body: Value) -> Call {
    with_body(Method::POST, path, &body)
}

pub(crate) fn patch(path: &str, body: Value) -> Call {
    with_body(Method::PATCH, path, &body)
}

fn with_body(method: Method, path: &str, body: &Value) -> Call {
    let Call(builder, _) = call(method, path);
    let body = body.to_string().into_bytes();
    Call(builder.header("content-type", "application/json").header("content-length", body.len()), body)
}

impl Call {
    pub(crate) fn with(self, name: &str, value: &str) -> Call {
        Call(self.0.header(name, value), self.1)
    }

    pub(crate) fn token(self, token: &str) -> Call {
        self.with("authorization", &format!("Bearer {}", token_named(token)))
    }

    pub(crate) fn from(self, peer: Peer) -> Call {
        Call(self.0.extension(peer), self.1)
    }

    /// As the owner, over the socket.
    pub(crate) fn owner(self) -> Call {
        let uid = rustix::process::geteuid().as_raw();
        self.from(Peer::socket(uid, None))
    }

    pub(crate) fn request(self) -> Request<Body> {
        self.0.body(self.1.into()).unwrap()
    }

    pub(crate) async fn to(self, app: &Router) -> Answer {
        let response = app.clone().oneshot(self.request()).await.unwrap();
        let (parts, body) = response.into_parts();
        // A stream has no end to wait for.
        let streams = parts.headers.get("content-type").is_some_and(|kind| kind == "text/event-stream");
        let body = if streams { Body::empty() } else { body };
        let bytes = to_bytes(body, 64 << 20).await.unwrap();
        let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer {
            status: parts.status,
            headers: parts.headers,
            json,
            text: String::from_utf8_lossy(&bytes).into(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: axum::http::HeaderMap,
    pub(crate) json: Value,
    pub(crate) text: String,
}

impl Answer {
    /// The status, with the word of the problem if there is one.
    pub(crate) fn told(&self) -> String {
        match self.json["type"].as_str() {
            Some(kind) => format!("{} {}", self.status.as_u16(), kind.trim_start_matches("urn:ao:")),
            None => self.status.as_u16().to_string(),
        }
    }
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let patience = tokio::time::Instant::now() + Duration::from_secs(20);
    while !is_so().await {
        assert!(tokio::time::Instant::now() < patience, "not within 20 s: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The memory of this process in bytes.
pub(crate) fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = status.split_ascii_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096
}

pub(crate) fn exists(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

// ── pull requests ──

impl House {
    /// A pull request that the forge has and the engine has heard of.
    pub(crate) async fn pull(&self, id: &PullId, facts: PullFacts) {
        self.forge.lock().pulls.insert(id.clone(), facts.clone());
        let input = PullInput::Seen(Box::new(facts));
        self.handle.ask(Input::Pull { pull: id.clone(), input }).await.unwrap();
    }

    /// Lets the engine merge at the forge.
    pub(crate) fn plug_forge(&self) {
        self.rules.merges.store(true, Ordering::SeqCst);
    }

    /// A session takes responsibility for it.
    pub(crate) async fn claim(&self, id: &PullId, session: SessionId) {
        let input = PullInput::Claim { session };
        self.handle.ask(Input::Pull { pull: id.clone(), input }).await.unwrap();
    }

    /// A session whose agent runs, with a token of the same name as its title.
    pub(crate) async fn agent(&self, title: &str, project: &str, role: SessionRole) -> SessionId {
        let id = self.spawn_as(title, project, role).await;
        self.run(id).await;
        self.give_token(title, id);
        id
    }
}
