//! Jobs: what reactions and hooks have done in the world.
//!
//! ```text
//!  engine ──RunJob──► DaemonJobs ┬─ spawn.rs    a session, by the same order as a route's
//!                                  ├─ assign.rs   the session of a task that is begun by itself
//!                                  ├─ settle.rs   the issues closed that a merged pull request settles
//!                                  ├─ forge.rs    a check again, a check of the base, an answer in a thread
//!                                  ├─ rebase.rs   a branch onto its base, in the session's own worktree
//!                                  └─ hooks.rs    a command of the user's, with its own log (command.rs, logs.rs)
//! ```
//!
//! A job may come a second time after a crash; each file explains why that is harmless. Nothing is remembered here: the
//! engine, the forge or the repository knows what was done.

mod assign;
mod by_hand;
mod command;
mod forge;
mod hooks;
mod logs;
mod rebase;
mod settle;
mod spawn;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;

use ao_core::ProjectId;
use ao_core::job::{Job, JobOrder, JobOutcome};
use ao_engine::Handle;
use ao_ports::{Clock, JobError, JobRunner, Scm, Workspace};
use ao_process::Keeper;
use ao_runtime::Families;
use async_trait::async_trait;
use camino::Utf8PathBuf;
use tokio::sync::Semaphore;

use self::assign::not_seen;
pub use self::by_hand::HookTrial;
pub(crate) use self::hooks::HookQuestion;
pub use self::hooks::HookRan;
pub(crate) use self::logs::BY_HAND;
pub use self::logs::HookLog;
use self::logs::HookLogFolder;
use crate::config::ActiveConfig;
use crate::looks::ProjectLooks;
use crate::spawn::SpawnOrders;

/// The number of commands of one kind that run at a time; the others wait.
const COMMANDS: usize = 8;
/// Runs the jobs of reactions and hooks.
pub struct DaemonJobs {
    deps: JobDeps,
    /// The user's shell.
    shell: OsString,
    logs: HookLogFolder,
    /// Commands of reactions, which may take long.
    runs: Semaphore,
    /// Hooks without a waiter, and those that a merge or a session waits for: none of them waits behind what takes long.
    hooks: Semaphore,
    questions: Semaphore,
}

/// The parts that jobs are run with.
#[expect(missing_debug_implementations, reason = "ports have no such form")]
pub struct JobDeps {
    pub data_dir: Utf8PathBuf,
    pub clock: Arc<dyn Clock>,
    /// The register of the user's commands.
    pub families: Arc<Families>,
    /// Keeps what commands start from getting away.
    pub keeper: Keeper,
    pub handle: Handle,
    pub workspaces: BTreeMap<String, Arc<dyn Workspace>>,
    pub config: Arc<ActiveConfig>,
    pub looks: Arc<ProjectLooks>,
    pub spawn: Arc<SpawnOrders>,
}

impl DaemonJobs {
    pub fn new(deps: JobDeps) -> DaemonJobs {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        DaemonJobs {
            shell: set("AO_SHELL").or_else(|| set("SHELL")).unwrap_or_else(|| "/bin/sh".into()),
            logs: HookLogFolder::new(deps.data_dir.join("logs").join("hooks")),
            deps,
            runs: Semaphore::new(COMMANDS),
            hooks: Semaphore::new(COMMANDS),
            questions: Semaphore::new(COMMANDS),
        }
    }

    async fn scm(&self, project: &ProjectId) -> Result<Arc<dyn Scm>, JobError> {
        // A job that an earlier daemon left may come before the forges are made.
        self.deps.config.applied().await;
        self.deps.looks.scm(project).map_err(not_seen)
    }
}

#[async_trait]
impl JobRunner for DaemonJobs {
    async fn run(&self, job: &Job) -> Result<JobOutcome, JobError> {
        match &job.order {
            JobOrder::Spawn { project, pull, agent, title, prompt } => {
                let wish = spawn::RequestedSession {
                    project,
                    pull: pull.as_ref(),
                    agent: agent.as_deref(),
                    title,
                    prompt,
                };
                self.spawn(job.id, wish).await
            }
            JobOrder::Assign { task, agent, .. } => self.assign(task, agent.as_deref()).await,
            JobOrder::Settle { pull, tasks } => self.settle(pull, tasks).await,
            JobOrder::Rerun { pull, check, commit, .. } => {
                forge::rerun(&*self.scm(&pull.project).await?, pull, check, commit).await
            }
            JobOrder::CheckBase { project, commit, check, .. } => {
                forge::check_base(&*self.scm(project).await?, project, commit, check).await
            }
            JobOrder::Rebase { pull, head, base } => self.rebase(pull, head, base).await,
            JobOrder::Run { .. } => self.run_command(job).await,
            JobOrder::Reply(reply) => {
                forge::reply(&*self.scm(&reply.pull.project).await?, reply.clone()).await
            }
            JobOrder::Hook { .. } => self.run_hooks(job).await,
        }
    }
}

fn done(said: impl Into<String>) -> JobOutcome {
    JobOutcome::Done { said: said.into() }
}

/// The engine takes no inputs any more.
fn stopping(err: ao_engine::AskError) -> JobError {
    JobError::Later(err.to_string())
}

impl fmt::Debug for DaemonJobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DaemonJobs").field("data_dir", &self.deps.data_dir).finish_non_exhaustive()
    }
}
