//! A repository, a daemon, and scripted agents at real terminals, on one runtime or the other.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ao::clock::SystemClock;
use ao::daemon::{self, Daemon};
use ao_core::evidence::{Confidence, Reading, Signal, SignalSource};
use ao_core::input::SpawnRequest;
use ao_core::notice::Notice;
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::session::{
    AgentChoice, MessageKind, NewMessage, Sender, Session, SessionEvent, SessionInput, SessionRole,
    StatusWord,
};
use ao_core::setup::Origin;
use ao_core::{
    ConversationId, DaemonSettings, Event, Input, ProjectId, Refusal, SessionId, State, Timestamp,
};
use ao_engine::AskError;
use ao_ports::{Clock, Frame, Notifier, NotifyError, ViewOptions};
use ao_runtime::tmux::{self, Tmux};
use ao_runtime::{Processes, Shim};
use ao_testkit::scripted;
use async_trait::async_trait;
use camino::Utf8PathBuf;
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How long anything may take before a test gives up on it. Long, because machines are slow at times; nothing waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// What a fleet is made with.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) runtime: &'static str,
    pub(crate) workspace: &'static str,
    /// How the scripted agent misbehaves; see [`scripted`].
    pub(crate) script: String,
    pub(crate) settings: DaemonSettings,
    pub(crate) project: ProjectConfig,
    /// The address of the bus that is asked to keep the machine awake.
    pub(crate) awake_by: Option<String>,
}

impl Plan {
    pub(crate) fn on(runtime: &'static str) -> Plan {
        // Quick to look, so that a test need not wait for what a person would wait half a minute for.
        let settings =
            DaemonSettings { look_after: Duration::from_secs(2), max_live: 64, ..DaemonSettings::default() };
        Plan {
            runtime,
            workspace: "worktree",
            script: String::new(),
            settings,
            project: ProjectConfig { default_branch: "main".into(), ..ProjectConfig::default() },
            awake_by: None,
        }
    }

    pub(crate) fn script(mut self, script: &str) -> Plan {
        self.script = script.into();
        self
    }
}

pub(crate) struct Fleet {
    pub(crate) plan: Plan,
    home: Home,
    daemon: Option<Daemon>,
    pub(crate) notices: Arc<Notices>,
}

enum Home {
    Own(TempDir),
    Others(PathBuf),
}

impl Fleet {
    /// A fleet with its daemon running.
    pub(crate) async fn start(plan: Plan) -> Fleet {
        let mut fleet = Fleet::prepare(plan);
        fleet.open().await;
        fleet.configure().await;
        fleet
    }

    /// Everything but the daemon.
    pub(crate) fn prepare(plan: Plan) -> Fleet {
        let fleet = Fleet::at(plan, Home::Own(tempfile::tempdir().unwrap()));
        for folder in ["data", "agents", "tmp"] {
            fs::create_dir(fleet.path(folder)).unwrap();
        }
        make_repository(&fleet.repository());
        fleet
    }

    /// A fleet that somebody else has prepared, and whose agents are theirs to end.
    pub(crate) fn of_another(plan: Plan, dir: PathBuf) -> Fleet {
        Fleet::at(plan, Home::Others(dir))
    }

    fn at(plan: Plan, home: Home) -> Fleet {
        Fleet { plan, home, daemon: None, notices: Arc::default() }
    }

    pub(crate) async fn configure(&self) {
        self.ask(Input::Configure(Box::new(self.plan.settings.clone()))).await.unwrap();
        let path = self.repository().display().to_string();
        let config = ProjectConfig { path, ..self.plan.project.clone() };
        let input = ProjectInput::Configure(Box::new(config));
        self.ask(Input::Project { project: project(), input }).await.unwrap();
    }
}

/// What a test does.
impl Fleet {
    /// Starts the daemon over what is there.
    pub(crate) async fn open(&mut self) {
        assert!(self.daemon.is_none(), "it runs already");
        let clock = Arc::new(SystemClock);
        self.daemon = Some(Daemon::start(self.options(), clock).await.unwrap());
    }

