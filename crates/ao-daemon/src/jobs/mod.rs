//! Who runs errands: what reactions and hooks have done in the world.
//!
//! ```text
//!  engine ──RunErrand──► Errander ─┬─ spawn.rs    a session, as if somebody had wished for it
//!                                  ├─ assign.rs   the session of a task that is begun by itself
//!                                  ├─ settle.rs   the issues closed that a merged pull request settles
//!                                  ├─ forge.rs    a check again, a check of the base, an answer in a thread
//!                                  ├─ rebase.rs   a branch onto its base, in the session's own worktree
//!                                  └─ hooks.rs    a command of the user's, with its own log (command.rs, logs.rs)
//! ```
//!
//! An errand may come a second time after a crash. What makes that harmless is told at each of them. Nothing is remembered
//! here: whether something was done is asked of those who know, the engine, the forge or the repository.

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
use std::sync::{Arc, Weak};
use std::time::Duration;

use ao_core::ProjectId;
use ao_core::errand::{Errand, ErrandOutcome, JobOrder};
use ao_engine::Handle;
use ao_ports::{Clock, ErrandError, JobRunner, Scm, Workspace};
use ao_process::Keeper;
use ao_runtime::Families;
use async_trait::async_trait;
use camino::{Utf8Path, Utf8PathBuf};
use tokio::sync::{Semaphore, watch};

pub(crate) use self::hooks::{Asked, HookRan};
use self::logs::Logs;
pub(crate) use self::logs::{BY_HAND, HookLog};
use crate::Host;

/// How many commands of the user's of one kind run at a time; the others wait.
const COMMANDS: usize = 8;
/// How long an errand waits for the daemon to be put together. It is there within a second, unless it never will be.
const READY: Duration = Duration::from_secs(60);

/// Runs errands.
pub(crate) struct Errander {
    data_dir: Utf8PathBuf,
    clock: Arc<dyn Clock>,
    /// Where commands of the user's are made known.
    families: Arc<Families>,
    /// The user's shell.
    shell: OsString,
    /// Keeps what commands start from getting away.
    keeper: Keeper,
    logs: Logs,
    /// What reactions run, which may take long.
    runs: Semaphore,
    /// Hooks that nobody waits for, and those that something waits for: none of them waits behind what takes long.
    hooks: Semaphore,
    questions: Semaphore,
    /// What there is only once the engine runs, which may want errands with its first breath.
    engine: watch::Sender<Option<Engine>>,
    /// The forges of the projects, once they are configured.
    scms: watch::Sender<Option<BTreeMap<ProjectId, Arc<dyn Scm>>>>,
    /// Who makes whole orders of wishes for sessions, once there is somebody.
    host: watch::Sender<Option<Weak<dyn Host>>>,
}

/// The engine, and what errands need beside it.
#[derive(Clone)]
struct Engine {
    handle: Handle,
    workspaces: BTreeMap<String, Arc<dyn Workspace>>,
}

impl Errander {
    pub(crate) fn new(
        data_dir: &Utf8Path,
        keeper: Keeper,
        clock: Arc<dyn Clock>,
        families: Arc<Families>,
    ) -> Errander {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        Errander {
            data_dir: data_dir.to_owned(),
            clock,
            keeper,
            families,
            shell: set("AO_SHELL").or_else(|| set("SHELL")).unwrap_or_else(|| "/bin/sh".into()),
            logs: Logs::new(data_dir.join("logs").join("hooks")),
            runs: Semaphore::new(COMMANDS),
            hooks: Semaphore::new(COMMANDS),
            questions: Semaphore::new(COMMANDS),
            engine: watch::Sender::new(None),
            scms: watch::Sender::new(None),
            host: watch::Sender::new(None),
        }
    }

    /// The engine runs; errands can be.
    pub(crate) fn begin(&self, handle: Handle, workspaces: BTreeMap<String, Arc<dyn Workspace>>) {
        self.engine.send_replace(Some(Engine { handle, workspaces }));
    }

    pub(crate) fn plug(&self, scms: BTreeMap<ProjectId, Arc<dyn Scm>>) {
        self.scms.send_replace(Some(scms));
    }

    /// Somebody is there who knows how sessions are to be.
    pub(crate) fn serve(&self, host: Weak<dyn Host>) {
        self.host.send_replace(Some(host));
    }

    async fn engine(&self) -> Result<Engine, ErrandError> {
        there(self.engine.subscribe(), "the daemon has not started yet").await
    }

    async fn scm(&self, project: &ProjectId) -> Result<Arc<dyn Scm>, ErrandError> {
        let scms = there(self.scms.subscribe(), "no forge has been configured yet").await?;
        let found = scms.get(project).cloned();
        found.ok_or_else(|| ErrandError::Never(format!("the project `{project}` has no forge")))
    }
}

/// Waits until something is there.
async fn there<T: Clone>(mut what: watch::Receiver<Option<T>>, or: &str) -> Result<T, ErrandError> {
    let found = tokio::time::timeout(READY, what.wait_for(Option::is_some)).await;
    let found = found.ok().and_then(Result::ok).and_then(|found| found.clone());
    found.ok_or_else(|| ErrandError::Later(or.to_owned()))
}

#[async_trait]
impl JobRunner for Errander {
    async fn run(&self, errand: &Errand) -> Result<ErrandOutcome, ErrandError> {
        match &errand.order {
            JobOrder::Spawn { project, pull, agent, title, prompt } => {
                let wish =
                    spawn::Wish { project, pull: pull.as_ref(), agent: agent.as_deref(), title, prompt };
                self.spawn(errand.id, wish).await
            }
            JobOrder::Assign { task, agent, .. } => self.assign(task, agent.as_deref()).await,
            JobOrder::Settle { pull, tasks } => self.settle(pull, tasks).await,
            JobOrder::Rerun { pull, check, commit, .. } => self.rerun(pull, check, commit).await,
            JobOrder::CheckBase { project, commit, check, .. } => {
                self.check_base(project, commit, check).await
            }
            JobOrder::Rebase { pull, head, base } => self.rebase(pull, head, base).await,
            JobOrder::Run { .. } => self.run_command(errand).await,
            JobOrder::Reply { pull, thread, text, resolve, key } => {
                self.reply(pull, thread, text, *resolve, key).await
            }
            JobOrder::Hook { .. } => self.run_hooks(errand).await,
        }
    }
}

fn done(said: impl Into<String>) -> ErrandOutcome {
    ErrandOutcome::Done { said: said.into() }
}

/// Nobody can be asked any more.
fn stopping(err: ao_engine::AskError) -> ErrandError {
    ErrandError::Later(err.to_string())
}

impl fmt::Debug for Errander {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Errander").field("data_dir", &self.data_dir).finish_non_exhaustive()
    }
}
