//! The daemon put together: the log, the engine, and the adapters in their slots.
//!
//! ```text
//!  <data>/  ao.db              the log   
//!           processes/  tmux/  what the runtimes know of their agents
//!           agents/            what the agents' adapters remember
//!           asks/              the details of asks that are too long for the state
//!           clones/            workspaces that are clones; worktrees lie in their repositories
//!           checks/            checkouts in which checks run, and what they have put out
//!           forecast/          what is merged in memory to see whether it would; thrown away at every start
//!           hooks/             what agents report by `ao hook`, and the key of their tokens beside it
//!           logs/              what set-up, teardown and hook commands have put out, and the daemon's own log
//!           configs.json       the configuration files in force
//!           ao.sock api.token  the way in
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ao_agent::AgentPlaces;
use ao_agent::hook::Spool;
use ao_core::session::Session;
use ao_core::{Attempt, ProjectId, SessionId};
use ao_engine::{AdapterSet, Engine, EngineError, EngineRules, Handle};
use ao_git::Queues;
use ao_ports::{
    Agent, Clock, EventStore, Notifier, Records, Reporter, Runtimes, Scm, Seq, StoreError, Tracker,
};
use ao_process::Keeper;
use ao_runtime::Families;
use ao_scm::checks::{self, Runner};
use ao_store::{DirLock, Store};
use camino::Utf8PathBuf;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::adapters::{AgentDeps, DaemonAdapters};
use crate::asks::AskDetails;
use crate::chores;
use crate::config::{ActiveConfig, InForce, apply};
use crate::error::DaemonError;
use crate::forecast::ProjectForecasts;
use crate::jobs::{DaemonJobs, JobDeps};
use crate::looks::{ForgeConfig, ForgeDeps, OwnAdapters, ProjectLooks};
use crate::power::PowerBus;
use crate::registry::{self, HostDeps, Registry};
use crate::secrets::{self, MaskedRecords, MaskingRules};
use crate::spawn::SpawnOrders;
use crate::terminals::{AgentTerminals, TerminalDeps, TerminalViews};

/// The command under which this program is a shim. Not for people, so the command line knows nothing of it.
pub const SHIM: &str = "shim";
/// The command under which this program keeps what a command of the user's starts.
pub const KEEPER: &str = "keeper";
/// The command under which this program helps tmux.
pub const TMUX_HELPER: &str = "tmux-helper";

/// Makes the log of the engine from the store.
pub type LogMaker = Box<dyn FnOnce(Store) -> Arc<dyn EventStore> + Send>;

/// The parts and settings of a daemon.
pub struct DaemonOptions {
    pub data_dir: Utf8PathBuf,
    /// The lock of the data directory, if it is held already.
    pub lock: Option<Arc<DirLock>>,
    /// This program, which holds agents and keeps commands too: [`SHIM`], [`TMUX_HELPER`], [`KEEPER`].
    pub program: PathBuf,
    /// The configuration to put in force; none for a program that embeds the daemon and configures the engine itself.
    pub configs: Option<InForce>,
    /// The page in the browser, for the links in notices.
    pub page: ao_notifier::Page,
    /// Agents that the embedding program has made.
    pub own_agents: BTreeMap<String, Arc<dyn Agent>>,
    /// Agents of a program that embeds the daemon, by their manifests.
    pub agents: Vec<ao_agent::Options>,
    pub notifiers: BTreeMap<String, Arc<dyn Notifier>>,
    /// Forges that the embedding program has made. They come before what is configured. Those of a project without a
    /// configuration are not looked at by themselves.
    pub scms: BTreeMap<ProjectId, Arc<dyn Scm>>,
    /// Trackers that the embedding program has made, likewise.
    pub trackers: BTreeMap<ProjectId, Arc<dyn Tracker>>,
    /// The adapters, if there is no configuration that brings them.
    pub registry: Arc<Registry>,
    pub max_parallel_checks: usize,
    /// The bus over which the machine is kept awake while agents work, if that is wanted.
    pub prevent_idle_sleep: Option<PowerBus>,
    /// The rules that the engine runs by. Tests exchange them.
    pub rules: Arc<dyn EngineRules>,
    /// Makes the log that the engine reads and writes of the store, if it is not the store itself. Tests let it fail.
    pub log: Option<LogMaker>,
    /// False if looks, forecasts and chores do not run by themselves.
    pub background: bool,
}

