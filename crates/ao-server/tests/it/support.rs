//! An engine whose effects nobody carries out, so that a test alone says what happens; a host that remembers; and words to
//! call the API with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use ao_api::{
    ChannelTest, Check, Checks, Cleanup, CleanupOrder, ConfigShown, Daemon, ImportOrder, Imported,
    NewProject, NewSession, NotifyChannel, NotifyTest, Output, Problem, Project, Reloaded, ReviewerWish,
};
use ao_core::agent_report::AgentReport;
use ao_core::budget::Limits as Budget;
use ao_core::evidence::{Confidence, Reading, Signal, Source};
use ao_core::input::SpawnRequest;
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::{Author, PullFacts, PullInput};
use ao_core::session::{AgentAbilities, AgentChoice, ProcessRef, Role, Session, SessionInput};
use ao_core::setup::Origin;
use ao_core::{
    Attempt, Effect, Input, Moment, ProjectId, PullId, Refusal, Scope, SessionId, Stamped, State, TaskId,
    Timestamp,
};
use ao_daemon::{Host, engine_problem, forge_problem};
use ao_engine::{Core, Engine, Handle, Rules, Slots};
use ao_ports::{
    Clock, Descent, EventStore, Frame, Lineage, NewRecord, PullDetail, Record, RuntimeError, Scm, Seq,
    Snapshot, StoreError, TerminalView, Tracker, ViewOptions,
};
use ao_server::{App, Auth, Bind, Limits, Listener, Options, Parts, Peer, Running, app, serve};
use ao_testkit::WallClock;
use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode};
use camino::Utf8Path;
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::forge::Forge;

/// What ships, except that of what the state wants only merges are done, at a forge that is plugged in.
struct Still;

impl Rules for Still {
    fn step(&self, state: &mut State, moment: &Moment, input: Input) -> Result<Vec<Stamped>, Refusal> {
        Core.step(state, moment, input)
    }

    fn wants(&self, state: &State, scope: &Scope) -> Vec<Effect> {
        let mut wanted = Core.wants(state, scope);
        wanted.retain(|effect| matches!(effect, Effect::TestMerge { .. } | Effect::Merge { .. }));
        wanted
    }
}

/// A log that cannot be read while a test wants that.
pub(crate) struct Shaky {
    store: Arc<ao_store::Store>,
    pub(crate) unreadable: AtomicBool,
    /// How often somebody has tried in vain.
    pub(crate) refused: AtomicU64,
}

#[async_trait]
impl EventStore for Shaky {
    async fn append(&self, records: Vec<NewRecord>, after: Option<Seq>) -> Result<Seq, StoreError> {
        self.store.append(records, after).await
    }

    async fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, StoreError> {
        if self.unreadable.load(Ordering::SeqCst) {
            self.refused.fetch_add(1, Ordering::SeqCst);
            let (path, detail) = ("ao.db".into(), "the disk does not answer".into());
            return Err(StoreError::Damaged { path, detail });
        }
        self.store.read(after, limit).await
    }

    async fn last_seq(&self) -> Result<Seq, StoreError> {
        self.store.last_seq().await
    }

    async fn latest_snapshot(&self) -> Result<Option<Snapshot>, StoreError> {
        self.store.latest_snapshot().await
    }

    async fn save_snapshot(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        self.store.save_snapshot(snapshot).await
    }
}

/// Nobody descends from anybody.
struct Unrelated;

impl Lineage for Unrelated {
    fn descent(&self, _: i32) -> Descent {
        Descent::Apart
    }
}

/// A daemon with nothing in it but an engine and the API.
pub(crate) struct House {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) handle: Handle,
    pub(crate) store: Arc<ao_store::Store>,
    pub(crate) shaky: Arc<Shaky>,
    pub(crate) clock: Arc<WallClock>,
    pub(crate) host: Arc<TestHost>,
    pub(crate) auth: Arc<Auth>,
    pub(crate) limits: Limits,
    pub(crate) stop: CancellationToken,
    engine: JoinHandle<()>,
}

