//! Decides how to serve a requested check: from a stored result, by joining an execution, or by a new one.

use std::sync::Arc;

use ao_ports::{CheckRun, CheckSpec, RunState};
use tokio_util::sync::CancellationToken;

use super::error::RunnerError;
use super::execution::Execution;
use super::live::{LiveRuns, RunnerState};
use super::log::{LogCut, RunLog};
use super::options::CheckJob;
use super::paths;
use super::run_records::{self, StoredRun};

/// The way in which a requested check is served.
pub(super) enum CheckPlacement {
    /// The same check was requested before.
    Known(CheckRun),
    /// A new run that is over already: skipped, or the same as another.
    Over(StoredRun),
    /// A new run that waits for a live execution.
    Joined(StoredRun, String),
    /// A new run with a new execution.
    New(StoredRun, Arc<Execution>),
}

/// Decides what to do, and changes nothing.
pub(super) async fn place(
    shared: &RunnerState,
    live: &mut LiveRuns,
    job: &Arc<CheckJob>,
    spec: &CheckSpec,
) -> Result<CheckPlacement, RunnerError> {
    let key = run_records::key(job, spec);
    let ask = run_records::ask(job, spec, &key);
    if let Some(known) = known(shared, live, &ask, job.again).await? {
        return Ok(CheckPlacement::Known(known));
    }
    let mut stored = new_run(shared, live, job, spec, key, ask).await?;
    let changed = job.changed.as_deref().filter(|_| !spec.paths.is_empty());
    let skipped = match changed.map(|changed| paths::touched(&spec.paths, changed)) {
        Some(Ok(false)) => Some((RunState::Skipped, "the change touches none of its paths".to_owned())),
        // A typo must not look like a change that the check has nothing to do with.
        Some(Err(err)) => Some((RunState::Broken, format!("its paths cannot be read: {err}"))),
        _ => None,
    };
    if let Some((state, why)) = skipped {
        (stored.run.state, stored.run.why) = (state, Some(why));
        stored.run.ended_at = Some(stored.run.queued_at);
        return Ok(CheckPlacement::Over(stored));
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
        return Ok(CheckPlacement::Joined(stored, execution.id.clone()));
    }
    if !job.again
        && let Some(same) = shared.records.by_key(&stored.key).await?
        && same.is_result()
    {
        return Ok(CheckPlacement::Over(taken_over(stored, same)));
    }
    let execution = Execution {
        id: stored.run.id.clone(),
        key: stored.key.clone(),
        job: job.clone(),
        spec: spec.clone(),
        log: RunLog::new(shared.options.log(&stored.run.id), shared.options.log_limit),
        cancelled: CancellationToken::new(),
    };
    stored.execution = Some(execution.id.clone());
    Ok(CheckPlacement::New(stored, Arc::new(execution)))
}

/// Returns the run for the same request, if it is still valid. A cancelled run has no result, and a broken one may
/// succeed now: the missing program or secret may be there meanwhile. Automatic checks start once per head, so this
/// does not retry for ever.
async fn known(
    shared: &RunnerState,
    live: &LiveRuns,
    ask: &str,
    again: bool,
) -> Result<Option<CheckRun>, RunnerError> {
    let Some(stored) = shared.records.by_ask(ask).await? else { return Ok(None) };
    if let Some(entry) = live.runs.get(&stored.run.id) {
        return Ok(Some(entry.stored.run.clone()));
    }
    let is_valid = matches!(stored.run.state, RunState::Passed | RunState::Failed | RunState::Skipped);
    Ok((is_valid && !again).then_some(stored.run))
}

async fn new_run(
    shared: &RunnerState,
    live: &mut LiveRuns,
    job: &CheckJob,
    spec: &CheckSpec,
    key: String,
    ask: String,
) -> Result<StoredRun, RunnerError> {
    let now = shared.clock.now();
    let mut id = format!("run_{:x}", shared.clock.fresh());
    // A collision would mix up logs and results, so do not rely on fresh numbers alone.
    while live.runs.contains_key(&id) || shared.records.get(&id).await?.is_some() {
        id = format!("run_{:x}", shared.clock.fresh());
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
    Ok(StoredRun { run, order: live.next_order(now), key, ask, execution: None, shape: LogCut::default() })
}

/// Copies the result of another run.
fn taken_over(mut stored: StoredRun, same: StoredRun) -> StoredRun {
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