impl DaemonOptions {
    pub fn new(data_dir: impl Into<Utf8PathBuf>, program: impl Into<PathBuf>) -> DaemonOptions {
        DaemonOptions {
            data_dir: data_dir.into(),
            lock: None,
            program: program.into(),
            configs: None,
            page: ao_notifier::Page::default(),
            own_agents: BTreeMap::new(),
            agents: vec![],
            notifiers: BTreeMap::new(),
            scms: BTreeMap::new(),
            trackers: BTreeMap::new(),
            registry: registry::built_in(),
            max_parallel_checks: 2,
            prevent_idle_sleep: None,
            rules: Arc::new(MaskingRules),
            log: None,
            background: true,
        }
    }
}

/// A running daemon: the engine with the adapters in its slots, and what is done beside it.
pub struct Daemon {
    pub handle: Handle,
    pub store: Store,
    /// The configuration in force.
    pub config: Arc<ActiveConfig>,
    /// The adapters in the engine's slots.
    pub adapters: Arc<DaemonAdapters>,
    /// Spawn orders, made whole by the configuration.
    pub spawn: Arc<SpawnOrders>,
    /// The forges and trackers of the projects.
    pub looks: Arc<ProjectLooks>,
    forge_deps: ForgeDeps,
    /// Jobs of reactions and hooks.
    pub jobs: Arc<DaemonJobs>,
    /// Forecasts of branches that will not merge with each other.
    pub forecasts: Arc<ProjectForecasts>,
    /// The terminals and the output of agents.
    pub terminals: AgentTerminals,
    pub runtimes: Runtimes,
    /// Finds which agent a program descends from.
    pub families: Arc<Families>,
    pub spool: Arc<Spool>,
    /// The whole of long asks.
    pub asks: AskDetails,
    engine: Mutex<JoinSet<Result<(), EngineError>>>,
    /// Tasks beside the engine: hooks are read, the machine is kept awake, old rescues are forgotten.
    beside: Mutex<JoinSet<()>>,
    stop: CancellationToken,
    /// The fault that was found in the file of the log, once it was looked through.
    damage: watch::Receiver<Option<StoreError>>,
}

impl Daemon {
    /// Opens the log, starts, and puts the configuration in force. What an earlier daemon has left running is found again.
    pub async fn start(options: DaemonOptions, clock: Arc<dyn Clock>) -> Result<Daemon, DaemonError> {
        let configs = options.configs.clone();
        let daemon = Daemon::open(options, clock).await?;
        let Some(configs) = configs else { return Ok(daemon) };
        match daemon.put_in_force(configs).await {
            Ok(_) => Ok(daemon),
            Err(err) => {
                // The engine runs already, and is to be ended in an orderly way.
                daemon.stop().await.ok();
                Err(err)
            }
        }
    }

