//! The runtime that runs processes, each with its own shim.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::input::ProcessLife;
use ao_core::{Attempt, SessionId};
use ao_ports::{
    CensusEntry, Clock, EndOrder, ExecOrder, ExecOutcome, OutputPart, ProcessRef, Reporter, Runtime,
    RuntimeAbilities, RuntimeError, Screen, StartSpec, TerminalView, ViewOptions, WriteOrder, WriteOutcome,
};
use ao_process::Keeper;
use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::attach::{self, Attachment};
use super::link::{self, ShimLink};
use super::{end, life, output, requests, start, view};
use crate::host::defaults::{GRACE, KEEP_ENDED, SIZE};
use crate::host::state::HostState;
use crate::host::{AttemptDir, AttemptKey, EndState, ProcessRecord, exec};
use crate::lineage::Families;
use crate::recording::OutputLimits;

/// The name of the runtime.
pub(super) const NAME: &str = "process";

/// Settings of the runtime.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder for the state of its processes. Private, and the same after a restart.
    pub state_dir: PathBuf,
    /// The program that is started to hold a process.
    pub shim: Shim,
    /// Initial size of terminals, in columns and rows.
    pub size: (u16, u16),
    /// Limits of the output that is recorded of each process.
    pub keep: OutputLimits,
    /// Time for which the output of an ended attempt is kept.
    pub keep_ended: Duration,
    /// Time that a process gets to end by itself before it is killed.
    pub grace: Duration,
    /// Time for which a process may leave its input unread before a write fails.
    pub write_wait: Duration,
    /// The registry of its processes, by which their descendants are recognised.
    pub families: Arc<Families>,
    /// The keeper of commands that run beside agents.
    pub keeper: Keeper,
}

/// The program whose only purpose is to call [`shim::run`](super::shim::run).
#[derive(Debug, Clone)]
pub struct Shim {
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

impl Options {
    pub fn new(state_dir: impl Into<PathBuf>, shim: Shim) -> Options {
        Options {
            state_dir: state_dir.into(),
            shim,
            size: SIZE,
            keep: OutputLimits::default(),
            keep_ended: KEEP_ENDED,
            grace: GRACE,
            write_wait: Duration::from_secs(10),
            families: Arc::default(),
            keeper: Keeper::default(),
        }
    }
}

/// Runs agents as processes on this host.
pub struct Processes {
    pub(super) shared: Arc<SharedProcesses>,
    /// One task for each linked process. Dropping them ends the listening, never a process.
    links: Mutex<JoinSet<()>>,
}

/// State that the links share.
pub(super) struct SharedProcesses {
    pub(super) options: Options,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) host: HostState,
    /// Processes whose shim or end is listened to.
    pub(super) links: Mutex<HashMap<AttemptKey, ShimLink>>,
    /// Notifies when a link is added.
    pub(super) linked: Notify,
}

impl Processes {
    /// The abilities of this runtime, available without an instance.
    pub const ABILITIES: RuntimeAbilities = RuntimeAbilities {
        terminal: true,
        pipes: true,
        output: true,
        remembers_writes: true,
        shares_files: true,
        places_files: true,
    };

    pub fn new(options: Options, clock: Arc<dyn Clock>) -> Processes {
        Processes {
            shared: Arc::new(SharedProcesses {
                options,
                clock,
                host: HostState::default(),
                links: Mutex::default(),
                linked: Notify::new(),
            }),
            links: Mutex::default(),
        }
    }

    /// Sets the reporter, and links to the processes that an earlier daemon has started.
    pub fn watch(&self, reporter: Arc<dyn Reporter>) -> Result<(), RuntimeError> {
        self.shared.host.reports.set_reporter(reporter);
        for attempt_dir in AttemptDir::unended(&self.shared.options.state_dir)? {
            self.shared.make_known(&attempt_dir);
            // An unreadable one is unknown, and no reason to ignore the others.
            if let Err(err) = self.adopt(&attempt_dir) {
                tracing::warn!(%err, session = %attempt_dir.key.0, attempt = %attempt_dir.key.1, "an agent is not listened to");
            }
        }
        self.shared.sweep();
        Ok(())
    }

    /// Connects to the shim of a process as a viewer. Which viewer has control is between it and the shim.
    pub async fn connect(
        &self,
        process: &ProcessRef,
        options: ViewOptions,
    ) -> Result<Attachment, RuntimeError> {
        attach::attach(&self.shared.find(process)?, process, options).await
    }

