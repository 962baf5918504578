//! Commands of the user's: hooks, and what a reaction runs.
//!
//! They get what every program gets, what the project's own programs get, and these, so that a script need not read the
//! document to know what it is about: `AO_EVENT`, `AO_HOOK`, `AO_PROJECT`, `AO_HOOK_SESSION`. `AO_SESSION` is not among
//! them: who has that speaks to the daemon as that agent, and a hook speaks as its owner.

use std::time::Duration;

use ao_core::hook::{Hook, HookPoint};
use ao_core::job::{Job, JobOrder, JobOutcome, Requester};
use ao_core::{ProjectId, SessionId};
use ao_ports::environment::{self, HookVariables};
use ao_ports::secret::secrets_in;
use ao_ports::{JobError, environment::JOB};
use ao_process::Mark;
use camino::Utf8PathBuf;

use super::command::{self, CommandEnded};
use super::logs::HookLogFolder;
use super::{DaemonJobs, done, stopping};
use crate::secrets;

/// The time that programs have to end before they are killed.
const GRACE: Duration = Duration::from_secs(2);

/// A question to the hooks of a point.
#[derive(Debug, Clone)]
pub(crate) struct HookQuestion {
    pub(crate) project: ProjectId,
    pub(crate) session: Option<SessionId>,
    pub(crate) point: HookPoint,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) document: String,
}

/// The result of one hook.
#[derive(Debug, Clone)]
pub struct HookRan {
    pub command: String,
    pub code: Option<i32>,
    pub objection: Option<String>,
    pub log: Utf8PathBuf,
}

/// The place and the identity of a command's run.
struct CommandRun<'a> {
    project: &'a ProjectId,
    session: Option<SessionId>,
    /// The name of what happened.
    event: &'a str,
    point: Option<HookPoint>,
    /// Distinguishes this job from all others; everything that its commands start is found by it.
    id: &'a str,
    document: &'a str,
}

impl DaemonJobs {
    pub(super) async fn run_hooks(&self, job: &Job) -> Result<JobOutcome, JobError> {
        let JobOrder::Hook { project, session, point, hooks, document } = &job.order else {
            return Err(JobError::Never("it is no hook".into()));
        };
        let asked = HookQuestion {
            project: project.clone(),
            session: *session,
            point: *point,
            hooks: hooks.clone(),
            document: document.clone(),
        };
        let ran = self.ask(&asked, &job.id.to_string()).await?;
        let failed = ran.iter().find_map(|ran| Some((ran, ran.objection.as_ref()?)));
        Ok(match failed {
            None => done(format!("{} hooks agree", ran.len())),
            Some((_, why)) if point.may_object() => JobOutcome::Refused { why: why.clone() },
            Some((ran, why)) => {
                JobOutcome::Refused { why: format!("`{}`: {why}; see `{}`", short(&ran.command), ran.log) }
            }
        })
    }

    /// Runs the hooks of a point one after the other. Where they may object, the first objection ends the run.
    pub(crate) async fn ask(&self, asked: &HookQuestion, id: &str) -> Result<Vec<HookRan>, JobError> {
        let run = CommandRun {
            project: &asked.project,
            session: asked.session,
            event: asked.point.word(),
            point: Some(asked.point),
            id,
            document: &asked.document,
        };
        let mut ran = Vec::new();
        for hook in &asked.hooks {
            let (ended, log) = self.command(&run, &hook.command, hook.timeout).await?;
            let objects = ended.objection.is_some();
            ran.push(HookRan {
                command: hook.command.clone(),
                code: ended.code,
                objection: ended.objection,
                log,
            });
            if objects && asked.point.may_object() {
                break;
            }
        }
        Ok(ran)
    }

    /// Runs what a reaction runs.
    pub(super) async fn run_command(&self, job: &Job) -> Result<JobOutcome, JobError> {
        let JobOrder::Run { project, session, command, timeout, document } = &job.order else {
            return Err(JobError::Never("it is no command".into()));
        };
        let event = match &job.requester {
            Requester::Incident(reacting) => reacting.to.kind.word(),
            _ => "run",
        };
        let id = job.id.to_string();
        let run = CommandRun { project, session: *session, event, point: None, id: &id, document };
        let (ended, log) = self.command(&run, command, *timeout).await?;
        Ok(match ended.objection {
            None => done(format!("`{}` succeeded; see `{log}`", short(command))),
            Some(why) => JobOutcome::Refused { why },
        })
    }

