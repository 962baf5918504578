//! The runtime slot, filled with tmux.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::Timestamp;
use ao_core::input::{Counted, Life};
use ao_ports::{
    Clock, EndOrder, Output, ProcessRef, Reporter, Runtime, RuntimeAbilities, RuntimeError, Screen,
    StartSpec, WriteOrder, WriteOutcome,
};
use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::control::{Control, News};
use super::place::Pane;
use super::server::Server;
use super::wrote::Wrote;
use super::{end, life, output, screen, start, typed, watch, write};
use crate::host::life::Samples;
use crate::host::listen::Ear;
use crate::host::report::Reports;
use crate::host::start::Door;
use crate::host::sweep::Sweep;
use crate::host::turns::Turns;
use crate::host::usual::{GRACE, KEEP_ENDED, SIZE};
use crate::host::{Key, Place};
use crate::kept::Keep;
use crate::lineage::Families;

/// How the runtime behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it keeps its socket, its configuration and what it knows of its agents. Private, and the same after a
    /// restart. Its path must be short, as that of a socket must be.
    pub state_dir: PathBuf,
    /// The command that runs [`helper::main`](super::helper::main), with its first arguments.
    pub helper: Vec<String>,
    /// Which tmux.
    pub program: String,
    /// How large terminals are until somebody attaches, in columns and rows.
    pub size: (u16, u16),
    /// How much output is kept of each agent.
    pub keep: Keep,
    /// How long the output of what was ended is kept.
    pub keep_ended: Duration,
    /// How long an agent has to end by itself before it is killed.
    pub grace: Duration,
    /// Where its processes are made known, so that whatever descends from them is known for what it is.
    pub families: Arc<Families>,
}

impl Options {
    pub fn new(state_dir: impl Into<PathBuf>, helper: Vec<String>) -> Options {
        Options {
            state_dir: state_dir.into(),
            helper,
            program: "tmux".into(),
            size: SIZE,
            keep: Keep::default(),
            keep_ended: KEEP_ENDED,
            grace: GRACE,
            families: Arc::default(),
        }
    }
}

/// Runs agents in tmux.
pub struct Tmux {
    pub(super) shared: Arc<Shared>,
    /// One for each agent whose end is waited for, and one for the typing. Dropping them ends the waiting, never an agent.
    waiters: Mutex<JoinSet<()>>,
}

/// What the waiters need too.
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) server: Server,
    pub(super) control: Control,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) reports: Reports,
    /// Those whose end a waiter of ours will write down. Until it has, they count as living: one that is gone but whose
    /// code is not written yet would pass for one that was killed.
    pub(super) waited_for: Mutex<HashSet<Key>>,
    pub(super) samples: Samples,
    /// When a person was last seen to type.
    pub(super) typed: Mutex<HashMap<Key, Timestamp>>,
    /// Which writes are noted in tmux, for those that were written to.
    pub(super) wrote: Mutex<HashMap<Key, Wrote>>,
    /// Whose session of tmux it is, by its id, for those whose end is waited for. Another server gives the same ids again,
    /// so what was written down of the agent has to agree.
    pub(super) sessions: Mutex<HashMap<String, Key>>,
    /// By which those who wait for output or an exit hear of it.
    pub(super) ear: Ear,
    pub(super) turns: Turns,
    pub(super) door: Door,
    /// Those that were begun and not ended. When there are none, the server is not needed; it decides that by itself, and
    /// this only saves asking it at every end.
    pub(super) open: Mutex<HashSet<Key>>,
    sweep: Sweep,
    /// For whoever waits for the typing.
    news: Mutex<Option<mpsc::UnboundedReceiver<News>>>,
}

impl Tmux {
    /// What it can do, for whoever asks before there is one.
    pub const ABILITIES: RuntimeAbilities = RuntimeAbilities {
        outlives_daemon: true,
        terminal: true,
        pipes: false,
        output: true,
        // The server notes the number in the same breath in which it writes the bytes.
        remembers_writes: true,
        shares_files: true,
    };

    /// Needs to be called within a tokio runtime. Starts nothing until it is asked to.
    pub fn new(options: Options, clock: Arc<dyn Clock>) -> Tmux {
        let server = Server::of(&options);
        // Without a bound: it comes no faster than people do, and at most once a second while they type.
        let (sender, news) = mpsc::unbounded_channel();
        let control = Control::new(server.clone(), sender);
        Tmux {
            shared: Arc::new(Shared {
                options,
                server,
                control,
                clock,
                reports: Reports::default(),
                waited_for: Mutex::default(),
                samples: Samples::default(),
                typed: Mutex::default(),
                sessions: Mutex::default(),
                wrote: Mutex::default(),
                ear: Ear::default(),
                turns: Turns::default(),
                door: Door::default(),
                open: Mutex::default(),
                sweep: Sweep::default(),
                news: Mutex::new(Some(news)),
            }),
            waiters: Mutex::default(),
        }
    }

