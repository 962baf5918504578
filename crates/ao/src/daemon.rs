//! The daemon put together: the log, the engine, and the adapters in their slots.

use std::fmt;
use std::sync::Arc;

use ao_agent::hook::Spool;
use ao_agent::{CommandAgent, Ground};
use ao_engine::{Core, Engine, EngineError, Handle, Slots};
use ao_notifier::TerminalNotifier;
use ao_ports::{Clock, EventStore, Reporter};
use ao_runtime::{Processes, Shim};
use ao_store::Store;
use ao_workspace::Worktrees;
use camino::Utf8PathBuf;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::error::{CommandError, Kind};
use crate::ui;

/// The command under which this program is a shim. Not for people, so the command line knows nothing of it.
pub(crate) const SHIM: &str = "shim";

/// What the daemon is made of, as far as that can be chosen yet.
pub(crate) struct Options {
    pub(crate) data_dir: Utf8PathBuf,
    /// The one agent there is, a program that speaks the line protocol.
    pub(crate) agent: ao_agent::Options,
    pub(crate) notifier: TerminalNotifier,
}

/// A running daemon.
pub(crate) struct Daemon {
    pub(crate) handle: Handle,
    pub(crate) store: Store,
    pub(crate) runtime: Arc<Processes>,
    pub(crate) agent: Arc<CommandAgent>,
    engine: JoinSet<Result<(), EngineError>>,
    hooks: JoinSet<()>,
    stop: CancellationToken,
}

impl Daemon {
    /// Opens the log and starts. What an earlier daemon has left running is found again.
    pub(crate) async fn start(options: Options, clock: Arc<dyn Clock>) -> Result<Daemon, CommandError> {
        let store = Store::open(&options.data_dir, ao_store::Options::default())?;
        let state_dir = options.data_dir.join("processes");
        let runtime = Arc::new(Processes::new(ao_runtime::Options::new(state_dir, shim()?), clock.clone()));
        let agent_name = options.agent.name.clone();
        let spool = Spool::open(options.data_dir.as_std_path(), clock.clone());
        let spool = Arc::new(spool.map_err(CommandError::environment)?);
        let ground = Ground {
            runtime: runtime.clone(),
            clock: clock.clone(),
            state: options.data_dir.join("agents").join(&agent_name).into(),
            hooks: Some(spool.clone()),
        };
        let agent =
            CommandAgent::new(options.agent, ground).map_err(|err| CommandError::new(Kind::Config, err))?;
        let agent = Arc::new(agent);

        let mut slots = Slots::default();
        slots.runtimes.insert("process".into(), runtime.clone());
        slots.agents.insert(agent_name, agent.clone());
        let provision = ao_workspace::provision::Options::new(options.data_dir.join("logs"));
        slots.workspaces.insert(
            "worktree".into(),
            Arc::new(Worktrees::with(ao_workspace::Options {
                provision: Some(provision),
                ..Default::default()
            })),
        );
        slots.notifiers.insert("terminal".into(), Arc::new(options.notifier));

        let stop = CancellationToken::new();
        let log: Arc<dyn EventStore> = Arc::new(store.clone());
        let engine_options = ao_engine::Options::default();
        let (engine, handle) =
            Engine::open(engine_options, Arc::new(Core), slots, log, clock, stop.clone()).await?;
        let mut running = JoinSet::new();
        running.spawn(engine.run());

        let reporter: Arc<dyn Reporter> = Arc::new(handle.clone());
        runtime.watch(reporter.clone()).map_err(CommandError::environment)?;
        let mut hooks = JoinSet::new();
        hooks.spawn(hear_hooks(spool, reporter));
        Ok(Daemon { handle, store, runtime, agent, engine: running, hooks, stop })
    }

    /// Stops and closes the log. Agents go on.
    pub(crate) async fn stop(mut self) -> Result<(), CommandError> {
        self.stop.cancel();
        while let Some(ended) = self.engine.join_next().await {
            ended.map_err(CommandError::environment)??;
        }
        self.hooks.shutdown().await;
        Ok(self.store.close().await?)
    }
}

/// This program again, as a shim.
pub(crate) fn shim() -> Result<Shim, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::environment)?;
    Ok(Shim { program, args: vec![SHIM.into()] })
}

/// Hears what hooks tell. Without it agents are still read by their screens, so a failure is no reason to end.
async fn hear_hooks(spool: Arc<Spool>, reporter: Arc<dyn Reporter>) {
    if let Err(err) = spool.run(reporter).await {
        ui::note(format_args!("what agents tell by hooks is not heard: {err}"));
    }
}

impl fmt::Debug for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Daemon").field("store", &self.store).finish_non_exhaustive()
    }
}