impl House {
    pub(crate) async fn new() -> House {
        let folder = tempfile::tempdir().unwrap();
        let path = Utf8Path::from_path(folder.path()).unwrap();
        let store = Arc::new(ao_store::Store::open(path, ao_store::Options::default()).unwrap());
        let shaky = Arc::new(Shaky {
            store: store.clone(),
            unreadable: AtomicBool::new(false),
            refused: AtomicU64::new(0),
        });
        let clock = Arc::new(WallClock::default());
        let stop = CancellationToken::new();
        let options = ao_engine::Options::default();
        let opened = Engine::open(
            options,
            Arc::new(Still),
            Slots::default(),
            shaky.clone(),
            clock.clone(),
            stop.clone(),
        )
        .await;
        let (engine, handle) = opened.unwrap();
        let engine = tokio::spawn(async move { engine.run().await.unwrap() });
        for project in ["my-app", "docs"] {
            let config =
                ProjectConfig { path: "/src".into(), default_branch: "main".into(), ..Default::default() };
            let input = ProjectInput::Configure(Box::new(config));
            handle.ask(Input::Project { project: ProjectId::new(project), input }).await.unwrap();
        }
        let auth = Arc::new(Auth::open(folder.path()).unwrap());
        let host = Arc::new(TestHost { engine: handle.clone().into(), ..TestHost::default() });
        House { folder, handle, store, shaky, clock, host, auth, limits: Limits::default(), stop, engine }
    }

