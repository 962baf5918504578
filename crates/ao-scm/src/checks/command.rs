//! One command, run by the shell, from its start to its end.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use ao_process::{CommandGuard, Keeper, Kept, Mark};
use camino::Utf8Path;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::log::Log;

/// How long to wait, once the shell has ended, for others to let go of its output. What the shell itself has put out is
/// in the pipe by then; this is for what it does not wait for.
const DRAIN: Duration = Duration::from_millis(250);
/// A limit that no clock can hold is none that anybody would live to see.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// A command as it is to be run.
pub(super) struct Order<'a> {
    pub(super) shell: &'a Utf8Path,
    pub(super) keeper: &'a Keeper,
    pub(super) command: &'a str,
    pub(super) folder: &'a Utf8Path,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) mark: Mark,
    pub(super) timeout: Duration,
    pub(super) grace: Duration,
}

impl fmt::Debug for Order<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Of the environment the names alone: secrets are in it.
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("Order")
            .field("command", &self.command)
            .field("folder", &self.folder)
            .field("environment", &names)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// How a command has ended.
#[derive(Debug)]
pub(super) enum End {
    Exited(ExitStatus),
    TooLong,
    Cancelled,
}

/// Runs a command until it ends, takes too long or is not wanted any more.
///
/// Everything that it has left has been ended on return, if it has a keeper, which knows. Without one only its group is known: what has
/// left that may still run and is found by its mark, which takes a look at every process of the host, and is the business of
/// the guard.
pub(super) async fn run(
    order: Order<'_>,
    log: &Log,
    cancelled: &CancellationToken,
) -> io::Result<(End, Option<CommandGuard>)> {
    let (mut child, mut output) = spawn(&order).await?;
    let guard = order.mark.guard(child.id());
    let end = tokio::select! {
        followed = timeout(order.timeout.min(YEAR), follow(&mut child, &mut output, log)) => match followed {
            Ok(followed) => {
                let (status, open) = followed?;
                return Ok((End::Exited(status), match child.has_left() {
                    Some(false) if !open => {
                        guard.release();
                        None
                    }
                    None if !open => Some(guard),
                    _ => {
                        guard.end().await?;
                        None
                    }
                }));
            }
            Err(_) => End::TooLong,
        },
        () = cancelled.cancelled() => End::Cancelled,
    };
    // Its output is read on meanwhile, or it might wait for that and not hear that it is to end.
    let last = timeout(order.grace + Duration::from_secs(3), follow(&mut child, &mut output, log));
    let (ended, last) = tokio::join!(guard.end(), last);
    ended?;
    if let Ok(last) = last {
        last?;
    }
    Ok((end, None))
}

async fn spawn(order: &Order<'_>) -> io::Result<(Kept, Receiver)> {
    // One pipe for both, so that errors stand where they happened.
    let (output, input) = io::pipe()?;
    let kept = ao_process::Order {
        shell: order.shell.as_std_path().as_os_str(),
        command: order.command,
        folder: order.folder.as_std_path(),
        environment: &order.environment,
        input: false,
        out: input.try_clone()?.into(),
        err: input.into(),
    };
    Ok((order.keeper.spawn(kept).await?, Receiver::from_owned_fd(output.into())?))
}

/// Writes down what comes until the shell has ended, and says whether somebody else still holds its output.
async fn follow(child: &mut Kept, output: &mut Receiver, log: &Log) -> io::Result<(ExitStatus, bool)> {
    let mut buffer = vec![0; 64 << 10];
    let mut open = true;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status?,
            read = output.read(&mut buffer), if open => {
                let read = read?;
                log.write(&buffer[..read])?;
                open = read > 0;
            }
        }
    };
    let rest = async {
        while open {
            let read = output.read(&mut buffer).await?;
            log.write(&buffer[..read])?;
            open = read > 0;
        }
        Ok::<(), io::Error>(())
    };
    match timeout(DRAIN, rest).await {
        Ok(drained) => drained.map(|()| (status, false)),
        Err(_) => Ok((status, true)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_does_not_tell_its_secrets() {
        let order = Order {
            shell: "/bin/sh".into(),
            keeper: &Keeper::default(),
            command: "make",
            folder: "/x".into(),
            environment: vec![("TOKEN".into(), "hunter2".into())],
            mark: Mark::new(&[("AO_CHECK_RUN", b"run_1")], Duration::ZERO),
            timeout: Duration::ZERO,
            grace: Duration::ZERO,
        };
        let told = format!("{order:?}");
        assert!(told.contains("TOKEN") && !told.contains("hunter2"), "{told}");
    }
}
