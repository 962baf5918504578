//! Runs a set-up and a teardown from start to end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ao_core::effect::SetUpPlan;
use ao_core::setup::Environment;
use ao_core::{Attempt, SessionId};
use ao_ports::environment::{DATA_DIR, ProgramVariables, SESSION, SETUP, compose};
use ao_ports::secret::secrets_in;
use ao_ports::{RemoveOrder, WorkspaceError};
use ao_process::{Mark, secrets};
use tokio::time::Instant;

use super::command::{CommandShell, say};
use super::error::ProvisionError;
use super::find;
use super::hide::{self, WorkspaceGitDirs};
use super::log::SetupLog;
use super::options::Options;
use super::put::{IncludePaths, put_all};
use crate::error::chain;
use ao_git::Git;

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
/// The variable with the path of the main checkout, for scripts of the project.
const REPOSITORY: &str = "AO_REPOSITORY";

/// Sets up a workspace. Can be repeated, and then starts over.
pub async fn set_up(
    options: &Options,
    session: SessionId,
    attempt: Attempt,
    plan: &SetUpPlan,
) -> Result<(), WorkspaceError> {
    if plan.setup.is_empty() {
        return Ok(());
    }
    let mut log = open(options, &options.setup_log(session))?;
    let run =
        SetupRun { options, session, attempt, path: Path::new(&plan.path), timeout: plan.setup.timeout };
    match run.set_up(plan, &mut log).await {
        Ok(()) => Ok(()),
        Err(err) => {
            let (why, tail) = give_up(&err, &mut log);
            Err(WorkspaceError::SetupFailed { why, log: Some(log.path().display().to_string()), tail })
        }
    }
}

/// Ends all processes that the commands of a workspace have left running.
pub async fn end_programs(options: &Options, session: SessionId, path: &Path) -> Result<(), WorkspaceError> {
    let ended = mark(session, path, options.grace).end().await.map_err(ProvisionError::NotEnded);
    ended.map_err(|err| WorkspaceError::Failed(chain(&err)))
}

/// Runs an order's commands in a workspace that is about to be removed, and ends all processes they left running.
pub async fn teardown(options: &Options, order: &RemoveOrder, path: &Path) -> Result<(), WorkspaceError> {
    if order.teardown.is_empty() {
        return Ok(());
    }
    let session = order.tree.session;
    let mut log = open(options, &options.teardown_log(session))?;
    // No agent runs any more, so this belongs to no attempt.
    let run = SetupRun { options, session, attempt: Attempt::default(), path, timeout: order.timeout };
    match run.teardown(order, &mut log).await {
        Ok(()) => Ok(()),
        Err(err) => {
            let (why, tail) = give_up(&err, &mut log);
            let log = log.path().display();
            Err(WorkspaceError::Failed(format!("the teardown failed: {why}; the log is `{log}`\n{tail}")))
        }
    }
}

struct SetupRun<'a> {
    options: &'a Options,
    session: SessionId,
    attempt: Attempt,
    path: &'a Path,
    timeout: Duration,
}