    /// Stops the daemon as a user would. Agents go on.
    pub(crate) async fn close(&mut self) {
        self.daemon.take().expect("it runs").stop().await.unwrap();
    }

    pub(crate) async fn restart(&mut self) {
        self.close().await;
        self.open().await;
    }

    /// Ends every session, and the daemon, and sees that nothing is left.
    pub(crate) async fn finish(mut self) {
        let live = self.view(|state| state.live().map(|session| session.id).collect::<Vec<_>>()).await;
        for session in live {
            self.tell(session, SessionInput::Stop { by: "test".into(), why: "over".into() }).await.unwrap();
        }
        self.until("every session has ended", |state| state.live().next().is_none()).await;
        self.close().await;
        assert_eq!(self.processes(), Vec::<i32>::new(), "processes are left");
    }

    pub(crate) async fn ask(&self, input: Input) -> Result<(), Refusal> {
        match self.daemon().handle.ask(input).await {
            Ok(_) => Ok(()),
            Err(AskError::Refused(refusal)) => Err(refusal),
            Err(other) => panic!("the daemon gave no answer: {other}"),
        }
    }

    pub(crate) async fn tell(&self, session: SessionId, input: SessionInput) -> Result<(), Refusal> {
        self.ask(Input::Session { session, input }).await
    }

    /// A session with this task, as soon as it is queued.
    pub(crate) async fn spawn(&self, title: &str, prompt: &str) -> SessionId {
        self.spawn_with(title, prompt, |_| ()).await.unwrap()
    }

    pub(crate) async fn spawn_with(
        &self,
        title: &str,
        prompt: &str,
        change: impl FnOnce(&mut SpawnRequest),
    ) -> Result<SessionId, Refusal> {
        let mut request = SpawnRequest {
            project: project(),
            task: None,
            role: SessionRole::Worker,
            title: title.into(),
            prompt: prompt.into(),
            name: Some(title.into()),
            branch: None,
            origin: Origin::Base,
            agent: AgentChoice {
                name: AGENT.into(),
                abilities: self.daemon().adapters.agent(AGENT).expect("it is plugged in").abilities(),
                ..AgentChoice::default()
            },
            runtime: self.plan.runtime.into(),
            workspace: self.plan.workspace.into(),
            priority: 0,
            limits: Default::default(),
            trusted: false,
        };
        change(&mut request);
        let receipt = match self.daemon().handle.ask(Input::Spawn(Box::new(request))).await {
            Ok(receipt) => receipt,
            Err(AskError::Refused(refusal)) => return Err(refusal),
            Err(other) => panic!("the daemon gave no answer: {other}"),
        };
        Ok(receipt
            .events
            .iter()
            .find_map(|stamped| stamped.event.session())
            .expect("a spawn makes a session"))
    }

    /// A session whose agent sits at its prompt, its task done.
    pub(crate) async fn idle(&self, title: &str) -> SessionId {
        let session = self.spawn(title, "get ready").await;
        self.until_idle(session, 1).await;
        session
    }

    pub(crate) async fn send(&self, session: SessionId, text: &str) {
        self.send_with(session, text, false).await;
    }

    pub(crate) async fn send_with(&self, session: SessionId, text: &str, interrupt: bool) {
        let body = text.to_owned();
        let from = Sender::Person("ann".into());
        let message = NewMessage { from, kind: MessageKind::Text, body, interrupt, key: None };
        self.tell(session, SessionInput::Send(message)).await.unwrap();
    }

    // ── waiting ──

