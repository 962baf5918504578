//! The daemon put together: the log, the engine, and the adapters in their slots.

use std::fmt;
use std::sync::Arc;

use ao_agent::{CommandAgent, Follow};
use ao_core::session::{Phase, Session, SessionEvent};
use ao_core::{Event, State};
use ao_engine::{Core, Engine, EngineError, Handle, Slots, Subscription};
use ao_notifier::TerminalNotifier;
use ao_ports::{Clock, EventStore, Reporter};
use ao_runtime::{Processes, Shim};
use ao_store::Store;
use ao_workspace::{Clones, Worktrees};
use camino::Utf8PathBuf;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::error::CommandError;

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
    /// What tells the agents' adapters whom to read along with.
    followers: JoinSet<()>,
    stop: CancellationToken,
}

impl Daemon {
    /// Opens the log and starts. What an earlier daemon has left running is found again.
    pub(crate) async fn start(options: Options, clock: Arc<dyn Clock>) -> Result<Daemon, CommandError> {
        let store = Store::open(&options.data_dir, ao_store::Options::default())?;
        let state_dir = options.data_dir.join("processes");
        let runtime = Arc::new(Processes::new(ao_runtime::Options::new(state_dir, shim()?), clock.clone()));
        let agent_name = options.agent.name.clone();
        let agent = Arc::new(CommandAgent::new(options.agent, runtime.clone(), clock.clone()));

        let mut slots = Slots::default();
        slots.runtimes.insert("process".into(), runtime.clone());
        slots.agents.insert(agent_name, agent.clone());
        let provision = ao_workspace::provision::Options::new(options.data_dir.join("logs"));
        let workspaces = ao_workspace::Options { provision: Some(provision), ..Default::default() };
        let clones = Clones::new(options.data_dir.join("clones"), workspaces.clone());
        slots.workspaces.insert("worktree".into(), Arc::new(Worktrees::with(workspaces)));
        slots.workspaces.insert("clone".into(), Arc::new(clones));
        slots.notifiers.insert("terminal".into(), Arc::new(options.notifier));

        let stop = CancellationToken::new();
        let log: Arc<dyn EventStore> = Arc::new(store.clone());
        let engine_options = ao_engine::Options::default();
        let (engine, handle) =
            Engine::open(engine_options, Arc::new(Core), slots, log, clock, stop.clone()).await?;
        let mut running = JoinSet::new();
        running.spawn(engine.run());

        let reporter: Arc<dyn Reporter> = Arc::new(handle.clone());
        agent.watch(reporter.clone());
        runtime.watch(reporter).map_err(CommandError::environment)?;
        // Watched from before the state is looked at, so that no launch falls in between.
        let watched = handle.subscribe(store.last_seq().await?);
        for follow in handle.view(running_processes).await? {
            agent.follow(follow).await;
        }
        let mut followers = JoinSet::new();
        followers.spawn(follow_launches(watched, handle.clone(), agent.clone()));
        Ok(Daemon { handle, store, runtime, agent, engine: running, followers, stop })
    }

    /// Stops and closes the log. Agents go on.
    pub(crate) async fn stop(mut self) -> Result<(), CommandError> {
        self.stop.cancel();
        while let Some(ended) = self.engine.join_next().await {
            ended.map_err(CommandError::environment)??;
        }
        self.followers.shutdown().await;
        Ok(self.store.close().await?)
    }
}

/// This program again, as a shim.
pub(crate) fn shim() -> Result<Shim, CommandError> {
    let program = std::env::current_exe().map_err(CommandError::environment)?;
    Ok(Shim { program, args: vec![SHIM.into()] })
}

/// Tells the agent's adapter about each process that comes and goes.
async fn follow_launches(mut watched: Subscription, handle: Handle, agent: Arc<CommandAgent>) {
    while let Ok(Some(published)) = watched.next().await {
        let Event::Session(id, event) = &published.event else { continue };
        match event {
            SessionEvent::Launched { .. } => {
                let id = *id;
                let launched =
                    handle.view(move |state| state.sessions.get(&id).and_then(|it| process_of(it))).await;
                if let Ok(Some(follow)) = launched {
                    agent.follow(follow).await;
                }
            }
            SessionEvent::Retrying { .. } | SessionEvent::Exited { .. } | SessionEvent::Ended { .. } => {
                agent.leave(*id);
            }
            _ => {}
        }
    }
}

fn running_processes(state: &State) -> Vec<Follow> {
    state.live().filter_map(process_of).collect()
}

fn process_of(session: &Session) -> Option<Follow> {
    let Phase::Running { attempt, .. } = session.phase else { return None };
    let with_launch =
        session.outbox.current.as_ref().filter(|delivery| delivery.with_launch == Some(attempt));
    Some(Follow {
        session: session.id,
        attempt,
        process: session.process.clone()?,
        with_launch: with_launch.map(|delivery| delivery.text.clone()),
    })
}

impl fmt::Debug for Daemon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Daemon").field("store", &self.store).finish_non_exhaustive()
    }
}