impl SetupRun<'_> {
    async fn set_up(&self, plan: &SetUpPlan, log: &mut SetupLog) -> Result<(), ProvisionError> {
        // Before anything is touched: an interrupted earlier run may still be active.
        self.mark().end().await.map_err(ProvisionError::NotEnded)?;
        let root = root(Path::new(&plan.repository)).await?;
        if !plan.setup.include.is_empty() || !plan.setup.symlinks.is_empty() {
            for line in self.fill(&root, plan).await? {
                say(log, &format!("[ao: {line}]"))?;
            }
        }
        let ports = plan.ports.iter().map(|(name, port)| (name.clone(), port.to_string()));
        let mut environment = plan.environment.clone();
        environment.set.extend(ports);
        self.run(&plan.setup.post_create, environment, &root, log).await
    }

    async fn teardown(&self, order: &RemoveOrder, log: &mut SetupLog) -> Result<(), ProvisionError> {
        self.mark().end().await.map_err(ProvisionError::NotEnded)?;
        let root = root(Path::new(&order.tree.repository)).await?;
        self.run(&order.teardown, order.environment.clone(), &root, log).await?;
        // Its folder is removed now, so no process may stay in it.
        self.mark().end().await.map_err(ProvisionError::NotEnded)
    }

    /// Puts files and links into the workspace, and returns the notes for the log.
    async fn fill(&self, root: &Path, plan: &SetUpPlan) -> Result<Vec<String>, ProvisionError> {
        let mut tell = Vec::new();
        let wishes = find::wishes(root, &plan.setup, &mut tell).await?;
        let paths: Vec<String> = wishes.iter().map(|wish| wish.path.clone()).collect();
        let tracked = hide::tracked(self.path, &paths).await?;
        let dirs = WorkspaceGitDirs::of(self.path).await?;
        let (root_dir, workspace, git_dir) = (root.to_owned(), self.path.to_owned(), dirs.own.clone());
        let putting = tokio::task::spawn_blocking(move || {
            let places = IncludePaths { root: &root_dir, workspace: &workspace, git_dir: &git_dir };
            put_all(&places, &wishes, &tracked, &mut tell).map(|record| (record, tell))
        });
        let (record, mut tell) = putting
            .await
            .map_err(|err| ProvisionError::file("fill", self.path)(std::io::Error::other(err)))??;
        let paths: Vec<String> = record.paths.into_keys().collect();
        hide::hide(root, self.path, &dirs, &paths).await?;
        if !paths.is_empty() {
            tell.push(format!("from the main checkout: {}", paths.join(", ")));
        }
        Ok(tell)
    }

    async fn run(
        &self,
        commands: &[String],
        mut environment: Environment,
        root: &Path,
        log: &mut SetupLog,
    ) -> Result<(), ProvisionError> {
        environment.set.insert(REPOSITORY.into(), root.display().to_string());
        environment.set.insert(SETUP.into(), self.path.display().to_string());
        if let Some(data_dir) = &self.options.data_dir {
            environment.set.insert(DATA_DIR.into(), data_dir.display().to_string());
        }
        // There is no user to answer. Without this, git would wait for an answer until the time is up.
        environment.set.entry("GIT_TERMINAL_PROMPT".into()).or_insert_with(|| "0".into());
        let wanted = ProgramVariables {
            session: self.session,
            attempt: self.attempt,
            pass: &environment.pass,
            set: &environment.set,
            secrets: &environment.secrets,
        };
        let composed = compose(wanted, std::env::vars_os())?;
        // Learnt before any command can print one.
        let its = secrets_in(composed.iter().cloned(), &environment.secrets, &environment.pass);
        secrets::learn(its.into_iter().map(|(name, value)| (name, value.into_encoded_bytes())));
        let shell = CommandShell {
            program: &self.options.shell,
            keeper: &self.options.keeper,
            path: self.path,
            environment: composed,
            mark: self.mark(),
            limit: self.timeout,
            // Longer limits could overflow the clock.
            until: Instant::now() + self.timeout.min(YEAR),
        };
        for command in commands {
            shell.run(command, log).await?;
        }
        Ok(())
    }

    fn mark(&self) -> Mark {
        mark(self.session, self.path, self.options.grace)
    }
}

/// Returns the mark of the processes of a workspace's commands: the session, and [`SETUP`], which names the workspace
/// that a command sets up or tears down. No agent may carry it: the next set-up would end it.
fn mark(session: SessionId, workspace: &Path, grace: Duration) -> Mark {
    let session = session.to_string();
    let variables = [(SESSION, session.as_bytes()), (SETUP, workspace.as_os_str().as_encoded_bytes())];
    Mark::new(&variables, grace)
}

/// Returns the root of the main checkout, with links resolved.
async fn root(repository: &Path) -> Result<PathBuf, ProvisionError> {
    let root = Git::plain(repository).read(&["rev-parse", "--show-toplevel"]).await?;
    Path::new(&root).canonicalize().map_err(ProvisionError::file("find", root))
}

fn open(options: &Options, path: &Path) -> Result<SetupLog, WorkspaceError> {
    SetupLog::create(path, options.log_limit)
        .map_err(|err| WorkspaceError::Failed(chain(&ProvisionError::file("make the log", path)(err))))
}

/// Returns the error, and the end of the log, to which the error is added as well.
fn give_up(err: &ProvisionError, log: &mut SetupLog) -> (String, String) {
    let tail = log.tail();
    let why = secrets::known().mask(&chain(&err));
    // An unwritable log may be the very reason.
    let _ = log.say(&format!("[ao: gave up: {why}]"));
    (why, tail)
}
