//! A session that a reaction starts, by the same path as a request of a person.

use ao_core::job::JobOutcome;
use ao_core::pull::PullInput;
use ao_core::session::{NewMessage, SessionInput};
use ao_core::{Input, JobId, ProjectId, PullId, Refusal, SessionId, State};
use ao_engine::{AskError, Handle};
use ao_ports::JobError;

use super::{DaemonJobs, done, stopping};
use crate::error::{DaemonError, ErrorKind};
use crate::spawn::SpawnDraft;

/// The requested session.
#[derive(Debug, Clone, Copy)]
pub(super) struct RequestedSession<'a> {
    pub(super) project: &'a ProjectId,
    pub(super) pull: Option<&'a PullId>,
    pub(super) agent: Option<&'a str>,
    pub(super) title: &'a str,
    pub(super) prompt: &'a str,
}

/// The session that exists already.
struct ExistingSession {
    session: SessionId,
    name: String,
    live: bool,
    /// True if its task is the requested one, so that it needs no message.
    has_it: bool,
}

impl DaemonJobs {
    /// Starts an agent. A branch has one agent at a time, and a session of no branch carries the job's own number in its
    /// name, so a second time finds the first one.
    pub(super) async fn spawn(&self, job: JobId, wish: RequestedSession<'_>) -> Result<JobOutcome, JobError> {
        let handle = &self.deps.handle;
        let project = wish.project.clone();
        let stopped = handle.view(move |state| state.projects.get(&project)?.stopped.clone());
        if let Some(stopped) = stopped.await.map_err(stopping)? {
            let (project, by) = (wish.project, stopped.by);
            let why = format!("{by} has stopped all work of `{project}`; `ao start` lets agents begin again");
            return Err(JobError::Never(why));
        }
        let name = wish.pull.is_none().then(|| name(job, wish));
        let (pull, named) = (wish.pull.cloned(), name.clone());
        let prompt = wish.prompt.to_owned();
        let look = move |state: &State| there_already(state, pull.as_ref(), named.as_deref(), &prompt);
        if let Some(there) = handle.view(look.clone()).await.map_err(stopping)? {
            return bring(self, handle, there, job, wish).await;
        }
        self.deps.config.applied().await;
        let draft = SpawnDraft {
            project: Some(wish.project.to_string()),
            title: Some(wish.title.to_owned()),
            prompt: Some(wish.prompt.to_owned()),
            agent: wish.agent.map(str::to_owned),
            claim_pr: wish.pull.map(|pull| pull.number),
            name,
            ..SpawnDraft::default()
        };
        let order = self.deps.spawn.order(draft).await.map_err(refused)?;
        match handle.ask(Input::Spawn(Box::new(order))).await {
            Ok(receipt) => {
                let made = receipt.events.iter().find_map(|stamped| stamped.event.session());
                if let (Some(pull), Some(session)) = (wish.pull, made) {
                    claim(handle, pull, session).await?;
                }
                Ok(done("an agent was started"))
            }
            // Another request was faster between the look and the order.
            Err(AskError::Refused(Refusal::BranchTaken { name, .. } | Refusal::TaskTaken { name, .. })) => {
                match handle.view(look).await.map_err(stopping)? {
                    Some(there) => bring(self, handle, there, job, wish).await,
                    None => Ok(done(format!("`{name}` is there already"))),
                }
            }
            Err(AskError::Refused(refusal)) => Err(JobError::Never(refusal.to_string())),
            Err(err) => Err(stopping(err)),
        }
    }
}

