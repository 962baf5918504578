//! One shell command, from start to end.

use std::ffi::OsString;
use std::process::ExitStatus;
use std::time::Duration;
use std::{fmt, io};

use ao_process::{CommandGuard, Keeper, Mark};
use camino::Utf8Path;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::log::RunLog;

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
    let shell = order.shell.as_std_path().as_os_str();
    let folder = order.folder.as_std_path();
    let mut command = order.keeper.spawn_piped(shell, order.command, folder, &order.environment).await?;
    let guard = order.mark.guard(command.child.id());
    let end = tokio::select! {
        followed = timeout(order.timeout.min(YEAR), command.follow(|part| log.write(part))) => match followed {
            Ok(followed) => {
                let (status, open) = followed?;
                return Ok((CommandEnd::Exited(status), match command.child.has_left() {
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
    let last = timeout(order.grace + Duration::from_secs(3), command.follow(|part| log.write(part)));
    let (ended, last) = tokio::join!(guard.end(), last);
    ended?;
    if let Ok(last) = last {
        last?;
    }
    Ok((end, None))
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
