//! The runtime slot, filled with plain processes.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use ao_core::input::{Counted, Life};
use ao_ports::{
    Clock, EndOrder, Output, ProcessRef, Reporter, Runtime, RuntimeAbilities, RuntimeError, Screen,
    StartSpec, WriteOrder, WriteOutcome,
};
use async_trait::async_trait;
use tokio::sync::OwnedMutexGuard;
use tokio::task::JoinSet;

use super::life::Samples;
use super::place::{Place, key_of};
use super::{end, life, output, pipe, start, watch};
use crate::host::Key;
use crate::host::listen::Ear;

/// How the runtime behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it keeps what it knows of its processes. Private, and the same after a restart.
    pub state_dir: PathBuf,
    /// How long a process has to end by itself before it is killed.
    pub grace: Duration,
    /// How long a process may leave what it is told unread before that counts as a failure.
    pub write_wait: Duration,
}

impl Options {
    pub fn new(state_dir: impl Into<PathBuf>) -> Options {
        Options {
            state_dir: state_dir.into(),
            grace: Duration::from_secs(5),
            write_wait: Duration::from_secs(10),
        }
    }
}

/// Runs agents as plain processes.
pub struct Processes {
    pub(super) shared: Arc<Shared>,
    /// One for each process whose end is waited for. Dropping them ends the waiting, never a process.
    waiters: Mutex<JoinSet<()>>,
}

/// What the waiters need too.
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) clock: Arc<dyn Clock>,
    /// Absent until there is somebody to report to; what ends before that is told by the census.
    pub(super) reporter: RwLock<Option<Arc<dyn Reporter>>>,
    /// Those whose end a waiter of ours will write down. Until it has, they count as living: a process that is gone
    /// but whose code is not written yet would pass for one that was killed.
    pub(super) waited_for: Mutex<HashSet<Key>>,
    pub(super) samples: Mutex<Samples>,
    /// By which those who wait for output hear of it.
    pub(super) ear: Ear,
    /// The numbers written to each process, as far as this daemon knows.
    pub(super) written: Mutex<HashMap<Key, HashSet<u64>>>,
    /// One thing at a time is done to a process. Held only to look one up; grows with the attempts of one daemon.
    turns: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>,
}

impl Processes {
    pub fn new(options: Options, clock: Arc<dyn Clock>) -> Processes {
        Processes {
            shared: Arc::new(Shared {
                options,
                clock,
                reporter: RwLock::default(),
                waited_for: Mutex::default(),
                samples: Mutex::default(),
                ear: Ear::default(),
                written: Mutex::default(),
                turns: Mutex::default(),
            }),
            waiters: Mutex::default(),
        }
    }

    /// Names whom to report ends to, and waits for those processes that an earlier daemon has started.
    pub fn watch(&self, reporter: Arc<dyn Reporter>) -> Result<(), RuntimeError> {
        *self.shared.reporter.write().expect("nobody panics while setting it") = Some(reporter);
        for place in Place::all(&self.shared.options.state_dir)? {
            self.adopt(&place)?;
        }
        Ok(())
    }

    /// Waits for a process that this daemon has not started, if it lives.
    pub(super) fn adopt(&self, place: &Place) -> Result<(), RuntimeError> {
        if self.shared.is_waited_for(place.key) || place.exit()?.is_some() {
            return Ok(());
        }
        if let Some(record) = place.record()?
            && let Some(pidfd) = record.pidfd()
        {
            self.spawn_waiter(place.key, watch::stranger(self.shared.clone(), place.clone(), pidfd));
        }
        Ok(())
    }

    pub(super) fn spawn_waiter(&self, key: Key, waiter: impl Future<Output = ()> + Send + 'static) {
        self.shared.waited_for.lock().expect("nobody panics while counting").insert(key);
        let mut waiters = self.waiters.lock().expect("nobody panics while adding one");
        while waiters.try_join_next().is_some() {}
        waiters.spawn(waiter);
    }
}

impl Shared {
    pub(super) fn place(&self, key: Key) -> Place {
        Place::of(&self.options.state_dir, key)
    }

    /// The place of a process by its name, if it is one of ours.
    pub(super) fn find(&self, process: &ProcessRef) -> Result<Place, RuntimeError> {
        let key = key_of(process)
            .ok_or_else(|| RuntimeError::Failed(format!("`{}` is no process of this runtime", process.0)))?;
        Ok(self.place(key))
    }

    pub(super) fn is_waited_for(&self, key: Key) -> bool {
        self.waited_for.lock().expect("nobody panics while counting").contains(&key)
    }

    pub(super) async fn turn(&self, key: Key) -> OwnedMutexGuard<()> {
        let turn =
            self.turns.lock().expect("nobody panics while looking one up").entry(key).or_default().clone();
        turn.lock_owned().await
    }
}

#[async_trait]
impl Runtime for Processes {
    fn abilities(&self) -> RuntimeAbilities {
        RuntimeAbilities {
            outlives_daemon: true,
            terminal: false,
            pipes: true,
            // It does within one daemon's life, but a crash between writing and remembering would forget one.
            remembers_writes: false,
            shares_files: true,
        }
    }

    async fn start(&self, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
        start::start(self, spec).await
    }

    async fn write(&self, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
        pipe::write(&self.shared, order).await
    }

    async fn output(
        &self,
        process: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<Output, RuntimeError> {
        output::output(&self.shared, self.shared.find(process)?, from, limit, wait).await
    }

    async fn screen(&self, _process: &ProcessRef) -> Result<Screen, RuntimeError> {
        Err(unable("show the screen of a process on pipes"))
    }

    async fn look(&self, process: &ProcessRef) -> Life {
        life::look(&self.shared, process).await
    }

    async fn folder(&self, _process: &ProcessRef) -> Option<String> {
        None
    }

    async fn census(&self) -> Result<Vec<Counted>, RuntimeError> {
        life::census(&self.shared).await
    }

    async fn end(&self, order: &EndOrder) -> Result<(), RuntimeError> {
        end::end(&self.shared, order).await
    }
}

pub(super) fn unable(wish: &str) -> RuntimeError {
    RuntimeError::Unable { runtime: "process".into(), wish: wish.into() }
}

impl fmt::Debug for Processes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Processes").field("options", &self.shared.options).finish_non_exhaustive()
    }
}