    /// Waits until the state is so, woken by whatever happens.
    pub(crate) async fn until(&self, what: &str, so: impl FnMut(&State) -> bool + Send + Clone + 'static) {
        let deadline = Instant::now() + PATIENCE;
        let daemon = self.daemon();
        let mut feed = daemon.handle.subscribe(daemon.last_seq().await.unwrap());
        loop {
            let mut look = so.clone();
            if daemon.handle.view(move |state| look(state)).await.expect("the daemon runs") {
                return;
            }
            let next = timeout_at(deadline, feed.next()).await;
            if next.is_err() {
                let state = daemon.handle.view(describe).await.expect("the daemon runs");
                panic!("in {PATIENCE:?} it never came to this: {what}\n{state}\n{}", self.screens().await);
            }
        }
    }

    pub(crate) async fn until_session(
        &self,
        session: SessionId,
        what: &str,
        mut so: impl FnMut(&Session) -> bool + Send + Clone + 'static,
    ) {
        self.until(what, move |state| state.sessions.get(&session).is_some_and(|session| so(session))).await;
    }

    pub(crate) async fn until_status(&self, session: SessionId, word: StatusWord) {
        let what = format!("{session} is {word:?}");
        self.until_session(session, &what, move |session| session.status(now()).word == word).await;
    }

    /// Waits until the agent has taken so many turns of ours and is at rest.
    pub(crate) async fn until_idle(&self, session: SessionId, turns: u64) {
        let what = format!("{session} has taken {turns} turns and is idle");
        self.until_session(session, &what, move |session| {
            session.usage.turns >= turns
                && session.outbox.is_empty()
                && session.status(now()).word == StatusWord::Idle
        })
        .await;
    }

    // ── looking ──

