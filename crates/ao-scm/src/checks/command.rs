//! One shell command, from start to end.

use std::ffi::OsString;
use std::process::ExitStatus;
use std::time::Duration;
use std::{fmt, io};

use ao_process::{CommandGuard, Keeper, Kept, Mark};
use camino::Utf8Path;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::log::RunLog;

/// Time to wait for the output to close after the shell has ended. The output of the shell itself is in the pipe by
/// then; this is for its background processes.
const DRAIN: Duration = Duration::from_millis(250);
/// Cap for time limits: larger ones overflow the clock.
const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// A command and the settings to run it with.
pub(super) struct CommandSpec<'a> {
    pub(super) shell: &'a Utf8Path,
    pub(super) keeper: &'a Keeper,
    pub(super) command: &'a str,
    pub(super) folder: &'a Utf8Path,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) mark: Mark,
    pub(super) timeout: Duration,
    pub(super) grace: Duration,
}

impl fmt::Debug for CommandSpec<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Only the names of the environment: the values include secrets.
        let names: Vec<_> = self.environment.iter().map(|(name, _)| name).collect();
        f.debug_struct("CommandSpec")
            .field("command", &self.command)
            .field("folder", &self.folder)
            .field("environment", &names)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// The reason why a command is over.
#[derive(Debug)]
pub(super) enum CommandEnd {
    Exited(ExitStatus),
    TooLong,
    Cancelled,
}

/// Runs a command until it ends, exceeds its time limit or is cancelled.
///
/// With a keeper, all leftover processes have been ended on return. Without one only the process group is known: a
/// process that left the group may still run, and is found by its mark, which needs a scan of all processes of the
/// host. The returned guard does that.
pub(super) async fn run(
    order: CommandSpec<'_>,
    log: &RunLog,
    cancelled: &CancellationToken,
) -> io::Result<(CommandEnd, Option<CommandGuard>)> {
    let (mut child, mut output) = spawn(&order).await?;
    let guard = order.mark.guard(child.id());
    let end = tokio::select! {
        followed = timeout(order.timeout.min(YEAR), follow(&mut child, &mut output, log)) => match followed {
            Ok(followed) => {
                let (status, open) = followed?;
                return Ok((CommandEnd::Exited(status), match child.has_left() {
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
            Err(_) => CommandEnd::TooLong,
        },
        () = cancelled.cancelled() => CommandEnd::Cancelled,
    };
    // Keep reading its output meanwhile: a process that is blocked on a full pipe does not react to a signal.
    let last = timeout(order.grace + Duration::from_secs(3), follow(&mut child, &mut output, log));
    let (ended, last) = tokio::join!(guard.end(), last);
    ended?;
    if let Ok(last) = last {
        last?;
    }
    Ok((end, None))
}

async fn spawn(order: &CommandSpec<'_>) -> io::Result<(Kept, Receiver)> {
    // One pipe for both, so that errors appear where they happened.
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

/// Logs the output until the shell has ended. Returns true beside the status if another process still holds the
/// output.
async fn follow(child: &mut Kept, output: &mut Receiver, log: &RunLog) -> io::Result<(ExitStatus, bool)> {
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
    fn the_debug_output_of_a_command_has_no_secrets() {
        let order = CommandSpec {
            shell: "/bin/sh".into(),
            keeper: &Keeper::default(),
            command: "make",
            folder: "/x".into(),
            environment: vec![("TOKEN".into(), "hunter2".into())],
            mark: Mark::new(&[("AO_CHECK_RUN", b"run_1")], Duration::ZERO),
            timeout: Duration::ZERO,
            grace: Duration::ZERO,
        };
        let text = format!("{order:?}");
        assert!(text.contains("TOKEN") && !text.contains("hunter2"), "{text}");
    }
}