    /// Names whom to report ends and typing to, and takes over the agents that an earlier daemon has started.
    pub async fn watch(&self, reporter: Arc<dyn Reporter>) -> Result<(), RuntimeError> {
        self.shared.reports.tell_to(reporter);
        if let Some(news) = self.shared.news.lock().expect("nobody panics while taking it").take() {
            let shared = self.shared.clone();
            self.spawn(async move { typed::listen(&shared, news).await });
        }
        let mut settling = JoinSet::new();
        let places = Place::unended(&self.shared.agents())?;
        let keys = places.iter().map(|place| place.key);
        self.shared.open.lock().expect("nobody panics while counting").extend(keys);
        if places.is_empty() {
            // An earlier daemon may have ended the last agent and not come to this.
            end::end_unused_server(&self.shared).await;
        }
        for place in places {
            match watch::adopt(self, &place).await {
                Ok(None) => {}
                Ok(Some(gone)) => {
                    let shared = self.shared.clone();
                    settling.spawn(async move { watch::settle(&shared, &place, &gone).await });
                }
                // One that cannot be read is unknown, and no reason to leave the others unheard.
                Err(err) => {
                    tracing::warn!(%err, session = %place.key.0, attempt = %place.key.1, "an agent is not listened to");
                }
            }
        }
        settling.join_all().await;
        self.shared.sweep();
        Ok(())
    }

    /// The command with which a person attaches to an agent: `tmux -S … attach-session -t =…`.
    pub fn attach_command(&self, process: &ProcessRef) -> Result<Vec<String>, RuntimeError> {
        let (_, pane) = self.shared.known(process)?;
        Ok(self.shared.server.attach(&pane.name))
    }

    pub(super) fn spawn_waiter(&self, key: Key, waiter: impl Future<Output = ()> + Send + 'static) {
        self.shared.waited_for.lock().expect("nobody panics while counting").insert(key);
        self.spawn(waiter);
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut waiters = self.waiters.lock().expect("nobody panics while adding one");
        while waiters.try_join_next().is_some() {}
        waiters.spawn(task);
    }
}

impl Shared {
    pub(super) fn agents(&self) -> PathBuf {
        self.options.state_dir.join("agents")
    }

    pub(super) fn place(&self, key: Key) -> Place {
        Place::of(&self.agents(), key)
    }

    /// The place of an agent by its name, if it is one of ours.
    pub(super) fn find(&self, process: &ProcessRef) -> Result<Place, RuntimeError> {
        Place::find(&self.agents(), process)
    }

    /// An agent that was started.
    pub(super) fn known(&self, process: &ProcessRef) -> Result<(Place, Pane), RuntimeError> {
        let place = self.find(process)?;
        match place.pane()? {
            Some(pane) => Ok((place, pane)),
            None => Err(RuntimeError::Failed(format!("`{}` was never started", process.0))),
        }
    }

    pub(super) fn key_of(&self, session: &str) -> Option<Key> {
        self.sessions.lock().expect("nobody panics while looking one up").get(session).copied()
    }

    pub(super) fn is_waited_for(&self, key: Key) -> bool {
        self.waited_for.lock().expect("nobody panics while counting").contains(&key)
    }

    /// Lets go of what ended long ago, now and then.
    pub(super) fn sweep(&self) {
        self.sweep.now_and_then(self.agents(), self.options.keep_ended);
    }
}

#[async_trait]
impl Runtime for Tmux {
    fn abilities(&self) -> RuntimeAbilities {
        Tmux::ABILITIES
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
    ) -> Result<Output, RuntimeError> {
        output::output(&self.shared, self.shared.known(process)?.0, from, limit, wait).await
    }

    async fn screen(&self, process: &ProcessRef) -> Result<Screen, RuntimeError> {
        screen::screen(&self.shared, process).await
    }

    async fn look(&self, process: &ProcessRef) -> Life {
        life::look(&self.shared, process).await
    }

    async fn folder(&self, process: &ProcessRef) -> Option<String> {
        self.shared.known(process).ok()?.1.process.folder()
    }

    async fn census(&self) -> Result<Vec<Counted>, RuntimeError> {
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