/// The session that has the pull request's branch, or that this job has made before.
fn there_already(
    state: &State,
    pull: Option<&PullId>,
    named: Option<&str>,
    prompt: &str,
) -> Option<ExistingSession> {
    let session = match (pull.and_then(|pull| state.pulls.get(pull)), named) {
        (Some(pull), _) => {
            let owner =
                pull.owner.and_then(|owner| state.sessions.get(&owner)).filter(|owner| owner.is_live());
            let branch = state.owner_of_branch(&pull.id.project, &pull.facts.head_branch);
            owner
                .or_else(|| branch.and_then(|session| state.sessions.get(&session)))
                .map(|session| &**session)
        }
        (None, Some(name)) => state.session_named(name),
        (None, None) => None,
    }?;
    Some(ExistingSession {
        session: session.id,
        name: session.spec.name.clone(),
        live: session.is_live(),
        has_it: session.spec.prompt.contains(prompt.trim()),
    })
}

/// Makes the existing session work, own the pull request, and know the request.
///
/// Each step is idempotent and always taken, because a crash between two of them must lose none. The message has the
/// job's own key.
async fn bring(
    jobs: &DaemonJobs,
    handle: &Handle,
    there: ExistingSession,
    job: JobId,
    wish: RequestedSession<'_>,
) -> Result<JobOutcome, JobError> {
    let session = there.session;
    let tell = async |input| match handle.ask(Input::Session { session, input }).await {
        Ok(_) => Ok(()),
        Err(AskError::Refused(refusal)) => Err(JobError::Never(refusal.to_string())),
        Err(err) => Err(stopping(err)),
    };
    if !there.live {
        let look = handle.view(move |state| state.sessions.get(&session).cloned());
        let gone = look.await.map_err(stopping)?.ok_or_else(|| JobError::Never("it is gone".into()))?;
        // As for a person who asks: in the runtime that is configured now, if that can hold its agent.
        jobs.deps.config.applied().await;
        let runtime = jobs.deps.spawn.runtime_of(&gone, None).await.map_err(refused)?;
        tell(SessionInput::RestoreIn { runtime }).await?;
    }
    if let Some(pull) = wish.pull {
        claim(handle, pull, session).await?;
    }
    // One that has ended with this as its task has had its try at it.
    if there.has_it && there.live {
        return Ok(done(format!("`{}` is there already", there.name)));
    }
    tell(SessionInput::Send(NewMessage::of_daemon(wish.prompt, job.to_string()))).await?;
    let how = if there.live { "is there already, and was told" } else { "was brought back" };
    Ok(done(format!("`{}` {how}", there.name)))
}

/// Makes the new session the owner of the pull request, in place of an owner that has ended.
async fn claim(handle: &Handle, pull: &PullId, session: SessionId) -> Result<(), JobError> {
    let of = pull.clone();
    let before = handle.view(move |state| {
        let owner = state.pulls.get(&of).and_then(|pull| pull.owner)?;
        let gone = state.sessions.get(&owner).is_none_or(|owner| !owner.is_live());
        (owner != session && gone).then_some(owner)
    });
    if let Some(before) = before.await.map_err(stopping)? {
        let input = PullInput::Release { session: before };
        handle.ask(Input::Pull { pull: pull.clone(), input }).await.ok();
    }
    // If it has another owner by now, that one works on it.
    handle.ask(Input::Pull { pull: pull.clone(), input: PullInput::Claim { session } }).await.ok();
    Ok(())
}

/// Returns a name that describes the purpose and that no other job uses.
fn name(job: JobId, wish: RequestedSession<'_>) -> String {
    let slug = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let words: String = wish.title.chars().map(slug).collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    let short: String = words.join("-").chars().take(28).collect();
    let number = job.to_string().replace('_', "");
    [short.trim_matches('-'), &number].join("-").trim_start_matches('-').to_owned()
}

/// Returns what a refused draft means for a job: what may pass is tried later, and not before the end of a limit.
pub(super) fn refused(err: DaemonError) -> JobError {
    let why = err.to_string();
    match err.kind {
        ErrorKind::Forge(err) if let Some(after) = err.limited_for() => JobError::Limited { why, after },
        kind if kind.may_pass() => JobError::Later(why),
        _ => JobError::Never(why),
    }
}
