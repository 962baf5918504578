//! The daemon put together: the log, the engine, and the adapters in their slots.
//!
//! ```text
//!  <data>/  ao.db              the log   
//!           processes/  tmux/  what the runtimes know of their agents
//!           agents/            what the agents' adapters remember
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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ao_agent::hook::Spool;
use ao_agent::{AgentPlaces, CommandAgent, Ground};
use ao_core::ProjectId;
use ao_engine::{AdapterSet, Engine, EngineError, Handle};
use ao_git::Queues;
use ao_ports::{
    Agent, Clock, EventStore, Notifier, Records, Reporter, Runtime, Runtimes, Scm, Seq, StoreError, Workspace,
};
use ao_process::Keeper;
use ao_runtime::tmux::Tmux;
use ao_runtime::{Families, Processes, Shim, tmux};
use ao_scm::checks::{self, Runner};
use ao_store::{DirLock, Store};
use ao_workspace::{Clones, Worktrees, provision};
use camino::Utf8PathBuf;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::chores;
use crate::error::DaemonError;
use crate::forecast::Forecasts;
use crate::jobs::Errander;
use crate::looks::{self, Forges, Wanted};
use crate::power::Bus;
use crate::secrets::{self, Discreet, DiscreetRecords};

/// The command under which this program is a shim. Not for people, so the command line knows nothing of it.
pub const SHIM: &str = "shim";
/// The command under which this program keeps what a command of the user's starts.
pub const KEEPER: &str = "keeper";
/// The command under which this program helps tmux.
pub const TMUX_HELPER: &str = "tmux-helper";

/// What the daemon is made of.
pub struct Options {
    pub data_dir: Utf8PathBuf,
    /// The lock of the data directory, if it is held already.
    pub lock: Option<Arc<DirLock>>,
    /// This program, which holds agents and keeps commands too: [`SHIM`], [`TMUX_HELPER`], [`KEEPER`].
    pub program: PathBuf,
    pub agents: Vec<ao_agent::Options>,
    /// Agents that whoever embeds the daemon has made.
    pub own_agents: BTreeMap<String, Arc<dyn Agent>>,
    pub notifiers: BTreeMap<String, Arc<dyn Notifier>>,
    /// Forges that whoever embeds the daemon has made. They come before what is configured.
    pub scms: BTreeMap<ProjectId, Arc<dyn Scm>>,
    pub max_parallel_checks: usize,
    /// Whom to ask that the machine stays awake while agents work, if that is wanted.
    pub prevent_idle_sleep: Option<Bus>,
}

impl Options {
    pub fn new(data_dir: impl Into<Utf8PathBuf>, program: impl Into<PathBuf>) -> Options {
        Options {
            data_dir: data_dir.into(),
            lock: None,
            program: program.into(),
            agents: vec![],
            own_agents: BTreeMap::new(),
            notifiers: BTreeMap::new(),
            scms: BTreeMap::new(),
            max_parallel_checks: 2,
            prevent_idle_sleep: None,
        }
    }
}

/// What is in the slots and can change while the daemon runs.
#[derive(Clone, Default)]
struct Plugged {
    /// The agents with what they were made of, so that what has not changed stays the same.
    agents: BTreeMap<String, (Option<ao_agent::Options>, Arc<dyn Agent>)>,
    notifiers: BTreeMap<String, Arc<dyn Notifier>>,
    own_scms: BTreeMap<ProjectId, Arc<dyn Scm>>,
    scms: BTreeMap<ProjectId, Arc<dyn Scm>>,
}

/// What every agent stands on.
#[derive(Clone)]
struct GroundFor {
    data_dir: Utf8PathBuf,
    runtimes: Runtimes,
    clock: Arc<dyn Clock>,
    spool: Arc<Spool>,
    environment: BTreeMap<String, String>,
    places: AgentPlaces,
}

