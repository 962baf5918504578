//! Runs one of the user's commands in the user's shell.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use ao_process::{Keeper, Mark, PipedCommand, ended_how};
use tokio::time::{Instant, timeout, timeout_at};

use super::error::ProvisionError;
use super::log::SetupLog;

/// Time to wait for the last output of a command that was ended.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// The common parts of all commands of a workspace.
#[derive(Debug)]
pub(super) struct CommandShell<'a> {
    pub(super) program: &'a OsStr,
    pub(super) keeper: &'a Keeper,
    pub(super) path: &'a Path,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) mark: Mark,
    /// Time limit for all of them together.
    pub(super) limit: Duration,
    pub(super) until: Instant,
}

impl CommandShell<'_> {
    /// Runs a command to its end. If it fails, takes too long, or the future is dropped, everything that it and the
    /// commands before it have started is ended.
    pub(super) async fn run(&self, command: &str, log: &mut SetupLog) -> Result<(), ProvisionError> {
        let begun = Instant::now();
        say(log, &format!("$ {command}"))?;
        let mut started = self.spawn(command).await?;
        let guard = self.mark.guard(started.child.id());
        let ended = timeout_at(self.until, follow(&mut started, log)).await;
        let took = begun.elapsed().as_secs_f64();
        let status = match ended {
            Ok(status) => status?,
            Err(_) => {
                guard.end().await.map_err(ProvisionError::NotEnded)?;
                // It is dead, so this reads its last output, and reaps it.
                timeout(LAST_OUTPUT, follow(&mut started, log)).await.unwrap_or(Ok(ExitStatus::default()))?;
                say(log, &format!("[ao: took too long, ended after {took:.1} s]"))?;
                return Err(ProvisionError::TooLong { command: command.to_owned(), limit: self.limit });
            }
        };
        say(log, &format!("[ao: {} after {took:.1} s]", ended_how(status)))?;
        if status.success() {
            guard.release();
            return Ok(());
        }
        guard.end().await.map_err(ProvisionError::NotEnded)?;
        Err(ProvisionError::Ended { command: command.to_owned(), status })
    }

    async fn spawn(&self, command: &str) -> Result<PipedCommand, ProvisionError> {
        let failed = |err| ProvisionError::NoShell { shell: self.program.to_owned(), err };
        if !self.path.is_dir() {
            return Err(ProvisionError::file("work in", self.path)(io::ErrorKind::NotFound.into()));
        }
        self.keeper.spawn_piped(self.program, command, self.path, &self.environment).await.map_err(failed)
    }
}

/// Logs the output until the shell has ended.
async fn follow(command: &mut PipedCommand, log: &mut SetupLog) -> Result<ExitStatus, ProvisionError> {
    let path = log.path().to_owned();
    let followed = command.follow(|part| log.write(part)).await;
    let (status, open) = followed.map_err(ProvisionError::file("log a command in", path))?;
    if open {
        say(
            log,
            "[ao: something was left running and still holds this output; send its output elsewhere, or its next \
             line will end it]",
        )?;
    }
    Ok(status)
}

pub(super) fn say(log: &mut SetupLog, line: &str) -> Result<(), ProvisionError> {
    let path = log.path().to_owned();
    log.say(line).map_err(ProvisionError::file("write", path))
}
