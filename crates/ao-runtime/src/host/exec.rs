//! Runs a command beside agents, below the keeper of users' commands.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ao_ports::environment::{self, EXEC, ProgramVariables};
use ao_ports::secret::secrets_in;
use ao_ports::{ExecEnd, ExecOrder, ExecOutcome, RuntimeError};
use ao_process::{Keeper, Kept, Mark, Order, secrets};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::timeout;

/// Bytes of output that are returned.
const TAIL: usize = 64 * 1024;
/// Time to wait for the last output, once everything that could write it has ended.
const DRAIN: Duration = Duration::from_millis(250);

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
    // One pipe for both streams, so that errors appear where they happened.
    let (output, input) = io::pipe().map_err(failed)?;
    let wanted = Order {
        shell: &shell,
        command: &order.command,
        folder,
        environment: &environment,
        input: false,
        out: input.try_clone().map_err(failed)?.into(),
        err: input.into(),
    };
    let mut child = keeper.spawn(wanted).await.map_err(failed)?;
    let guard = Mark::new(&[(EXEC, id.as_bytes())], grace).guard(child.id());
    let mut output = Receiver::from_owned_fd(output.into()).map_err(failed)?;
    let mut tail = VecDeque::new();
    let ended = timeout(order.timeout, follow(&mut child, &mut output, &mut tail)).await;
    guard.end().await.map_err(failed)?;
    // What still holds the pipe is none of the command's processes.
    let _ = timeout(DRAIN, read_on(&mut output, &mut tail)).await;
    let end = match ended {
        Ok(status) => ExecEnd::Exited { code: status.map_err(failed)?.code() },
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

/// Reads the output until the shell has ended. A server that it leaves behind may hold the pipe open forever.
async fn follow(child: &mut Kept, output: &mut Receiver, tail: &mut VecDeque<u8>) -> io::Result<ExitStatus> {
    let ended = tokio::select! {
        status = child.wait() => Some(status),
        () = read_on(output, tail) => None,
    };
    match ended {
        Some(status) => status,
        None => child.wait().await,
    }
}

/// Reads to the end of the output, and keeps the end of it. Cancel-safe.
async fn read_on(output: &mut Receiver, tail: &mut VecDeque<u8>) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = output.read(&mut buffer).await {
        tail.extend(&buffer[..count]);
        let surplus = tail.len().saturating_sub(TAIL);
        tail.drain(..surplus);
    }
}
