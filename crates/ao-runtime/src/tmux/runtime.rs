//! The runtime that runs agents in tmux.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::input::ProcessLife;
use ao_core::{Attempt, SessionId, Timestamp};
use ao_ports::{
    CensusEntry, Clock, EndOrder, ExecOrder, ExecOutcome, OutputPart, ProcessRef, Reporter, Runtime,
    RuntimeAbilities, RuntimeError, Screen, StartSpec, TerminalView, ViewOptions, WriteOrder, WriteOutcome,
};
use ao_process::Keeper;
use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::attempt_dir::PaneRecord;
use super::control::{ControlLink, TmuxEvent};
use super::noted_writes::NotedWrites;
use super::server::TmuxServer;
use super::{end, life, output, screen, start, typing, view, watch, write};
use crate::host::defaults::{GRACE, KEEP_ENDED, SIZE};
use crate::host::state::HostState;
use crate::host::{AttemptDir, AttemptKey, exec};
use crate::lineage::Families;
use crate::recording::OutputLimits;

/// The name of the runtime.
pub(super) const NAME: &str = "tmux";

/// Settings of the runtime.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder for its socket, its configuration and the state of its agents. Private, and the same after a restart.
    /// Its path must be short, since that of a socket must be.
    pub state_dir: PathBuf,
    /// The command that runs [`helper::main`](super::helper::main), with its first arguments.
    pub helper: Vec<String>,
    /// The tmux program.
    pub program: String,
    /// Initial size of terminals, until a person attaches, in columns and rows.
    pub size: (u16, u16),
    /// Limits of the output that is recorded of each agent.
    pub keep: OutputLimits,
    /// Time for which the output of an ended attempt is kept.
    pub keep_ended: Duration,
    /// Time that an agent gets to end by itself before it is killed.
    pub grace: Duration,
    /// The registry of its processes, by which their descendants are recognised.
    pub families: Arc<Families>,
    /// The keeper of commands that run beside agents.
    pub keeper: Keeper,
}

impl Options {
    pub fn new(state_dir: impl Into<PathBuf>, helper: Vec<String>) -> Options {
        Options {
            state_dir: state_dir.into(),
            helper,
            program: "tmux".into(),
            size: SIZE,
            keep: OutputLimits::default(),
            keep_ended: KEEP_ENDED,
            grace: GRACE,
            families: Arc::default(),
            keeper: Keeper::default(),
        }
    }
}

/// Runs agents in tmux.
pub struct Tmux {
    pub(super) shared: Arc<SharedTmux>,
    /// One task for each agent whose end is awaited, and one for typing. Dropping them ends the waiting, never an
    /// agent.
    waiters: Mutex<JoinSet<()>>,
}

/// State that the waiters share.
pub(super) struct SharedTmux {
    pub(super) options: Options,
    pub(super) server: TmuxServer,
    pub(super) control: ControlLink,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) host: HostState,
    /// Agents whose exit one of our waiters will record. Until then they count as alive: one that is gone without a
    /// recorded code would pass for killed.
    pub(super) waited_for: Mutex<HashSet<AttemptKey>>,
    /// The time at which a person was last seen typing.
    pub(super) typed: Mutex<HashMap<AttemptKey, Timestamp>>,
    /// The writes noted in tmux, for agents that were written to.
    pub(super) wrote: Mutex<HashMap<AttemptKey, NotedWrites>>,
    /// The agent of each tmux session, by session id, for agents whose end is awaited. Another server reuses the ids,
    /// so the record of the agent has to match too.
    pub(super) sessions: Mutex<HashMap<String, AttemptKey>>,
    /// Attempts that were begun and not ended. If there are none, the server is not needed; the server decides that
    /// itself, and this only saves asking it at every end.
    pub(super) open: Mutex<HashSet<AttemptKey>>,
    /// Notifications for the task that waits for typing.
    news: Mutex<Option<mpsc::UnboundedReceiver<TmuxEvent>>>,
}

impl Tmux {
    /// The abilities of this runtime, available without an instance.
    pub const ABILITIES: RuntimeAbilities = RuntimeAbilities {
        terminal: true,
        pipes: false,
        output: true,
        // The server notes the number atomically with the write of the bytes.
        remembers_writes: true,
        shares_files: true,
        places_files: true,
    };

    /// Must be called within a tokio runtime. Starts nothing until it is asked to.
    pub fn new(options: Options, clock: Arc<dyn Clock>) -> Tmux {
        let server = TmuxServer::of(&options);
        // Unbounded: events come no faster than people act, and at most once a second while they type.
        let (sender, news) = mpsc::unbounded_channel();
        let control = ControlLink::new(server.clone(), sender);
        Tmux {
            shared: Arc::new(SharedTmux {
                options,
                server,
                control,
                clock,
                host: HostState::default(),
                waited_for: Mutex::default(),
                typed: Mutex::default(),
                sessions: Mutex::default(),
                wrote: Mutex::default(),
                open: Mutex::default(),
                news: Mutex::new(Some(news)),
            }),
            waiters: Mutex::default(),
        }
    }

