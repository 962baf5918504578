//! What is to be done for a check that a job asks for: nothing, if there is a result or somebody works on it already.

use std::sync::Arc;

use ao_ports::{CheckRun, CheckSpec, RunState};
use tokio_util::sync::CancellationToken;

use super::book::{self, Stored};
use super::error::RunnerError;
use super::execution::Execution;
use super::live::{Desk, Live};
use super::log::{Log, Shape};
use super::options::Job;
use super::paths;

/// A check that was asked for, and what that led to.
pub(super) enum Placed {
    /// The same was asked for before.
    Known(CheckRun),
    /// A new run that is over already: skipped, or the same as another.
    Over(Stored),
    /// A new run that waits for an execution which is under way.
    Joined(Stored, String),
    /// A new run, and what has to be executed for it.
    New(Stored, Arc<Execution>),
}

/// Decides what to do, and changes nothing.
pub(super) async fn place(
    desk: &Desk,
    live: &mut Live,
    job: &Arc<Job>,
    spec: &CheckSpec,
) -> Result<Placed, RunnerError> {
    let key = book::key(job, spec);
    let ask = book::ask(job, spec, &key);
    if let Some(known) = known(desk, live, &ask, job.again).await? {
        return Ok(Placed::Known(known));
    }
    let mut stored = new_run(desk, live, job, spec, key, ask).await?;
    let changed = job.changed.as_deref().filter(|_| !spec.paths.is_empty());
    let skipped = match changed.map(|changed| paths::touched(&spec.paths, changed)) {
        Some(Ok(false)) => Some((RunState::Skipped, "the change touches none of its paths".to_owned())),
        // A typo must not pass for a change that the check has nothing to do with.
        Some(Err(err)) => Some((RunState::Broken, format!("its paths cannot be read: {err}"))),
        _ => None,
    };
    if let Some((state, why)) = skipped {
        (stored.run.state, stored.run.why) = (state, Some(why));
        stored.run.ended_at = Some(stored.run.queued_at);
        return Ok(Placed::Over(stored));
    }
    if let Some(under_way) = live.by_key.get(&stored.key).and_then(|id| live.executions.get(id)) {
        let execution = &under_way.execution;
        stored.execution = Some(execution.id.clone());
        stored.run.same_as = under_way.members.first().cloned();
        if let Some(began_at) = under_way.began_at {
            stored.run.state = RunState::Running;
            stored.run.began_at = Some(began_at);
            stored.run.log = Some(execution.log.path().to_string());
        }
        return Ok(Placed::Joined(stored, execution.id.clone()));
    }
    if !job.again
        && let Some(same) = desk.book.by_key(&stored.key).await?
        && same.is_result()
    {
        return Ok(Placed::Over(taken_over(stored, same)));
    }
    let execution = Execution {
        id: stored.run.id.clone(),
        key: stored.key.clone(),
        job: job.clone(),
        spec: spec.clone(),
        log: Log::new(desk.options.log(&stored.run.id), desk.options.log_limit),
        cancelled: CancellationToken::new(),
    };
    stored.execution = Some(execution.id.clone());
    Ok(Placed::New(stored, Arc::new(execution)))
}

/// The run that was asked for in the same words, if it still says something. One that was cancelled says nothing, and one
/// that is broken nothing of now: the program or the secret that it lacked may be there meanwhile. Whoever starts checks by
/// himself does so once for each head, so nothing is tried for ever.
async fn known(desk: &Desk, live: &Live, ask: &str, again: bool) -> Result<Option<CheckRun>, RunnerError> {
    let Some(stored) = desk.book.by_ask(ask).await? else { return Ok(None) };
    if let Some(entry) = live.runs.get(&stored.run.id) {
        return Ok(Some(entry.stored.run.clone()));
    }
    let says_something = matches!(stored.run.state, RunState::Passed | RunState::Failed | RunState::Skipped);
    Ok((says_something && !again).then_some(stored.run))
}

async fn new_run(
    desk: &Desk,
    live: &mut Live,
    job: &Job,
    spec: &CheckSpec,
    key: String,
    ask: String,
) -> Result<Stored, RunnerError> {
    let now = desk.clock.now();
    let mut id = format!("run_{:x}", desk.clock.fresh());
    // Fresh numbers are said to be fresh. A log or a result that got mixed up with another would be found by nobody.
    while live.runs.contains_key(&id) || desk.book.get(&id).await?.is_some() {
        id = format!("run_{:x}", desk.clock.fresh());
    }
    let run = CheckRun {
        id,
        project: job.project.clone(),
        pull: job.pull.clone(),
        check: spec.name.clone(),
        command: spec.command.clone(),
        required: spec.required,
        head: job.head.clone(),
        base: job.base.clone(),
        tree: job.tree.clone(),
        ahead: job.ahead.clone(),
        state: RunState::Queued,
        why: None,
        exit_code: None,
        queued_at: now,
        began_at: None,
        ended_at: None,
        tries: 0,
        same_as: None,
        log: None,
        failure: None,
    };
    Ok(Stored { run, order: live.next_order(now), key, ask, execution: None, shape: Shape::default() })
}

/// A run that has the result of another one.
fn taken_over(mut stored: Stored, same: Stored) -> Stored {
    let (run, other) = (&mut stored.run, same.run);
    run.state = other.state;
    run.why = other.why;
    run.exit_code = other.exit_code;
    run.began_at = other.began_at;
    run.ended_at = other.ended_at;
    run.log = other.log;
    run.failure = other.failure;
    run.same_as = other.same_as.or(Some(other.id));
    stored.execution = same.execution;
    stored.shape = same.shape;
    stored
}