    pub(crate) async fn view<T: Send + 'static>(&self, look: impl FnOnce(&State) -> T + Send + 'static) -> T {
        self.daemon().handle.view(look).await.expect("the daemon runs")
    }

    pub(crate) async fn session(&self, session: SessionId) -> Session {
        self.view(move |state| Session::clone(&state.sessions[&session])).await
    }

    pub(crate) async fn status(&self, session: SessionId) -> (StatusWord, String) {
        let status = self.session(session).await.status(now());
        (status.word, status.reason)
    }

    /// What the agent was told, by its own transcript.
    pub(crate) async fn turns(&self, session: SessionId) -> Vec<String> {
        let conversation = self.session(session).await.launch.conversation.expect("it was launched");
        self.agents().turns(conversation.as_str())
    }

    pub(crate) fn agents(&self) -> scripted::AgentHome {
        scripted::AgentHome::new(self.path("agents"))
    }

    pub(crate) fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().expect("the daemon runs")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let dir = match &self.home {
            Home::Own(dir) => dir.path(),
            Home::Others(dir) => dir,
        };
        dir.join(name)
    }

    pub(crate) fn repository(&self) -> PathBuf {
        self.path("app")
    }

    // ── agents ──

    /// The agent's own process.
    pub(crate) fn agent_pid(&self, session: SessionId) -> i32 {
        let of_session = processes_with(&format!("AO_SESSION={session}"));
        of_session.into_iter().find(|pid| is_agent(*pid)).expect("the agent runs")
    }

    /// All agents' own processes.
    pub(crate) fn agent_pids(&self) -> Vec<i32> {
        let mut pids: Vec<i32> = self.processes().into_iter().filter(|pid| is_agent(*pid)).collect();
        pids.sort_unstable();
        pids
    }

    pub(crate) async fn choices(&self, session: SessionId) -> Vec<String> {
        let conversation = self.session(session).await.launch.conversation.expect("it was launched");
        self.agents().choices(conversation.as_str())
    }

    pub(crate) async fn was_interrupted(&self, session: SessionId) -> bool {
        let conversation = self.session(session).await.launch.conversation.expect("it was launched");
        self.agents().entries(conversation.as_str()).iter().any(|entry| entry["type"] == "interrupted")
    }

    /// Waits until this stands in the agent's input box.
    pub(crate) async fn until_draft(&self, session: SessionId, draft: &str) {
        let conversation = self.session(session).await.launch.conversation.expect("it was launched");
        let deadline = Instant::now() + PATIENCE;
        // The agent writes it to a file, of which nobody tells us.
        while self.agents().draft(conversation.as_str()) != draft {
            assert!(
                Instant::now() < deadline,
                "the draft is {:?}",
                self.agents().draft(conversation.as_str())
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Types as a person at the terminal would.
    pub(crate) async fn type_into(&self, session: SessionId, keys: &str) {
        let process = self.session(session).await.process.expect("it runs");
        if self.plan.runtime == "tmux" {
            let attach = self.tmux().attach_command(&process).unwrap();
            let (at, target) =
                (attach.iter().position(|arg| arg == "attach-session").unwrap(), attach.last().unwrap());
            let status = Command::new(&attach[0])
                .args(&attach[1..at])
                .args(["send-keys", "-l", "-t", &format!("{target}:"), "--", keys])
                .status();
            assert!(status.unwrap().success());
        } else {
            let shim = Shim { program: "/nonexistent".into(), args: vec![] };
            let options = ao_runtime::Options::new(self.path("data/processes"), shim);
            let processes = Processes::new(options, Arc::new(SystemClock));
            let mut attachment = processes.connect(&process, ViewOptions::default()).await.unwrap();
            attachment.type_bytes(keys.as_bytes()).await.unwrap();
            // Only once the shim has answered has it read what was typed before.
            while !matches!(attachment.next().await.unwrap(), Some(Frame::Output { .. }) | None) {}
        }
    }

    /// The daemon's tmux server, for commands that it is asked by.
    fn tmux(&self) -> Tmux {
        let options = tmux::Options::new(self.path("data/tmux"), vec![]);
        Tmux::new(options, Arc::new(SystemClock))
    }

    pub(crate) async fn screen(&self, session: SessionId) -> Vec<String> {
        let process = self.session(session).await.process.expect("it runs");
        self.daemon().runtimes.of(&process).unwrap().screen(&process).await.unwrap().lines
    }

    pub(crate) fn kill9(&self, pid: i32) {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }

    /// The process of the tmux server.
    pub(crate) async fn tmux_server(&self) -> i32 {
        let any = self.view(|state| state.live().find_map(|session| session.process.clone())).await.unwrap();
        let attach = self.tmux().attach_command(&any).unwrap();
        let at = attach.iter().position(|arg| arg == "attach-session").unwrap();
        let told =
            Command::new(&attach[0]).args(&attach[1..at]).args(["display-message", "-p", "#{pid}"]).output();
        String::from_utf8(told.unwrap().stdout).unwrap().trim().parse().unwrap()
    }

    pub(crate) async fn conversations(&self, sessions: &[SessionId]) -> Vec<Option<ConversationId>> {
        let sessions = sessions.to_vec();
        self.view(move |state| {
            sessions.iter().map(|id| state.sessions[id].launch.conversation.clone()).collect()
        })
        .await
    }

    pub(crate) async fn only_session(&self) -> SessionId {
        let live = self.view(|state| state.live().map(|session| session.id).collect::<Vec<_>>()).await;
        assert_eq!(live.len(), 1);
        live[0]
    }

    /// Everything that ever happened to a session.
    pub(crate) async fn events(&self, session: SessionId) -> Vec<SessionEvent> {
        let last = self.daemon().last_seq().await.unwrap();
        let mut feed = self.daemon().handle.subscribe(0);
        let mut events = Vec::new();
        while let Some(published) = feed.next().await.unwrap() {
            if let Event::Session(id, event) = &published.event
                && *id == session
            {
                events.push(event.clone());
            }
            if published.seq >= last {
                break;
            }
        }
        events
    }

    /// When something last happened to a session.
    pub(crate) async fn when(&self, session: SessionId, is: impl Fn(&SessionEvent) -> bool) -> Timestamp {
        let last = self.daemon().last_seq().await.unwrap();
        let mut feed = self.daemon().handle.subscribe(0);
        let mut at = None;
        while let Some(published) = feed.next().await.unwrap() {
            if matches!(&published.event, Event::Session(id, event) if *id == session && is(event)) {
                at = Some(published.at);
            }
            if published.seq >= last {
                break;
            }
        }
        at.expect("it happened")
    }

    /// Moves the sockets away by which a runtime looks at its agents.
    pub(crate) fn hide_what_runtimes_look_with(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut hidden = Vec::new();
        let mut folders = vec![self.path("data/processes"), self.path("data/tmux")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let kind = entry.file_type().unwrap();
                if kind.is_dir() {
                    folders.push(entry.path());
                } else if kind.is_socket() {
                    let aside = entry.path().with_extension("aside");
                    fs::rename(entry.path(), &aside).unwrap();
                    hidden.push((entry.path(), aside));
                }
            }
        }
        assert!(!hidden.is_empty(), "there are sockets");
        hidden
    }

    /// Puts back what was hidden, and lets the daemon begin anew with it.
    pub(crate) async fn show_again(&mut self, hidden: Vec<(PathBuf, PathBuf)>) {
        self.close().await;
        for (place, aside) in hidden {
            // A tmux server that is told so makes its socket anew.
            if !place.exists() {
                fs::rename(aside, place).unwrap();
            }
        }
        self.open().await;
    }

    /// Tells that somebody typed, after which an agent at rest is looked at.
    pub(crate) async fn tell_typed(&self, session: SessionId) {
        let typed = Signal {
            attempt: self.session(session).await.attempt,
            source: SignalSource::Terminal,
            at: now(),
            confidence: Confidence::High,
            reading: Reading::HumanTyped,
        };
        self.tell(session, SessionInput::Signal(typed)).await.unwrap();
    }

    pub(crate) async fn tree(&self, session: SessionId) -> PathBuf {
        self.session(session).await.workspace.path().expect("it has a workspace").into()
    }

    pub(crate) async fn file(&self, session: SessionId, name: &str) -> String {
        fs::read_to_string(self.tree(session).await.join(name)).unwrap()
    }

    /// Waits until a person was told something with these words.
    pub(crate) async fn until_told(&self, words: &str) {
        let mut told = self.notices.0.subscribe();
        let heard = told.wait_for(|told| told.iter().any(|notice| notice.text.contains(words)));
        let heard = tokio::time::timeout(PATIENCE, heard).await;
        assert!(heard.is_ok(), "nobody was told `{words}`: {:?}", self.notices.texts());
    }

    async fn screens(&self) -> String {
        let processes = self
            .view(|state| {
                let running = state.live().filter_map(|session| Some((session.id, session.process.clone()?)));
                running.collect::<Vec<_>>()
            })
            .await;
        let mut text = String::new();
        for (session, process) in processes {
            let screen = self.daemon().runtimes.of(&process).unwrap().screen(&process).await;
            let lines = screen.map(|screen| screen.lines.join("\n")).unwrap_or_else(|err| err.to_string());
            text.push_str(&format!("── screen of {session} ──\n{}\n", lines.trim_end()));
        }
        text
    }

    /// Everything that runs on behalf of this fleet.
    pub(crate) fn processes(&self) -> Vec<i32> {
        processes_with(&format!("SCRIPTED_HOME={}", self.path("agents").display()))
    }
}

const AGENT: &str = "scripted";

impl Fleet {
    fn options(&self) -> daemon::DaemonOptions {
        let home = self.path("agents");
        let ao = env!("CARGO_BIN_EXE_ao");
        let env = BTreeMap::from([
            ("HOME".to_owned(), self.path("tmp").display().to_string()),
            ("SCRIPTED_HOME".to_owned(), home.display().to_string()),
            ("SCRIPTED_HOOK".to_owned(), format!("{ao} hook")),
            ("SCRIPTED_SCRIPT".to_owned(), self.plan.script.clone()),
        ]);
        let mut agent: ao_agent::Options = serde_json::from_str(scripted::MANIFEST).unwrap();
        agent.program = scripted::program().display().to_string();
        agent.conversation_file = Some(format!("{}/{{conversation}}.jsonl", home.display()));
        agent.keys.human_quiet = self.plan.settings.human_quiet;
        agent.env = env;
        let data_dir = Utf8PathBuf::from_path_buf(self.path("data")).unwrap();
        let mut options = daemon::DaemonOptions::new(data_dir, ao);
        options.agents.push(agent);
        options.prevent_idle_sleep = self.plan.awake_by.clone().map(ao::power::PowerBus::At);
        options.notifiers.insert("test".into(), self.notices.clone());
        options
    }
}

pub(crate) fn make_repository(path: &Path) {
    fs::create_dir(path).unwrap();
    git(path, &["init", "--quiet", "--initial-branch=main"]);
    fs::write(path.join("README.md"), "# app\n").unwrap();
    git(path, &["add", "."]);
    git(path, &["commit", "--quiet", "-m", "begin"]);
}

/// Runs git as a user would. Git fails if it meets a worktree that the daemon is just creating, so it is called again then.
pub(crate) fn git(path: &Path, args: &[&str]) -> String {
    for _ in 0..100 {
        let output = Command::new("git")
            .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"])
            .args(args)
            .current_dir(path)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .expect("git runs");
        if output.status.success() {
            return String::from_utf8_lossy(&output.stdout).trim().to_owned();
        }
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(complaint.contains("commondir:"), "git {args:?}: {complaint}");
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("git {args:?}: a worktree stays unfinished");
}

pub(crate) fn project() -> ProjectId {
    ProjectId::new("app")
}

/// The processes that were started with this in their environment.
pub(crate) fn processes_with(line: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("there is a /proc").flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|known| known == line.as_bytes())
    })
    .collect()
}