    /// Returns the mark by which everything that a run starts is found.
    fn mark(&self, id: &str) -> (String, Mark) {
        let marked = format!("{}#{id}", self.deps.data_dir);
        let mark = Mark::new(&[(JOB, marked.as_bytes())], GRACE);
        (marked, mark)
    }

    /// Ends the remains of hooks that were run by hand under a daemon that was killed. The engine does not run those
    /// again, so nothing else would find them.
    pub(crate) async fn sweep(&self) {
        let left = match self.logs.begun_by_hand() {
            Ok(left) => left,
            Err(err) => return tracing::warn!(%err, "the logs of hooks cannot be read"),
        };
        for (id, path) in left {
            match self.mark(&id).1.end().await {
                Ok(()) => HookLogFolder::close(&path, "ended with the daemon that ran it"),
                Err(err) => tracing::warn!(%err, id, "what is left of a hook cannot be ended"),
            }
        }
    }

    async fn command(
        &self,
        run: &CommandRun<'_>,
        command: &str,
        timeout: Duration,
    ) -> Result<(CommandEnded, Utf8PathBuf), JobError> {
        let few = match run.point {
            None => &self.runs,
            Some(point) if point.may_object() => &self.questions,
            Some(_) => &self.hooks,
        };
        let _one_of_few = few.acquire().await.map_err(|err| JobError::Later(err.to_string()))?;
        let project = run.project.clone();
        let handle = &self.deps.handle;
        let known = handle.view(move |state| {
            state
                .projects
                .get(&project)
                .map(|known| (known.config.path.clone(), known.config.environment.clone()))
        });
        let Some((path, own)) = known.await.map_err(stopping)? else {
            return Err(JobError::Never(format!("there is no project `{}` any more", run.project)));
        };
        let (marked, mark) = self.mark(run.id);
        // A daemon that was killed has left its command behind, and two of them must not run at once.
        mark.clone().end().await.map_err(failed("end what an earlier daemon has left of it"))?;
        let wanted = HookVariables {
            event: run.event,
            hook: run.point.map(HookPoint::word),
            project: run.project,
            session: run.session,
            job: &marked,
            data_dir: self.deps.data_dir.as_str(),
            environment: &own,
        };
        let environment = environment::compose_hook(wanted, std::env::vars_os())
            .map_err(|err| JobError::Later(err.to_string()))?;
        // What is secret in its environment is so for everybody.
        let its = secrets_in(environment.iter().cloned(), &own.secrets, &own.pass);
        secrets::learn(its.into_iter().map(|(name, value)| (name, value.into_encoded_bytes())));
        let what = run.point.map_or("run", HookPoint::word);
        let mut log = self
            .logs
            .begin(self.deps.clock.now(), what, run.id)
            .map_err(failed("begin the log of a command in the data folder"))?;
        let order = command::CommandOrder {
            shell: &self.shell,
            keeper: &self.deps.keeper,
            command,
            folder: camino::Utf8Path::new(&path),
            families: &self.deps.families,
            environment,
            mark,
            timeout,
            document: run.document,
        };
        let ended = command::run(order, &mut log).await.map_err(failed("run a command"))?;
        tracing::info!(project = %run.project, event = run.event, code = ended.code, log = %log.path(), "a command has ended");
        Ok((ended, log.path().to_owned()))
    }
}

fn failed(what: &'static str) -> impl FnOnce(std::io::Error) -> JobError {
    move |err| JobError::Later(format!("failed to {what}: {err}"))
}

/// Returns a command in short.
fn short(command: &str) -> String {
    let line = command.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let cut: String = line.chars().take(60).collect();
    if cut.len() < command.trim().len() { format!("{cut}…") } else { cut }
}