/// A running daemon.
pub struct Daemon {
    pub handle: Handle,
    pub store: Store,
    pub runtimes: Runtimes,
    pub processes: Arc<Processes>,
    pub tmux: Arc<Tmux>,
    /// Tells which agent a program descends from.
    pub families: Arc<Families>,
    pub spool: Arc<Spool>,
    plugged: Mutex<Plugged>,
    ground: GroundFor,
    /// The forges and trackers of the projects.
    pub(crate) forges: Arc<Forges>,
    /// Which branches will not merge with each other.
    pub(crate) forecasts: Arc<Forecasts>,
    /// The same as in its slot, for whoever makes worktrees of their own: a repository has one queue.
    pub(crate) worktrees: Arc<Worktrees>,
    pub(crate) errands: Arc<Errander>,
    workspaces: BTreeMap<String, Arc<dyn Workspace>>,
    engine: JoinSet<Result<(), EngineError>>,
    /// Whoever goes on beside the engine: hooks are heard, the machine is kept awake, old rescues are forgotten.
    beside: JoinSet<()>,
    stop: CancellationToken,
    /// The fault that was found in the file of the log, once it was looked through.
    damage: watch::Receiver<Option<StoreError>>,
}

impl Daemon {
    /// Opens the log and starts. What an earlier daemon has left running is found again.
    pub async fn start(options: Options, clock: Arc<dyn Clock>) -> Result<Daemon, DaemonError> {
        raise_open_files();
        secrets::learn_own();
        let Options {
            data_dir,
            lock,
            program,
            agents,
            own_agents,
            notifiers,
            scms,
            max_parallel_checks,
            prevent_idle_sleep,
        } = options;
        let lock = lock.map_or_else(|| DirLock::take(&data_dir).map(Arc::new), Ok)?;
        let store = Store::open_locked(lock, ao_store::Options::default())?;
        let shim = Shim { program: program.clone(), args: vec![SHIM.into()] };
        let families = Arc::new(Families::new(&data_dir));
        let keeper = Keeper::new(program.clone(), KEEPER);
        let held = ao_runtime::Options {
            families: families.clone(),
            keeper: keeper.clone(),
            ..ao_runtime::Options::new(data_dir.join("processes"), shim)
        };
        let processes = Arc::new(Processes::new(held, clock.clone()));
        let helper = vec![program.to_string_lossy().into_owned(), TMUX_HELPER.to_owned()];
        let panes = tmux::Options {
            families: families.clone(),
            keeper: keeper.clone(),
            ..tmux::Options::new(data_dir.join("tmux"), helper)
        };
        let tmux = Arc::new(Tmux::new(panes, clock.clone()));
        let runtimes = Runtimes::from_iter([processes.clone() as Arc<dyn Runtime>, tmux.clone()]);

        let spool = Spool::open(data_dir.as_std_path(), clock.clone()).map_err(DaemonError::environment)?;
        let spool = Arc::new(spool);
        let queues = Arc::new(Queues::default());
        let checks = checks::Options {
            cap: max_parallel_checks,
            keeper: keeper.clone(),
            ..checks::Options::new(data_dir.join("checks"), queues.clone())
        };
        let agents_ground = GroundFor {
            data_dir: data_dir.clone(),
            runtimes: runtimes.clone(),
            clock: clock.clone(),
            spool: spool.clone(),
            environment: way_home(&data_dir, &program),
            places: AgentPlaces {
                ao: program.to_string_lossy().into_owned(),
                check_logs: checks.logs().to_string(),
            },
        };
        let (worktrees, workspaces) = workspaces(&data_dir, &queues, &keeper);
        let mut plugged = Plugged { notifiers, own_scms: scms.clone(), scms, ..Plugged::default() };
        plugged.agents.extend(own_agents.into_iter().map(|(name, agent)| (name, (None, agent))));
        plugged.replace_agents(agents, &agents_ground)?;
        let errands = Arc::new(Errander::new(&data_dir, keeper, clock.clone(), families.clone()));
        let slots = slots(&plugged, &runtimes, &workspaces, &errands);

        let stop = CancellationToken::new();
        let log: Arc<dyn EventStore> = Arc::new(store.clone());
        let (engine, handle) = Engine::open(
            ao_engine::Options { judge: ao_config::condition::judge(), ..ao_engine::Options::default() },
            Arc::new(Discreet),
            slots,
            log,
            clock.clone(),
            stop.clone(),
        )
        .await?;
        // Before anybody can have one run: what runs then is not left over.
        errands.sweep().await;
        errands.begin(handle.clone(), workspaces.clone());
        if !plugged.scms.is_empty() {
            errands.plug(plugged.scms.clone());
        }
        let mut running = JoinSet::new();
        running.spawn(engine.run());
        // Agents that go on have their tokens from an earlier daemon.
        let live = handle.view(|state| state.live().map(|it| (it.id, it.attempt)).collect::<Vec<_>>());
        for (session, attempt) in live.await? {
            spool.token(session, attempt);
        }

        let reporter: Arc<dyn Reporter> = Arc::new(handle.clone());
        processes.watch(reporter.clone()).map_err(DaemonError::environment)?;
        tmux.watch(reporter.clone()).await.map_err(DaemonError::environment)?;
        let records: Arc<dyn Records> = Arc::new(DiscreetRecords(Arc::new(store.clone())));
        let runner =
            Runner::open(checks, records.clone(), clock.clone()).await.map_err(DaemonError::environment)?;
        let ground = looks::Ground { records, runner, queues: queues.clone(), clock: clock.clone() };
        let forges = Arc::new(Forges::new(handle.clone(), ground, workspaces.clone()));
        let mut beside = JoinSet::new();
        beside.spawn(forges.clone().run());
        let forecasts = Arc::new(Forecasts::new(
            handle.clone(),
            clock.clone(),
            workspaces.clone(),
            data_dir.join("forecast").into_std_path_buf(),
        ));
        beside.spawn(forecasts.clone().run(store.last_seq().await?));
        beside.spawn(hear_hooks(spool.clone(), reporter));
        beside.spawn(chores::forget_rescues(handle.clone(), workspaces.clone(), clock));
        beside.spawn(chores::keep_repositories(handle.clone(), queues));
        beside.spawn(chores::measure_memory(handle.clone()));
        let (found, damage) = watch::channel(None);
        let (log, asked) = (store.clone(), handle.clone());
        beside.spawn(async move {
            found.send_replace(chores::check_log(log, asked).await);
            // Whoever waits for a fault waits on.
            std::future::pending::<()>().await;
        });
        if let Some(bus) = prevent_idle_sleep {
            beside.spawn(chores::keep_awake(handle.clone(), store.last_seq().await?, bus));
        }
        Ok(Daemon {
            handle,
            store,
            runtimes,
            processes,
            tmux,
            families,
            spool,
            plugged: Mutex::new(plugged),
            ground: agents_ground,
            forges,
            forecasts,
            worktrees,
            errands,
            workspaces,
            engine: running,
            beside,
            stop,
            damage,
        })
    }