pub(crate) fn parent_of(pid: i32) -> Option<i32> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

pub(crate) fn is_agent(pid: i32) -> bool {
    let exe = fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
    exe.file_name() == scripted::program().file_name()
}

pub(crate) fn now() -> Timestamp {
    SystemClock.now()
}

/// What a person was told.
#[derive(Debug)]
pub(crate) struct Notices(watch::Sender<Vec<Notice>>);

impl Default for Notices {
    fn default() -> Notices {
        Notices(watch::Sender::new(vec![]))
    }
}

impl Notices {
    pub(crate) fn texts(&self) -> Vec<String> {
        self.0.borrow().iter().map(|notice| notice.text.clone()).collect()
    }
}

#[async_trait]
impl Notifier for Notices {
    async fn notify(&self, notice: &Notice) -> Result<(), NotifyError> {
        self.0.send_modify(|told| told.push(notice.clone()));
        Ok(())
    }
}

fn describe(state: &State) -> String {
    let lines = state.sessions.values().map(|session| {
        let status = session.status(now());
        let signals: Vec<_> =
            session.evidence.latest().map(|s| format!("{:?} {:?}", s.source, s.reading)).collect();
        format!(
            "{} {:?}: {} (turns {}, outbox {:?}, {signals:?})",
            session.spec.name, status.word, status.reason, session.usage.turns, session.outbox.current
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

impl Drop for Fleet {
    /// A test that has failed leaves nothing running.
    fn drop(&mut self) {
        if let Home::Others(_) = self.home {
            return;
        }
        let _ = Command::new("tmux")
            .args(["-S", &self.path("data/tmux/socket").display().to_string(), "kill-server"])
            .stderr(std::process::Stdio::null())
            .status();
        for pid in self.processes() {
            if let Some(pid) = rustix::process::Pid::from_raw(pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

/// Each story once for every runtime that gives an agent a terminal.
macro_rules! on_both {
    ($($story:ident;)*) => {
        mod process {
            $(#[tokio::test] async fn $story() { super::$story("process").await; })*
        }
        mod tmux {
            $(#[tokio::test] async fn $story() { super::$story("tmux").await; })*
        }
    };
}
pub(crate) use on_both;
