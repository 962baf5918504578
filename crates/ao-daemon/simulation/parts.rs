//! The daemon's own looks and jobs, for simulated worlds. Only users' commands are faked.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use ao_agent::AgentPlaces;
use ao_config::Env;
use ao_core::job::{Job, JobOrder, JobOutcome};
use ao_daemon::config::{ActiveConfig, InForce};
use ao_daemon::jobs::{DaemonJobs, JobDeps};
use ao_daemon::looks::{ForgeConfig, OwnAdapters, ProjectLooks};
use ao_daemon::spawn::SpawnOrders;
use ao_daemon::{AgentDeps, DaemonAdapters, registry};
use ao_ports::{JobError, JobRunner};
use ao_process::Keeper;
use ao_runtime::Families;
use ao_testkit::{DaemonParts, DaemonPorts, RunningParts};
use async_trait::async_trait;
use camino::Utf8Path;
use tokio::task::JoinSet;

/// The configuration of every simulated daemon. The engine gets its settings from the script.
static CONFIG: LazyLock<InForce> = LazyLock::new(|| {
    let text = "
defaults: {agent: fake, runtime: process, workspace: worktree, tracker: local, scm: local}
tools: {fake: {program: fake}}
projects: {app: {path: /src/app}, lib: {path: /src/lib}}
";
    InForce::of_text(text, registry::built_in()).expect("the configuration is right")
});

/// Folder that nothing is read from or written to.
const NOWHERE: &str = "/sim";

/// Returns the parts of a daemon that ships.
pub(crate) fn parts() -> Arc<dyn DaemonParts> {
    Arc::new(RealParts { forges: true })
}

/// The parts of a daemon that ships.
pub(crate) struct RealParts {
    /// False if no forge can be made.
    pub(crate) forges: bool,
}

impl DaemonParts for RealParts {
    fn start(&self, ports: DaemonPorts) -> RunningParts {
        let DaemonPorts { handle, clock, slots, trackers } = ports;
        let data_dir = Utf8Path::new(NOWHERE).to_owned();
        let workspaces = slots.workspaces.clone();
        let config = Arc::new(ActiveConfig::without_files(&data_dir, CONFIG.clone()));
        let agent_deps = AgentDeps {
            data_dir: data_dir.clone(),
            runtimes: slots.runtimes,
            clock: clock.clone(),
            spool: None,
            environment: BTreeMap::new(),
            places: AgentPlaces { ao: "ao".into(), check_logs: NOWHERE.into() },
        };
        let adapters = Arc::new(DaemonAdapters::new(agent_deps, workspaces.clone(), registry::built_in()));
        adapters
            .replace(slots.agents, vec![], BTreeMap::new())
            .expect("agents that are made need no options");
        let looks = Arc::new(ProjectLooks::new(
            handle.clone(),
            clock.clone(),
            workspaces.clone(),
            registry::built_in(),
            OwnAdapters::default(),
        ));
        for (id, known) in config.projects() {
            let wanted = ForgeConfig::of(&known, &Env::default());
            let scm = if self.forges { Ok(slots.scms[&id].clone()) } else { Err("no forge".to_owned()) };
            looks.adopt(id.clone(), wanted, scm, Ok(trackers[&id].clone()));
        }
        let spawn = Arc::new(SpawnOrders {
            handle: handle.clone(),
            config: config.clone(),
            looks: looks.clone(),
            adapters,
            asks_host: false,
        });
        let jobs = DaemonJobs::new(JobDeps {
            data_dir,
            clock,
            families: Arc::new(Families::new(NOWHERE)),
            keeper: Keeper::new("ao", "keeper"),
            handle,
            workspaces,
            config,
            looks: looks.clone(),
            spawn,
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(looks.run());
        let commands = slots.jobs.expect("there is a runner of commands");
        RunningParts { jobs: Arc::new(RoutedJobs { jobs, commands }), tasks }
    }
}

/// Runs users' commands in the fake, and everything else as the daemon does.
struct RoutedJobs {
    jobs: DaemonJobs,
    commands: Arc<dyn JobRunner>,
}

#[async_trait]
impl JobRunner for RoutedJobs {
    async fn run(&self, job: &Job) -> Result<JobOutcome, JobError> {
        match job.order {
            JobOrder::Run { .. } | JobOrder::Hook { .. } => self.commands.run(job).await,
            _ => self.jobs.run(job).await,
        }
    }
}
