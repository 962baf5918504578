//! The runtime slot, filled with processes that have a shim each.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::input::{Counted, Life};
use ao_ports::{
    Clock, EndOrder, Output, ProcessRef, Reporter, Runtime, RuntimeAbilities, RuntimeError, Screen,
    StartSpec, WriteOrder, WriteOutcome,
};
use async_trait::async_trait;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::attach::{self, AttachOptions, Attachment};
use super::link::{self, Link};
use super::{end, life, output, start, talk};
use crate::host::life::Samples;
use crate::host::listen::Ear;
use crate::host::report::Reports;
use crate::host::start::Door;
use crate::host::sweep::Sweep;
use crate::host::turns::Turns;
use crate::host::usual::{GRACE, KEEP_ENDED, SIZE};
use crate::host::{Ending, Key, Place, Record};
use crate::kept::Keep;
use crate::lineage::Families;

/// How the runtime behaves.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where it keeps what it knows of its processes. Private, and the same after a restart.
    pub state_dir: PathBuf,
    /// What is started to hold a process.
    pub shim: Shim,
    /// How large terminals are until a viewer says otherwise, in columns and rows.
    pub size: (u16, u16),
    /// How much output is kept of each process.
    pub keep: Keep,
    /// How long the output of what was ended is kept.
    pub keep_ended: Duration,
    /// How long a process has to end by itself before it is killed.
    pub grace: Duration,
    /// How long a process may leave what it is told unread before that counts as a failure.
    pub write_wait: Duration,
    /// Where its processes are made known, so that whatever descends from them is known for what it is.
    pub families: Arc<Families>,
}

/// The program whose only work is to call [`shim::run`](super::shim::run).
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
            keep: Keep::default(),
            keep_ended: KEEP_ENDED,
            grace: GRACE,
            write_wait: Duration::from_secs(10),
            families: Arc::default(),
        }
    }
}

/// Runs agents as processes on this host.
pub struct Processes {
    pub(super) shared: Arc<Shared>,
    /// One for each process that is linked to. Dropping them ends the listening, never a process.
    links: Mutex<JoinSet<()>>,
}

/// What the links need too.
pub(super) struct Shared {
    pub(super) options: Options,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) reports: Reports,
    /// Those whose shim, or whose end, is listened to.
    pub(super) links: Mutex<HashMap<Key, Link>>,
    /// Tells when there is one more of them.
    pub(super) linked: Notify,
    pub(super) samples: Samples,
    /// By which those who wait for more of a log hear of it.
    pub(super) ear: Ear,
    sweep: Sweep,
    pub(super) turns: Turns,
    pub(super) door: Door,
}

impl Processes {
    /// What it can do, for whoever asks before there is one.
    pub const ABILITIES: RuntimeAbilities = RuntimeAbilities {
        outlives_daemon: true,
        terminal: true,
        pipes: true,
        output: true,
        remembers_writes: true,
        shares_files: true,
    };

    pub fn new(options: Options, clock: Arc<dyn Clock>) -> Processes {
        Processes {
            shared: Arc::new(Shared {
                options,
                clock,
                reports: Reports::default(),
                links: Mutex::default(),
                linked: Notify::new(),
                samples: Samples::default(),
                ear: Ear::default(),
                sweep: Sweep::default(),
                turns: Turns::default(),
                door: Door::default(),
            }),
            links: Mutex::default(),
        }
    }

    /// Names whom to report to, and listens to those processes that an earlier daemon has started.
    pub fn watch(&self, reporter: Arc<dyn Reporter>) -> Result<(), RuntimeError> {
        self.shared.reports.tell_to(reporter);
        for place in Place::unended(&self.shared.options.state_dir)? {
            self.shared.make_known(&place);
            // One that cannot be read is unknown, and no reason to leave the others unheard.
            if let Err(err) = self.adopt(&place) {
                tracing::warn!(%err, session = %place.key.0, attempt = %place.key.1, "an agent is not listened to");
            }
        }
        self.shared.sweep();
        Ok(())
    }