    pub(crate) fn parts(&self) -> Parts {
        Parts {
            handle: self.handle.clone(),
            clock: self.clock.clone(),
            host: self.host.clone(),
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
        self.spawn_as(title, "my-app", Role::Worker).await
    }

    pub(crate) async fn spawn_as(&self, title: &str, project: &str, role: Role) -> SessionId {
        let mut order = order(&NewSession { title: Some(title.into()), ..Default::default() });
        order.project = ProjectId::new(project);
        order.role = role;
        if role == Role::Reviewer {
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
        let process = ProcessRef::new("process", "p");
        self.tell(session, SessionInput::Launched { attempt, process, conversation: None }).await;
        self.agent_shows(session, Reading::Idle).await;
        self.tell(session, SessionInput::Written { attempt, delivery: 1, tries: 1 }).await;
        self.taken(session, "turn-0", "fix it").await;
        self.agent_shows(session, Reading::Idle).await;
    }

    pub(crate) async fn agent_shows(&self, session: SessionId, reading: Reading) {
        let signal = Signal {
            attempt: Attempt(1),
            source: Source::Hook,
            at: self.clock.now(),
            confidence: Confidence::High,
            reading,
        };
        self.tell(session, SessionInput::Signal(signal)).await;
    }

    /// The agent took a text as a user's turn.
    pub(crate) async fn taken(&self, session: SessionId, turn: &str, text: &str) {
        let (attempt, source, at) = (Attempt(1), Source::Protocol, Timestamp(0));
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
        self.engine.await.unwrap();
    }
}

// ── the host ──

/// A view that a test has made ready, as the host gives it out.
pub(crate) type Scene = Box<dyn FnOnce(ViewOptions) -> Box<dyn TerminalView> + Send>;

#[derive(Default)]
pub(crate) struct TestHost {
    pub(crate) tokens: Mutex<BTreeMap<String, (SessionId, Attempt)>>,
    pub(crate) output: Mutex<String>,
    pub(crate) scene: Mutex<Option<Scene>>,
    pub(crate) called: Mutex<Vec<String>>,
    pub(crate) forge: Arc<Forge>,
    engine: OnceLock<Handle>,
}

impl TestHost {
    /// To the first agent of a session.
    pub(crate) fn give_token(&self, token: &str, session: SessionId) {
        self.give_token_to(token, session, Attempt(1));
    }

    pub(crate) fn give_token_to(&self, token: &str, session: SessionId, attempt: Attempt) {
        self.tokens.lock().unwrap().insert(token.into(), (session, attempt));
    }

    fn note(&self, call: impl Into<String>) {
        self.called.lock().unwrap().push(call.into());
    }
}

/// What the configuration would make of a wish.
pub(crate) fn order(wish: &NewSession) -> SpawnRequest {
    let project = ProjectId::new(wish.project_id.as_deref().unwrap_or("my-app"));
    SpawnRequest {
        task: wish.issue.as_ref().map(|issue| TaskId {
            project: project.clone(),
            key: issue.trim_start_matches(['#', 'G', 'H', '-']).to_owned(),
        }),
        project,
        role: if wish.role.as_deref() == Some("orchestrator") { Role::Orchestrator } else { Role::Worker },
        title: wish.title.clone().unwrap_or_default(),
        prompt: wish.prompt.clone().unwrap_or_else(|| "fix it".into()),
        name: wish.name.clone(),
        branch: wish.branch.clone(),
        origin: Origin::default(),
        agent: AgentChoice {
            name: "fake".into(),
            specialist: None,
            account: None,
            model: None,
            abilities: AgentAbilities::default(),
            args: vec![],
            permissions: None,
        },
        runtime: "process".into(),
        workspace: "worktree".into(),
        priority: 0,
        limits: Budget::default(),
        trusted: wish.trust,
    }
}

#[async_trait]
impl Host for TestHost {
    fn about(&self) -> Daemon {
        Daemon {
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

    async fn order(&self, wish: &NewSession) -> Result<SpawnRequest, Problem> {
        Ok(order(wish))
    }

    async fn runtime_of(&self, session: &Session, asked_for: Option<&str>) -> Result<String, Problem> {
        Ok(asked_for.map_or_else(|| session.spec.runtime.clone(), str::to_owned))
    }

    fn projects(&self) -> Vec<Project> {
        let project = |id: &str| Project {
            id: id.into(),
            path: "/src".into(),
            default_branch: "main".into(),
            repo: None,
            config: None,
            agent: "fake".into(),
            runtime: "process".into(),
            workspace: "worktree".into(),
            live_sessions: 0,
            max_parallel_agents: None,
            auto_assign: false,
            stopped_by: None,
        };
        vec![project("my-app"), project("docs")]
    }

    async fn add(&self, project: &NewProject) -> Result<Vec<String>, Problem> {
        self.note(format!("add {}", project.config));
        Ok(vec!["docs".into()])
    }

    async fn remove(&self, project: &str) -> Result<(), Problem> {
        self.note(format!("remove {project}"));
        Ok(())
    }

    async fn reload(&self) -> Result<Reloaded, Problem> {
        Ok(Reloaded { configs: vec![], changes: vec![], needs_restart: vec![] })
    }

    fn config(&self) -> ConfigShown {
        ConfigShown { files: vec![], yaml: "port: 3000\n".into() }
    }

    async fn output(&self, _: &Session, from: u64, limit: u32, wait: bool) -> Result<Output, Problem> {
        loop {
            let output = {
                let all = self.output.lock().unwrap();
                let from = usize::try_from(from).unwrap_or(usize::MAX).min(all.len());
                let end = all.len().min(from + limit as usize);
                let text = all[from..end].to_owned();
                Output { from: from as u64, next: end as u64, text, ended: false }
            };
            if !wait || !output.text.is_empty() {
                return Ok(output);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn setup_log(&self, _: &Session) -> Result<String, Problem> {
        Ok("npm ci\n".into())
    }

    async fn attach(&self, _: &Session, look: ViewOptions) -> Result<Box<dyn TerminalView>, Problem> {
        match self.scene.lock().unwrap().take() {
            Some(scene) => Ok(scene(look)),
            None => Err(Problem::new(409, "not-running", "there is no terminal to look at")),
        }
    }

    async fn cleanup(&self, order: &CleanupOrder) -> Result<Cleanup, Problem> {
        self.note(format!("cleanup {:?} dry {}", order.session, order.dry_run));
        Ok(Cleanup { dry_run: order.dry_run, trees: vec![], freed_bytes: 0 })
    }

    async fn notify_test(&self, _: &NotifyTest) -> Result<Vec<ChannelTest>, Problem> {
        Ok(vec![])
    }

    async fn notify_list(&self) -> Result<Vec<NotifyChannel>, Problem> {
        Ok(vec![])
    }

    fn session_of(&self, token: &str) -> Option<(SessionId, Attempt)> {
        self.tokens.lock().unwrap().get(token).copied()
    }

    fn token_for(&self, session: &Session) -> Option<String> {
        let tokens = self.tokens.lock().unwrap();
        tokens.iter().find(|(_, (id, _))| *id == session.id).map(|(token, _)| token.clone())
    }

    fn project(&self, named: Option<&str>) -> Result<ProjectId, Problem> {
        match named {
            Some(named) if self.projects().iter().any(|known| known.id == named) => Ok(ProjectId::new(named)),
            Some(named) => {
                Err(Problem::new(404, "unknown-project", format!("there is no project `{named}`")))
            }
            None => Err(Problem::new(422, "which-project", "there are several projects")),
        }
    }

    fn default_branch(&self, _: &ProjectId) -> Option<String> {
        Some("main".into())
    }

    fn scm(&self, _: &ProjectId) -> Result<Arc<dyn Scm>, Problem> {
        Ok(self.forge.clone())
    }

    async fn see(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, Problem> {
        let seen = self.forge.pulls(pulls).await.map_err(|err| forge_problem(&err))?;
        let engine = self.engine.get().expect("a house gives it one");
        for (pull, facts) in &seen {
            let input = PullInput::Seen(Box::new(facts.clone()));
            let told = engine.ask(Input::Pull { pull: pull.clone(), input }).await;
            told.map_err(engine_problem)?;
        }
        Ok(seen)
    }

    fn tracker(&self, _: &ProjectId) -> Result<Arc<dyn Tracker>, Problem> {
        Ok(self.forge.clone())
    }

    async fn checks(&self, _: &ProjectId) -> Result<Checks, Problem> {
        let check = Check {
            name: "build".into(),
            command: "make".into(),
            required: true,
            timeout_seconds: 60,
            paths: vec![],
            because: None,
        };
        let configured = self.forge.lock().configured;
        Ok(Checks { checks: if configured { vec![check] } else { vec![] }, proposed: vec![] })
    }

    async fn import(
        &self,
        project: &ProjectId,
        by: &Author,
        order: &ImportOrder,
    ) -> Result<Imported, Problem> {
        self.note(format!("import {project} by {} {}", by.login, order.format));
        Ok(Imported { issues: vec![] })
    }

    async fn reviewer(&self, pull: &PullDetail, wish: &ReviewerWish) -> Result<SpawnRequest, Problem> {
        self.note(format!("reviewer of {} at {}", pull.pull, pull.facts.head));
        let title = format!("review {}", pull.pull.number);
        let mut order = order(&NewSession {
            project_id: Some(pull.pull.project.to_string()),
            title: Some(title),
            prompt: wish.prompt.clone(),
            ..Default::default()
        });
        order.role = Role::Reviewer;
        Ok(order)
    }

    fn stop(&self) {
        self.note("stop");
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
        self.with("authorization", &format!("Bearer {token}"))
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
        self.host.forge.lock().pulls.insert(id.clone(), facts.clone());
        let input = PullInput::Seen(Box::new(facts));
        self.handle.ask(Input::Pull { pull: id.clone(), input }).await.unwrap();
    }

    /// Lets the engine merge at the forge.
    pub(crate) async fn plug_forge(&self) {
        let forge: Arc<dyn Scm> = self.host.forge.clone();
        let scms = [(ProjectId::new("my-app"), forge)].into();
        self.handle.plug(Slots { scms, ..Slots::default() }).await.unwrap();
    }

    /// A session takes responsibility for it.
    pub(crate) async fn claim(&self, id: &PullId, session: SessionId) {
        let input = PullInput::Claim { session };
        self.handle.ask(Input::Pull { pull: id.clone(), input }).await.unwrap();
    }

    /// A session whose agent runs, with a token of the same name as its title.
    pub(crate) async fn agent(&self, title: &str, project: &str, role: Role) -> SessionId {
        let id = self.spawn_as(title, project, role).await;
        self.run(id).await;
        self.host.give_token(title, id);
        id
    }
}