    async fn open(mut options: DaemonOptions, clock: Arc<dyn Clock>) -> Result<Daemon, DaemonError> {
        raise_open_files();
        secrets::learn_own();
        let log = options.log.take();
        let DaemonOptions { data_dir, lock, program, prevent_idle_sleep, background, .. } = &options;
        let lock = lock.clone().map_or_else(|| DirLock::take(data_dir).map(Arc::new), Ok)?;
        let store = Store::open_locked(lock, ao_store::Options::default())?;
        let families = Arc::new(Families::new(data_dir));
        let keeper = Keeper::new(program.clone(), KEEPER);
        let queues = Arc::new(Queues::default());
        let host = HostDeps {
            data_dir: data_dir.clone(),
            program: program.clone(),
            clock: clock.clone(),
            families: families.clone(),
            keeper: keeper.clone(),
            queues: queues.clone(),
        };
        let registry = options.configs.as_ref().map_or(&options.registry, InForce::registry).clone();
        let (runtimes, workspaces) = (registry.runtimes(&host), registry.workspaces(&host));

        let spool =
            Arc::new(Spool::open(data_dir.as_std_path(), clock.clone()).map_err(DaemonError::environment)?);
        let checks = checks::Options {
            cap: options.max_parallel_checks,
            keeper: keeper.clone(),
            ..checks::Options::new(data_dir.join("checks"), queues.clone())
        };
        let agent_deps = AgentDeps {
            data_dir: data_dir.clone(),
            runtimes: runtimes.clone(),
            clock: clock.clone(),
            spool: Some(spool.clone()),
            environment: way_home(data_dir, program),
            places: AgentPlaces {
                ao: program.to_string_lossy().into_owned(),
                check_logs: checks.logs().to_string(),
            },
        };
        let config = Arc::new(match &options.configs {
            Some(configs) => ActiveConfig::pending(data_dir, configs.clone(), options.page.clone()),
            None => ActiveConfig::without_files(data_dir, InForce::of_text("", registry.clone())?),
        });
        let (agents, notifiers) = match &options.configs {
            // From the first turn on: a notice that waited for the daemon to come back finds its channel.
            Some(configs) => (apply::first_agents(configs), apply::first_channels(configs, &options.page)),
            None => (options.agents.clone(), options.notifiers.clone()),
        };
        let adapters = Arc::new(DaemonAdapters::new(agent_deps, workspaces.clone(), registry.clone()));
        adapters.replace(options.own_agents.clone(), agents, notifiers)?;

        let stop = CancellationToken::new();
        let asks = AskDetails::new(data_dir);
        let (mut engine, handle) = Engine::open(
            ao_engine::Options {
                judge: ao_config::condition::judge(),
                long_asks: Some(Arc::new(asks.clone())),
                ..ao_engine::Options::default()
            },
            options.rules.clone(),
            AdapterSet::default(),
            log.map_or_else(|| Arc::new(store.clone()) as Arc<dyn EventStore>, |log| log(store.clone())),
            clock.clone(),
            stop.clone(),
        )
        .await?;
        let records: Arc<dyn Records> = Arc::new(MaskedRecords(Arc::new(store.clone())));
        let runner =
            Runner::open(checks, records.clone(), clock.clone()).await.map_err(DaemonError::environment)?;
        let forge_deps = ForgeDeps { records, runner, queues: queues.clone(), clock: clock.clone() };
        let looks = Arc::new(ProjectLooks::new(
            handle.clone(),
            clock.clone(),
            workspaces.clone(),
            registry,
            OwnAdapters { scms: options.scms.clone(), trackers: options.trackers.clone() },
        ));
        let spawn = Arc::new(SpawnOrders {
            handle: handle.clone(),
            config: config.clone(),
            looks: looks.clone(),
            adapters: adapters.clone(),
            asks_host: true,
        });
        let jobs = Arc::new(DaemonJobs::new(JobDeps {
            data_dir: data_dir.clone(),
            clock: clock.clone(),
            families: families.clone(),
            keeper,
            handle: handle.clone(),
            workspaces: workspaces.clone(),
            config: config.clone(),
            looks: looks.clone(),
            spawn: spawn.clone(),
        }));
        // Before a hook can run: what runs now was left over.
        jobs.sweep().await;
        engine.plug(adapters.slots(&runtimes, &looks, &jobs));
        let mut running = JoinSet::new();
        running.spawn(engine.run());
        // Agents that go on have their tokens from an earlier daemon.
        let live = handle.view(|state| state.live().map(|it| (it.id, it.attempt)).collect::<Vec<_>>());
        for (session, attempt) in live.await? {
            spool.token(session, attempt);
        }

        let reporter: Arc<dyn Reporter> = Arc::new(handle.clone());
        runtimes.watch(&reporter).await.map_err(DaemonError::environment)?;
        let forecasts = Arc::new(ProjectForecasts::new(
            handle.clone(),
            clock.clone(),
            workspaces.clone(),
            data_dir.join("forecast").into_std_path_buf(),
        ));
        let (found, damage) = watch::channel(None);
        let mut beside = JoinSet::new();
        if *background {
            beside.spawn(looks.clone().run());
            beside.spawn(forecasts.clone().run(store.last_seq().await?));
            beside.spawn(hear_hooks(spool.clone(), reporter));
            beside.spawn(chores::forget_rescues(handle.clone(), workspaces, clock));
            beside.spawn(chores::forget_asks(handle.clone(), asks.clone()));
            beside.spawn(chores::keep_repositories(handle.clone(), queues));
            beside.spawn(chores::measure_memory(handle.clone()));
            let (log, asked) = (store.clone(), handle.clone());
            beside.spawn(async move {
                found.send_replace(chores::check_log(log, asked).await);
                // The receiver waits for a fault for as long as the daemon runs.
                std::future::pending::<()>().await;
            });
            if let Some(bus) = prevent_idle_sleep {
                beside.spawn(chores::keep_awake(handle.clone(), store.last_seq().await?, bus.clone()));
            }
        }
        Ok(Daemon {
            terminals: AgentTerminals::new(
                TerminalDeps {
                    handle: handle.clone(),
                    runtimes: runtimes.clone(),
                    config: config.clone(),
                    data_dir: data_dir.clone(),
                },
                TerminalViews::new(runtimes.clone()),
            ),
            handle,
            store,
            config,
            adapters,
            spawn,
            looks,
            forge_deps,
            jobs,
            forecasts,
            runtimes,
            families,
            spool,
            asks,
            engine: Mutex::new(running),
            beside: Mutex::new(beside),
            stop,
            damage,
        })
    }

    /// Waits until a fault is found in the file of the log, and returns it.
    pub async fn damaged(&self) -> DaemonError {
        let mut damage = self.damage.clone();
        let found = damage.wait_for(Option::is_some).await.ok().and_then(|found| found.clone());
        match found {
            Some(err) => err.into(),
            None => std::future::pending().await,
        }
    }