    /// Removes the recorded output of an ended process. The note that it was ended stays, so that it is not started
    /// again.
    pub async fn forget(&self, process: &ProcessRef) -> Result<(), RuntimeError> {
        let attempt_dir = self.shared.find(process)?;
        let _turn = self.shared.host.turns.take(attempt_dir.key).await;
        match attempt_dir.ending()? {
            Some(EndState::Done) => attempt_dir.empty(),
            _ => Err(RuntimeError::Failed(format!("`{process}` was not ended, so it is not forgotten"))),
        }
    }

    /// Links to a process, unless it is known to have ended.
    pub(super) fn adopt(&self, attempt_dir: &AttemptDir) -> Result<(), RuntimeError> {
        if attempt_dir.exit()?.is_none() && attempt_dir.record()?.is_some() {
            self.listen_to(attempt_dir);
        }
        Ok(())
    }

    /// Links to a process, unless that was done before. Its end is reported, even if it has ended already.
    pub(super) fn listen_to(&self, attempt_dir: &AttemptDir) {
        let mut known = self.shared.links.lock().expect("no thread panics while counting");
        if known.contains_key(&attempt_dir.key) {
            return;
        }
        let (link, holds) = link::link(self.shared.clone(), attempt_dir.clone());
        known.insert(attempt_dir.key, link);
        drop(known);
        self.shared.linked.notify_waiters();
        let mut links = self.links.lock().expect("no thread panics while adding one");
        while links.try_join_next().is_some() {}
        links.spawn(holds);
    }
}

impl SharedProcesses {
    pub(super) fn attempt_dir(&self, key: AttemptKey) -> AttemptDir {
        AttemptDir::of(&self.options.state_dir, key)
    }

    /// Returns the folder of a process by its reference, if it is one of ours.
    pub(super) fn find(&self, process: &ProcessRef) -> Result<AttemptDir, RuntimeError> {
        AttemptDir::find(&self.options.state_dir, NAME, process)
    }

    pub(super) fn link(&self, key: AttemptKey) -> Option<ShimLink> {
        self.links.lock().expect("no thread panics while counting").get(&key).cloned()
    }

    /// Registers the living processes of an attempt.
    pub(super) fn make_known(&self, attempt_dir: &AttemptDir) {
        let families = &self.options.families;
        if let Some(holder) =
            attempt_dir.readable(attempt_dir.holder()).filter(|holder| holder.lives().unwrap_or(false))
        {
            families.add_holder(&holder, attempt_dir.key);
        }
        if let Some(agent) = attempt_dir.readable(attempt_dir.record()).filter(ProcessRecord::is_of_this_boot)
        {
            families.add_agent(&agent, attempt_dir.key);
        }
    }

    /// Removes the state of attempts that ended long ago, now and then.
    pub(super) fn sweep(&self) {
        self.host.sweep.now_and_then(self.options.state_dir.clone(), self.options.keep_ended);
    }
}

#[async_trait]
impl Runtime for Processes {
    fn name(&self) -> &str {
        NAME
    }

    fn abilities(&self) -> RuntimeAbilities {
        Processes::ABILITIES
    }

    async fn watch(&self, reporter: Arc<dyn Reporter>) -> Result<(), RuntimeError> {
        Processes::watch(self, reporter)
    }

    async fn reference(
        &self,
        session: SessionId,
        attempt: Attempt,
    ) -> Result<Option<ProcessRef>, RuntimeError> {
        let attempt_dir = self.shared.attempt_dir((session, attempt));
        Ok(attempt_dir.record()?.map(|_| attempt_dir.process(NAME)))
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
        requests::write(&self.shared, order).await
    }

    async fn output(
        &self,
        process: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<OutputPart, RuntimeError> {
        output::output(&self.shared, self.shared.find(process)?, from, limit, wait).await
    }

    async fn log(
        &self,
        process: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<OutputPart, RuntimeError> {
        output::log(&self.shared, self.shared.find(process)?, from, limit, wait).await
    }

    async fn screen(&self, process: &ProcessRef) -> Result<Screen, RuntimeError> {
        requests::screen(&self.shared, process).await
    }

    async fn look(&self, process: &ProcessRef) -> ProcessLife {
        life::look(&self.shared, process).await
    }

    async fn folder(&self, process: &ProcessRef) -> Option<String> {
        self.shared.find(process).ok()?.record().ok()??.folder()
    }

    async fn census(&self) -> Result<Vec<CensusEntry>, RuntimeError> {
        life::census(&self.shared).await
    }

    async fn end(&self, order: &EndOrder) -> Result<(), RuntimeError> {
        end::end(&self.shared, order).await
    }
}

pub(super) fn unable(wish: &str) -> RuntimeError {
    RuntimeError::Unable { runtime: NAME.into(), wish: wish.into() }
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Processes").field("options", &self.shared.options).finish_non_exhaustive()
    }
}