    /// Returns once the file of the log was found to be damaged. Nothing is to be written to it any more.
    pub async fn damaged(&self) -> DaemonError {
        let mut damage = self.damage.clone();
        let found = damage.wait_for(Option::is_some).await.ok().and_then(|found| found.clone());
        match found {
            Some(err) => err.into(),
            None => std::future::pending().await,
        }
    }

    /// Stops and closes the log. Agents go on.
    pub async fn stop(mut self) -> Result<(), DaemonError> {
        self.stop.cancel();
        while let Some(ended) = self.engine.join_next().await {
            ended.map_err(DaemonError::environment)??;
        }
        self.beside.shutdown().await;
        self.forges.stop().await;
        Ok(self.store.close().await?)
    }

    /// Puts other agents, notifiers and forges into the slots. What has not changed stays, and what is under way goes on.
    pub(crate) async fn plug(
        &self,
        agents: Vec<ao_agent::Options>,
        notifiers: BTreeMap<String, Arc<dyn Notifier>>,
        forges: BTreeMap<ProjectId, Wanted>,
    ) -> Result<(), DaemonError> {
        self.forges.configure(forges).await;
        let slots = {
            let mut plugged = self.plugged();
            plugged.replace_agents(agents, &self.ground)?;
            plugged.notifiers = notifiers;
            plugged.scms = self.forges.scms();
            let own = plugged.own_scms.clone();
            plugged.scms.extend(own);
            self.errands.plug(plugged.scms.clone());
            slots(&plugged, &self.runtimes, &self.workspaces, &self.errands)
        };
        Ok(self.handle.plug(slots).await?)
    }

