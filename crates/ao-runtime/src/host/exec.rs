//! Runs a command beside agents, below the keeper of users' commands.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ao_ports::environment::{self, EXEC, ProgramVariables};
use ao_ports::secret::secrets_in;
use ao_ports::{ExecEnd, ExecOrder, ExecOutcome, RuntimeError};
use ao_process::{Keeper, Mark, secrets};
use tokio::time::timeout;

/// Bytes of output that are returned.
const TAIL: usize = 64 * 1024;
/// Time to wait for the last output, once everything that could write it has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// Runs a command to its end, and ends everything that it has started.
pub(crate) async fn exec(
    keeper: &Keeper,
    grace: Duration,
    order: &ExecOrder,
) -> Result<ExecOutcome, RuntimeError> {
    let folder = Path::new(&order.path);
    if !folder.is_dir() {
        return Err(RuntimeError::NoFolder { path: order.path.clone() });
    }
    let id = unique();
    let environment = environment(order, &id)?;
    let shell = shell();
    let failed = |err: io::Error| {
        RuntimeError::Failed(format!("`{}` could not be run: {err}", shell.to_string_lossy()))
    };
    let mut command =
        keeper.spawn_piped(&shell, &order.command, folder, &environment).await.map_err(failed)?;
    let guard = Mark::new(&[(EXEC, id.as_bytes())], grace).guard(command.child.id());
    let mut tail = VecDeque::new();
    let mut keep = |part: &[u8]| {
        tail.extend(part);
        let surplus = tail.len().saturating_sub(TAIL);
        tail.drain(..surplus);
        Ok(())
    };
    let ended = timeout(order.timeout, command.follow(&mut keep)).await;
    guard.end().await.map_err(failed)?;
    // Of what was ended. A process that still holds the pipe is none of the command's.
    let _ = timeout(LAST_OUTPUT, command.follow(&mut keep)).await;
    let end = match ended {
        Ok(status) => ExecEnd::Exited { code: status.map_err(failed)?.0.code() },
        Err(_) => ExecEnd::TimedOut,
    };
    let text = String::from_utf8_lossy(tail.make_contiguous()).into_owned();
    Ok(ExecOutcome { end, output: secrets::known().mask(&text) })
}

fn environment(order: &ExecOrder, id: &str) -> Result<Vec<(OsString, OsString)>, RuntimeError> {
    let own = &order.environment;
    let wanted = ProgramVariables {
        session: order.session,
        attempt: order.attempt,
        pass: &own.pass,
        set: &own.set,
        secrets: &own.secrets,
    };
    let mut environment = environment::compose(wanted, std::env::vars_os())?;
    environment.push((EXEC.into(), id.into()));
    // Learnt before the command can print one.
    let its = secrets_in(environment.iter().cloned(), &own.secrets, &own.pass);
    secrets::learn(its.into_iter().map(|(name, value)| (name, value.into_encoded_bytes())));
    Ok(environment)
}

/// Returns an id for the processes of one command, unlike all others on this host.
fn unique() -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = super::attempt_dir::now();
    format!("{}-{}-{}", std::process::id(), now.0, LAST.fetch_add(1, Ordering::Relaxed))
}

/// Returns the user's shell.
fn shell() -> OsString {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    set("AO_SHELL").or_else(|| set("SHELL")).unwrap_or_else(|| "/bin/sh".into())
}