    /// Sets the reporter of exits and typing, and takes over the agents that an earlier daemon has started.
    pub async fn watch(&self, reporter: Arc<dyn Reporter>) -> Result<(), RuntimeError> {
        self.shared.host.reports.set_reporter(reporter);
        if let Some(news) = self.shared.news.lock().expect("no thread panics while taking it").take() {
            let shared = self.shared.clone();
            self.spawn(async move { typing::listen(&shared, news).await });
        }
        let mut settling = JoinSet::new();
        let places = AttemptDir::unended(&self.shared.agents())?;
        let keys = places.iter().map(|attempt_dir| attempt_dir.key);
        self.shared.open.lock().expect("no thread panics while counting").extend(keys);
        if places.is_empty() {
            // An earlier daemon may have ended the last agent but not the server.
            end::end_unused_server(&self.shared).await;
        }
        for attempt_dir in places {
            match watch::adopt(self, &attempt_dir).await {
                Ok(None) => {}
                Ok(Some(gone)) => {
                    let shared = self.shared.clone();
                    settling.spawn(async move { watch::settle(&shared, &attempt_dir, &gone).await });
                }
                // An unreadable one is unknown, and no reason to ignore the others.
                Err(err) => {
                    tracing::warn!(%err, session = %attempt_dir.key.0, attempt = %attempt_dir.key.1, "an agent is not listened to");
                }
            }
        }
        settling.join_all().await;
        self.shared.sweep();
        Ok(())
    }

    /// Returns the command with which a person attaches to an agent: `tmux -S … attach-session -t =…`.
    pub fn attach_command(&self, process: &ProcessRef) -> Result<Vec<String>, RuntimeError> {
        self.shared.attach_command(process)
    }

    pub(super) fn spawn_waiter(&self, key: AttemptKey, waiter: impl Future<Output = ()> + Send + 'static) {
        self.shared.waited_for.lock().expect("no thread panics while counting").insert(key);
        self.spawn(waiter);
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut waiters = self.waiters.lock().expect("no thread panics while adding one");
        while waiters.try_join_next().is_some() {}
        waiters.spawn(task);
    }
}

impl SharedTmux {
    pub(super) fn agents(&self) -> PathBuf {
        self.options.state_dir.join("agents")
    }

    pub(super) fn attempt_dir(&self, key: AttemptKey) -> AttemptDir {
        AttemptDir::of(&self.agents(), key)
    }

    /// Returns the folder of an agent by its reference, if it is one of ours.
    pub(super) fn find(&self, process: &ProcessRef) -> Result<AttemptDir, RuntimeError> {
        AttemptDir::find(&self.agents(), NAME, process)
    }

    /// Returns the folder and the pane of an agent that was started.
    pub(super) fn known(&self, process: &ProcessRef) -> Result<(AttemptDir, PaneRecord), RuntimeError> {
        let attempt_dir = self.find(process)?;
        match attempt_dir.pane()? {
            Some(pane) => Ok((attempt_dir, pane)),
            None => Err(RuntimeError::Failed(format!("`{process}` was never started"))),
        }
    }

    pub(super) fn attach_command(&self, process: &ProcessRef) -> Result<Vec<String>, RuntimeError> {
        let (_, pane) = self.known(process)?;
        Ok(self.server.attach(&pane.name))
    }

    pub(super) fn key_of(&self, session: &str) -> Option<AttemptKey> {
        self.sessions.lock().expect("no thread panics while looking one up").get(session).copied()
    }

    pub(super) fn is_waited_for(&self, key: AttemptKey) -> bool {
        self.waited_for.lock().expect("no thread panics while counting").contains(&key)
    }

    /// Removes the state of attempts that ended long ago, now and then.
    pub(super) fn sweep(&self) {
        self.host.sweep.now_and_then(self.agents(), self.options.keep_ended);
    }
}

#[async_trait]
impl Runtime for Tmux {
    fn name(&self) -> &str {
        NAME
    }

    fn abilities(&self) -> RuntimeAbilities {
        Tmux::ABILITIES
    }

    async fn watch(&self, reporter: Arc<dyn Reporter>) -> Result<(), RuntimeError> {
        Tmux::watch(self, reporter).await
    }

    async fn reference(
        &self,
        session: SessionId,
        attempt: Attempt,
    ) -> Result<Option<ProcessRef>, RuntimeError> {
        let attempt_dir = self.shared.attempt_dir((session, attempt));
        Ok(attempt_dir.pane()?.map(|_| attempt_dir.process(NAME)))
    }

    async fn attach(
        &self,
        process: &ProcessRef,
        options: ViewOptions,
    ) -> Result<Box<dyn TerminalView>, RuntimeError> {
        view::open(&self.shared, process, options).await
    }

    async fn exec(&self, order: &ExecOrder) -> Result<ExecOutcome, RuntimeError> {
        exec::exec(&self.shared.options.keeper, self.shared.options.grace, order).await
    }

    async fn start(&self, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
        start::start(self, spec).await
    }

    async fn write(&self, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
        write::write(&self.shared, order).await
    }

    async fn output(
        &self,
        process: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<OutputPart, RuntimeError> {
        output::output(&self.shared, self.shared.known(process)?.0, from, limit, wait).await
    }

    async fn screen(&self, process: &ProcessRef) -> Result<Screen, RuntimeError> {
        screen::screen(&self.shared, process).await
    }

    async fn look(&self, process: &ProcessRef) -> ProcessLife {
        life::look(&self.shared, process).await
    }

    async fn folder(&self, process: &ProcessRef) -> Option<String> {
        self.shared.known(process).ok()?.1.process.folder()
    }

    async fn census(&self) -> Result<Vec<CensusEntry>, RuntimeError> {
        life::census(&self.shared).await
    }

    async fn end(&self, order: &EndOrder) -> Result<(), RuntimeError> {
        end::end(&self.shared, order).await
    }
}

impl fmt::Debug for Tmux {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tmux").field("options", &self.shared.options).finish_non_exhaustive()
    }
}