    pub fn agent(&self, name: &str) -> Option<Arc<dyn Agent>> {
        self.plugged().agents.get(name).map(|(_, agent)| agent.clone())
    }

    /// Our own program, by its full path.
    pub(crate) fn ao(&self) -> String {
        self.ground.places.ao.clone()
    }

    /// The names of all agents, as people are told them.
    pub fn agents(&self) -> Vec<String> {
        self.plugged().agents.keys().cloned().collect()
    }

    pub fn notifiers(&self) -> BTreeMap<String, Arc<dyn Notifier>> {
        self.plugged().notifiers.clone()
    }

    fn plugged(&self) -> MutexGuard<'_, Plugged> {
        self.plugged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn workspace(&self, kind: &str) -> Option<&dyn Workspace> {
        self.workspaces.get(kind).map(|workspace| &**workspace)
    }

    /// The place of the last event in the log.
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

impl Plugged {
    /// Exchanges the agents that were made of options for those that these make. On a failure nothing has changed.
    fn replace_agents(
        &mut self,
        options: Vec<ao_agent::Options>,
        ground: &GroundFor,
    ) -> Result<(), DaemonError> {
        let mut agents: BTreeMap<_, _> =
            self.agents.iter().filter(|(_, (made_of, _))| made_of.is_none()).map(owned).collect();
        for options in options {
            let name = options.name.clone();
            let agent = match self.agents.get(&name) {
                Some((Some(made_of), agent)) if *made_of == options => agent.clone(),
                _ => Arc::new(
                    CommandAgent::new(options.clone(), ground.of(&name)).map_err(DaemonError::config)?,
                ),
            };
            agents.insert(name, (Some(options), agent));
        }
        self.agents = agents;
        Ok(())
    }
}

fn owned<K: Clone, V: Clone>((key, value): (&K, &V)) -> (K, V) {
    (key.clone(), value.clone())
}

impl GroundFor {
    fn of(&self, agent: &str) -> Ground {
        Ground {
            runtimes: self.runtimes.clone(),
            clock: self.clock.clone(),
            state: self.data_dir.join("agents").join(agent).into(),
            hooks: Some(self.spool.clone()),
            environment: self.environment.clone(),
            places: self.places.clone(),
        }
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

fn slots(
    plugged: &Plugged,
    runtimes: &Runtimes,
    workspaces: &BTreeMap<String, Arc<dyn Workspace>>,
    errands: &Arc<Errander>,
) -> AdapterSet {
    AdapterSet {
        errands: Some(errands.clone()),
        runtimes: runtimes.clone(),
        agents: plugged.agents.iter().map(|(name, (_, agent))| (name.clone(), agent.clone())).collect(),
        workspaces: workspaces.clone(),
        notifiers: plugged.notifiers.clone(),
        scms: plugged.scms.clone(),
    }
}

fn workspaces(
    data_dir: &Utf8PathBuf,
    queues: &Arc<Queues>,
    keeper: &Keeper,
) -> (Arc<Worktrees>, BTreeMap<String, Arc<dyn Workspace>>) {
    let options = || ao_workspace::Options {
        provision: Some(provision::Options {
            keeper: keeper.clone(),
            data_dir: Some(data_dir.into()),
            ..provision::Options::new(data_dir.join("logs"))
        }),
        scratch: Some(data_dir.join("forecast").join("captures").into()),
        queues: queues.clone(),
        ..ao_workspace::Options::default()
    };
    let clones = Clones::new(data_dir.join("clones"), options());
    let worktrees = Arc::new(Worktrees::with(options()));
    let by_name = BTreeMap::from([
        ("worktree".to_owned(), worktrees.clone() as Arc<dyn Workspace>),
        ("clone".to_owned(), Arc::new(clones)),
    ]);
    (worktrees, by_name)
}

/// Hears what hooks tell. Without it agents are still read by their screens, so a failure is no reason to end.
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

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("data_dir", &self.data_dir).finish_non_exhaustive()
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
