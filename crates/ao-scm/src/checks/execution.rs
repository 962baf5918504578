//! The execution of a command: slot, checkout, output, verdict, and cleanup.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use ao_ports::environment::{CHECK_RUN, CheckVariables, compose_check};
use ao_ports::secret::secrets_in;
use ao_ports::{CheckSpec, RunState};
use ao_process::{CommandGuard, Mark, secrets};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info_span, warn};

use super::command::{self, CommandEnd, CommandSpec};
use super::live::RunnerState;
use super::log::RunLog;
use super::options::CheckJob;
use super::retention;
use super::tree::CheckTree;
use super::verdict::{self, AttemptOutcome, CommandContext, RunVerdict};
use crate::error_chain::error_chain;

/// A command that runs, or waits for a slot.
#[derive(Debug)]
pub(super) struct Execution {
    /// The id of the first run that requested it.
    pub(super) id: String,
    pub(super) key: String,
    pub(super) job: Arc<CheckJob>,
    pub(super) spec: CheckSpec,
    pub(super) log: RunLog,
    /// Cancelled when no run waits for it any more.
    pub(super) cancelled: CancellationToken,
}

/// Executes a command, publishes its result, and cleans up. Publishes a result even after a panic.
pub(super) async fn execute(shared: Arc<RunnerState>, execution: Arc<Execution>) {
    let span = info_span!("check", run = execution.id, check = execution.spec.name);
    let going = AssertUnwindSafe(go(&shared, &execution)).catch_unwind();
    if going.instrument(span).await.is_err() {
        let verdict = RunVerdict::broken("ao itself failed while it ran; please report this");
        shared.settle(&execution, verdict, 0).await;
    }
}

async fn go(shared: &RunnerState, execution: &Execution) {
    let slot = tokio::select! {
        slot = shared.slots.acquire() => slot.expect("it is never closed"),
        () = execution.cancelled.cancelled() => return shared.settle(execution, cancelled(), 0).await,
    };
    // The start is recorded while the checkout is made: the checkout does not depend on it.
    let ((), (verdict, tries, left)) = tokio::join!(shared.begun(execution), try_all(shared, execution));
    shared.settle(execution, verdict, tries).await;
    // Only now, so that the result does not wait for the cleanup.
    left.clear(shared).await;
    drop(slot);
    retention::log_grown(shared, execution.log.path()).await;
}

/// Retries until there is a verdict, or the machine was at fault too often.
async fn try_all(shared: &RunnerState, execution: &Execution) -> (RunVerdict, u32, AttemptCleanup) {
    let (log, mut tries) = (&execution.log, 0);
    for again in (0..=execution.spec.retries).rev() {
        let (outcome, left) =
            try_once(shared, execution, AttemptCleanup::of(shared, execution), &mut tries).await;
        let why = match outcome {
            _ if execution.cancelled.is_cancelled() => return (cancelled(), tries, left),
            AttemptOutcome::Cancelled => return (cancelled(), tries, left),
            AttemptOutcome::Over(verdict) => return (verdict, tries, left),
            AttemptOutcome::Machine { why } => secrets::known().mask(&why),
        };
        warn!(check = execution.spec.name, why, again, "a check could not be run");
        log.add_line(&why).ok();
        if again == 0 {
            return (RunVerdict::broken(why), tries, left);
        }
        left.clear(shared).await;
        tokio::select! {
            () = tokio::time::sleep(shared.options.retry_pause) => {}
            () = execution.cancelled.cancelled() => {}
        }
        log.add_line("trying again").ok();
    }
    unreachable!("the last try returns")
}