    /// Stops and closes the log. Agents go on.
    pub async fn stop(&self) -> Result<(), DaemonError> {
        self.stop.cancel();
        while let Some(ended) = self.engine.lock().await.join_next().await {
            ended.map_err(DaemonError::environment)??;
        }
        self.beside.lock().await.shutdown().await;
        self.looks.stop().await;
        // Ends what the checks run.
        self.forge_deps.runner.stop().await;
        Ok(self.store.close().await?)
    }

    /// Puts other agents, notifiers and forges into the slots. What has not changed stays, and what is under way goes on.
    pub(crate) async fn plug(
        &self,
        agents: Vec<ao_agent::Options>,
        notifiers: BTreeMap<String, Arc<dyn Notifier>>,
        forges: BTreeMap<ProjectId, ForgeConfig>,
    ) -> Result<(), DaemonError> {
        self.looks.configure(forges, &self.forge_deps).await;
        self.adapters.replace(BTreeMap::new(), agents, notifiers)?;
        let slots = self.adapters.slots(&self.runtimes, &self.looks, &self.jobs);
        Ok(self.handle.plug(slots).await?)
    }

    /// Returns the session that a token was given to, with the attempt. The token names it: `ses_…/attempt/proof`.
    pub fn session_of(&self, token: &str) -> Option<(SessionId, Attempt)> {
        let mut parts = token.splitn(3, '/');
        let (session, attempt, proof) = (parts.next()?, parts.next()?, parts.next()?);
        let (session, attempt) = (session.parse::<SessionId>().ok()?, Attempt(attempt.parse().ok()?));
        self.spool.knows(proof, session, attempt).then_some((session, attempt))
    }

    /// Returns the token of a session, for its owner to hand on; nothing while it has no running agent.
    pub fn token_for(&self, session: &Session) -> Option<String> {
        let attempt = session.running_attempt()?;
        let (_, proof) = self.spool.token(session.id, attempt);
        Some(format!("{}/{attempt}/{proof}", session.id))
    }

    /// Returns the place of the last event in the log.
    pub async fn last_seq(&self) -> Result<Seq, DaemonError> {
        Ok(self.store.last_seq().await?)
    }
}

/// Every agent takes some descriptors, and by default a program may have 1024.
const OPEN_FILES: u64 = 65_536;

/// Lets the daemon have as many files open as it may, up to what a thousand agents could ever need. Not the whole of what
/// it may: agents inherit it, and some programs close every number up to the limit, which may be a thousand million.
fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(OPEN_FILES).min(OPEN_FILES);
    if limit.current.is_some_and(|current| current < most)
        && let Err(err) = setrlimit(Resource::Nofile, Rlimit { current: Some(most), ..limit })
    {
        tracing::warn!(%err, "the limit of open files stays as it is");
    }
}

/// Returns the variables by which an agent on this machine runs `ao`, and `ao` finds this daemon. Agents that do not share
/// our files get none of them.
fn way_home(data_dir: &Utf8PathBuf, program: &Path) -> BTreeMap<String, String> {
    let mut environment = BTreeMap::from([("AO_DATA_DIR".to_owned(), data_dir.to_string())]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    // Behind all others: nothing else that lies beside our program comes before what the user has.
    if let Some(own) = program.parent().filter(|own| !folders.iter().any(|folder| folder == own)) {
        folders.push(own.to_owned());
        if let Ok(path) = std::env::join_paths(folders)
            && let Ok(path) = path.into_string()
        {
            environment.insert("PATH".to_owned(), path);
        }
    }
    environment
}

/// Reads the reports of hooks. Without it agents are still read by their screens, so a failure is no reason to end.
async fn hear_hooks(spool: Arc<Spool>, reporter: Arc<dyn Reporter>) {
    if let Err(err) = spool.run(reporter).await {
        tracing::warn!(%err, "reports of hooks are not heard");
    }
}

impl fmt::Debug for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Daemon").field("store", &self.store).finish_non_exhaustive()
    }
}

impl fmt::Debug for DaemonOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DaemonOptions").field("data_dir", &self.data_dir).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_files_can_be_open_as_a_thousand_agents_need() {
        let before = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: Some(256), ..before }).unwrap();
        raise_open_files();
        let after = getrlimit(Resource::Nofile);
        assert_eq!(after.current, Some(before.maximum.unwrap_or(OPEN_FILES).min(OPEN_FILES)));
        assert_eq!(after.maximum, before.maximum);
        raise_open_files();
        assert_eq!(getrlimit(Resource::Nofile).current, after.current);
    }
}