    /// Looks at the terminal of a process, beside others who may do so too. Of one that has ended, what was kept is shown.
    pub async fn attach(
        &self,
        process: &ProcessRef,
        options: AttachOptions,
    ) -> Result<Attachment, RuntimeError> {
        attach::attach(&self.shared.find(process)?, process, options).await
    }

    /// Removes what is kept of a process that was ended. That it was ended stays known, so that it is not started again.
    pub async fn forget(&self, process: &ProcessRef) -> Result<(), RuntimeError> {
        let place = self.shared.find(process)?;
        let _turn = self.shared.turns.take(place.key).await;
        match place.ending()? {
            Some(Ending::Done) => place.empty(),
            _ => Err(RuntimeError::Failed(format!("`{}` was not ended, so it is not forgotten", process.0))),
        }
    }

    /// Listens to a process of which it may be known already that it has ended.
    pub(super) fn adopt(&self, place: &Place) -> Result<(), RuntimeError> {
        if place.exit()?.is_none() && place.record()?.is_some() {
            self.listen_to(place);
        }
        Ok(())
    }

    /// Listens to a process, unless that is done. Its end is reported, even if it has ended already.
    pub(super) fn listen_to(&self, place: &Place) {
        let mut known = self.shared.links.lock().expect("nobody panics while counting");
        if known.contains_key(&place.key) {
            return;
        }
        let (link, holds) = link::link(self.shared.clone(), place.clone());
        known.insert(place.key, link);
        drop(known);
        self.shared.linked.notify_waiters();
        let mut links = self.links.lock().expect("nobody panics while adding one");
        while links.try_join_next().is_some() {}
        links.spawn(holds);
    }
}

impl Shared {
    pub(super) fn place(&self, key: Key) -> Place {
        Place::of(&self.options.state_dir, key)
    }

    /// The place of a process by its name, if it is one of ours.
    pub(super) fn find(&self, process: &ProcessRef) -> Result<Place, RuntimeError> {
        Place::find(&self.options.state_dir, process)
    }

    pub(super) fn link(&self, key: Key) -> Option<Link> {
        self.links.lock().expect("nobody panics while counting").get(&key).cloned()
    }

    /// Makes the processes of an attempt known that live.
    pub(super) fn make_known(&self, place: &Place) {
        let families = &self.options.families;
        if let Some(holder) = place.readable(place.holder()).filter(|holder| holder.lives().unwrap_or(false))
        {
            families.add_holder(&holder, place.key);
        }
        if let Some(agent) = place.readable(place.record()).filter(Record::is_of_this_boot) {
            families.add_agent(&agent, place.key);
        }
    }

    /// Lets go of what ended long ago, now and then.
    pub(super) fn sweep(&self) {
        self.sweep.now_and_then(self.options.state_dir.clone(), self.options.keep_ended);
    }
}

#[async_trait]
impl Runtime for Processes {
    fn abilities(&self) -> RuntimeAbilities {
        Processes::ABILITIES
    }

    async fn start(&self, spec: &StartSpec) -> Result<ProcessRef, RuntimeError> {
        start::start(self, spec).await
    }

    async fn write(&self, order: &WriteOrder) -> Result<WriteOutcome, RuntimeError> {
        talk::write(&self.shared, order).await
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

    async fn log(
        &self,
        process: &ProcessRef,
        from: u64,
        limit: usize,
        wait: Duration,
    ) -> Result<Output, RuntimeError> {
        output::log(&self.shared, self.shared.find(process)?, from, limit, wait).await
    }

    async fn screen(&self, process: &ProcessRef) -> Result<Screen, RuntimeError> {
        talk::screen(&self.shared, process).await
    }

    async fn look(&self, process: &ProcessRef) -> Life {
        life::look(&self.shared, process).await
    }

    async fn folder(&self, process: &ProcessRef) -> Option<String> {
        self.shared.find(process).ok()?.record().ok()??.folder()
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