async fn try_once(
    shared: &RunnerState,
    execution: &Execution,
    mut left: AttemptCleanup,
    tries: &mut u32,
) -> (AttemptOutcome, AttemptCleanup) {
    let Execution { id, job, spec, log, cancelled, .. } = execution;
    if cancelled.is_cancelled() {
        return (AttemptOutcome::Cancelled, left);
    }
    if let Err(err) = log.begin() {
        return (AttemptOutcome::Machine { why: failed("its log could not be written", &err) }, left);
    }
    let wanted =
        CheckVariables { check: &spec.name, run: id, project: &job.project, environment: &spec.environment };
    let mut environment = match compose_check(wanted, std::env::vars_os()) {
        Ok(environment) => environment,
        Err(err) => return (AttemptOutcome::Over(RunVerdict::broken(err.to_string())), left),
    };
    // Register the secrets before the command can print one.
    let its = secrets_in(environment.iter().cloned(), &spec.environment.secrets, &spec.environment.pass);
    secrets::learn(its.into_iter().map(|(name, value)| (name, value.into_encoded_bytes())));
    // If a check deletes its `.git`, git must not find a repository around ours.
    environment.insert(0, ("GIT_CEILING_DIRECTORIES".into(), left.tree.holder().as_str().into()));

    match left.tree.make(&shared.options.queues, job.commit.as_str()).await {
        Ok(missing) => {
            for path in missing {
                log.add_line(&format!("the submodule `{path}` is not here, so it is empty")).ok();
            }
        }
        Err(err) => return (AttemptOutcome::Machine { why: failed("could not be checked out", &err) }, left),
    }
    if cancelled.is_cancelled() {
        return (AttemptOutcome::Cancelled, left);
    }
    let order = CommandSpec {
        shell: &shared.options.shell,
        keeper: &shared.options.keeper,
        command: &spec.command,
        folder: left.tree.path(),
        environment,
        mark: left.mark.clone(),
        timeout: spec.timeout,
        grace: shared.options.grace,
    };
    *tries += 1;
    let ended = command::run(order, log, cancelled).await;
    let end = match ended.and_then(|ended| log.flush().map(|()| ended)) {
        Ok((end, guard)) => {
            left.guard = guard;
            left.is_clear = left.guard.is_none();
            end
        }
        Err(err) => return (AttemptOutcome::Machine { why: failed("could not be run", &err) }, left),
    };
    let about = CommandContext {
        command: spec.command.clone(),
        log: log.path().to_owned(),
        root: left.tree.path().to_owned(),
    };
    let outcome = match end {
        CommandEnd::Cancelled => AttemptOutcome::Cancelled,
        // Needs no log.
        CommandEnd::Exited(status) if status.success() => verdict::of_end(status, &about),
        CommandEnd::Exited(status) => read_log(move || verdict::of_end(status, &about)).await,
        CommandEnd::TooLong => {
            let limit = spec.timeout;
            read_log(move || verdict::too_long(limit, &about)).await
        }
    };
    (outcome, left)
}

/// Judges on a blocking thread: a log may be long, and is read as a whole.
async fn read_log(judge: impl FnOnce() -> AttemptOutcome + Send + 'static) -> AttemptOutcome {
    let judged = tokio::task::spawn_blocking(judge).await;
    judged.unwrap_or_else(|err| AttemptOutcome::Machine { why: failed("its log could not be read", &err) })
}

/// The checkout and processes of one attempt, to be cleaned up.
#[derive(Debug)]
struct AttemptCleanup {
    tree: CheckTree,
    mark: Mark,
    guard: Option<CommandGuard>,
    /// No process of the attempt runs any more.
    is_clear: bool,
}

impl AttemptCleanup {
    fn of(shared: &RunnerState, execution: &Execution) -> AttemptCleanup {
        let tree = CheckTree::of(&shared.options, &execution.id, &execution.job);
        let mark = Mark::new(&[(CHECK_RUN, execution.id.as_bytes())], shared.options.grace);
        AttemptCleanup { tree, mark, guard: None, is_clear: false }
    }

    /// Ends the remaining processes and removes the checkout. A failure here is not the fault of the check, and is
    /// retried by the next daemon.
    async fn clear(self, shared: &RunnerState) {
        let ended = match self.guard {
            Some(guard) => guard.end().await,
            None if self.is_clear => Ok(()),
            None => self.mark.end().await,
        };
        if let Err(err) = ended {
            warn!(%err, "a check has left processes that could not be ended");
        }
        if let Err(err) = self.tree.remove(&shared.options.queues).await {
            warn!(err = error_chain(&err), "the checkout of a check could not be removed");
        }
    }
}

fn cancelled() -> RunVerdict {
    RunVerdict { state: RunState::Cancelled, why: None, exit_code: None, failure: None }
}

fn failed(what: &str, err: &dyn std::error::Error) -> String {
    format!("{what}: {}", error_chain(err))
}
