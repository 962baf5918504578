//! The way of a command that is really run: a slot, a checkout, its output, what it means, and what is left afterwards.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use ao_ports::environment::{CHECK_RUN, WantedByCheck, compose_check};
use ao_ports::secret::secrets_in;
use ao_ports::{CheckSpec, RunState};
use ao_process::{CommandGuard, Mark, secrets};
use futures::FutureExt;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, info_span, warn};

use super::command::{self, End, Order};
use super::keep;
use super::live::Desk;
use super::log::Log;
use super::options::Job;
use super::tree::Tree;
use super::verdict::{self, About, Outcome, Verdict};
use crate::told::told;

/// A command that runs, or will when there is a slot.
#[derive(Debug)]
pub(super) struct Execution {
    /// That of the first run that asked for it.
    pub(super) id: String,
    pub(super) key: String,
    pub(super) job: Arc<Job>,
    pub(super) spec: CheckSpec,
    pub(super) log: Log,
    /// Nobody waits for it any more.
    pub(super) cancelled: CancellationToken,
}

/// Runs it, tells its result, and clears up after it. Whatever happens, nobody waits in vain.
pub(super) async fn execute(desk: Arc<Desk>, execution: Arc<Execution>) {
    let span = info_span!("check", run = execution.id, check = execution.spec.name);
    let going = AssertUnwindSafe(go(&desk, &execution)).catch_unwind();
    if going.instrument(span).await.is_err() {
        let verdict = Verdict::broken("ao itself failed while it ran; please report this");
        desk.settle(&execution, verdict, 0).await;
    }
}

async fn go(desk: &Desk, execution: &Execution) {
    let slot = tokio::select! {
        slot = desk.slots.acquire() => slot.expect("nobody closes it"),
        () = execution.cancelled.cancelled() => return desk.settle(execution, cancelled(), 0).await,
    };
    // The beginning is recorded while the checkout is made: nothing that comes of it has to wait for that.
    let ((), (verdict, tries, left)) = tokio::join!(desk.begun(execution), try_all(desk, execution));
    desk.settle(execution, verdict, tries).await;
    // Only now: whoever waits for the result does not wait for this.
    left.clear(desk).await;
    drop(slot);
    keep::log_grown(desk, execution.log.path()).await;
}

/// Tries until there is a verdict, or the machine has been at fault too often.
async fn try_all(desk: &Desk, execution: &Execution) -> (Verdict, u32, Left) {
    let (log, mut tries) = (&execution.log, 0);
    for again in (0..=execution.spec.retries).rev() {
        let (outcome, left) = try_once(desk, execution, Left::of(desk, execution), &mut tries).await;
        let why = match outcome {
            _ if execution.cancelled.is_cancelled() => return (cancelled(), tries, left),
            Outcome::Cancelled => return (cancelled(), tries, left),
            Outcome::Over(verdict) => return (verdict, tries, left),
            Outcome::Machine { why } => secrets::known().mask(&why),
        };
        warn!(check = execution.spec.name, why, again, "a check could not be run");
        log.say(&why).ok();
        if again == 0 {
            return (Verdict::broken(why), tries, left);
        }
        left.clear(desk).await;
        tokio::select! {
            () = tokio::time::sleep(desk.options.retry_pause) => {}
            () = execution.cancelled.cancelled() => {}
        }
        log.say("trying again").ok();
    }
    unreachable!("the last try returns")
}

async fn try_once(desk: &Desk, execution: &Execution, mut left: Left, tries: &mut u32) -> (Outcome, Left) {
    let Execution { id, job, spec, log, cancelled, .. } = execution;
    if cancelled.is_cancelled() {
        return (Outcome::Cancelled, left);
    }
    if let Err(err) = log.begin() {
        return (Outcome::Machine { why: failed("its log could not be written", &err) }, left);
    }
    let wanted =
        WantedByCheck { check: &spec.name, run: id, project: &job.project, environment: &spec.environment };
    let mut environment = match compose_check(wanted, std::env::vars_os()) {
        Ok(environment) => environment,
        Err(err) => return (Outcome::Over(Verdict::broken(err.to_string())), left),
    };
    // Known before the command can say one.
    let its = secrets_in(environment.iter().cloned(), &spec.environment.secrets, &spec.environment.pass);
    secrets::learn(its.into_iter().map(|(name, value)| (name, value.into_encoded_bytes())));
    // If a check loses its `.git`, git is not to find a repository around ours.
    environment.insert(0, ("GIT_CEILING_DIRECTORIES".into(), left.tree.holder().as_str().into()));

    match left.tree.make(&desk.options.queues, job.commit.as_str()).await {
        Ok(missing) => {
            for path in missing {
                log.say(&format!("the submodule `{path}` is not here, so it is empty")).ok();
            }
        }
        Err(err) => return (Outcome::Machine { why: failed("could not be checked out", &err) }, left),
    }
    if cancelled.is_cancelled() {
        return (Outcome::Cancelled, left);
    }
    let order = Order {
        shell: &desk.options.shell,
        keeper: &desk.options.keeper,
        command: &spec.command,
        folder: left.tree.path(),
        environment,
        mark: left.mark.clone(),
        timeout: spec.timeout,
        grace: desk.options.grace,
    };
    *tries += 1;
    let ended = command::run(order, log, cancelled).await;
    let end = match ended.and_then(|ended| log.flush().map(|()| ended)) {
        Ok((end, guard)) => {
            left.guard = guard;
            left.is_clear = left.guard.is_none();
            end
        }
        Err(err) => return (Outcome::Machine { why: failed("could not be run", &err) }, left),
    };
    let about = About {
        command: spec.command.clone(),
        log: log.path().to_owned(),
        root: left.tree.path().to_owned(),
    };
    let outcome = match end {
        End::Cancelled => Outcome::Cancelled,
        // Nothing is read for that.
        End::Exited(status) if status.success() => verdict::of_end(status, &about),
        End::Exited(status) => read_log(move || verdict::of_end(status, &about)).await,
        End::TooLong => {
            let limit = spec.timeout;
            read_log(move || verdict::too_long(limit, &about)).await
        }
    };
    (outcome, left)
}

/// Judges elsewhere: a log may be long, and is read as a whole.
async fn read_log(judge: impl FnOnce() -> Outcome + Send + 'static) -> Outcome {
    let judged = tokio::task::spawn_blocking(judge).await;
    judged.unwrap_or_else(|err| Outcome::Machine { why: failed("its log could not be read", &err) })
}

/// What a try leaves behind.
#[derive(Debug)]
struct Left {
    tree: Tree,
    mark: Mark,
    guard: Option<CommandGuard>,
    /// Nothing of it runs any more.
    is_clear: bool,
}

impl Left {
    fn of(desk: &Desk, execution: &Execution) -> Left {
        let tree = Tree::of(&desk.options, &execution.id, &execution.job);
        let mark = Mark::new(&[(CHECK_RUN, execution.id.as_bytes())], desk.options.grace);
        Left { tree, mark, guard: None, is_clear: false }
    }

    /// Ends what still runs, and takes the checkout away. What fails here is no fault of the check's, and is tried again
    /// by the next daemon.
    async fn clear(self, desk: &Desk) {
        let ended = match self.guard {
            Some(guard) => guard.end().await,
            None if self.is_clear => Ok(()),
            None => self.mark.end().await,
        };
        if let Err(err) = ended {
            warn!(%err, "a check has left processes that could not be ended");
        }
        if let Err(err) = self.tree.remove(&desk.options.queues).await {
            warn!(err = told(&err), "the checkout of a check could not be removed");
        }
    }
}

fn cancelled() -> Verdict {
    Verdict { state: RunState::Cancelled, why: None, exit_code: None, failure: None }
}

fn failed(what: &str, err: &dyn std::error::Error) -> String {
    format!("{what}: {}", told(err))
}
