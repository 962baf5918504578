//! Runs one of the user's commands in the user's shell.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use ao_process::{Keeper, Kept, Mark, Order};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::{Instant, timeout, timeout_at};

use super::error::{ProvisionError, ended_how};
use super::log::SetupLog;

/// Time to wait, once the shell has ended, for other processes to close its output. The shell's own output is in the
/// pipe by then; this is for processes that it does not wait for, such as `> >(tee …)`.
const DRAIN: Duration = Duration::from_millis(250);

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
        let (mut child, mut output) = self.spawn(command).await?;
        let guard = self.mark.guard(child.id());
        let ended = timeout_at(self.until, follow(&mut child, &mut output, log)).await;
        let took = begun.elapsed().as_secs_f64();
        let status = match ended {
            Ok(status) => status?,
            Err(_) => {
                guard.end().await.map_err(ProvisionError::NotEnded)?;
                // It is dead, so this reads its last output, and reaps it.
                timeout(DRAIN, follow(&mut child, &mut output, log))
                    .await
                    .unwrap_or(Ok(ExitStatus::default()))?;
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

    async fn spawn(&self, command: &str) -> Result<(Kept, Receiver), ProvisionError> {
        let failed = |err| ProvisionError::NoShell { shell: self.program.to_owned(), err };
        if !self.path.is_dir() {
            return Err(ProvisionError::file("work in", self.path)(io::ErrorKind::NotFound.into()));
        }
        // One pipe for both streams, so that errors appear where they happened.
        let (output, input) = io::pipe().map_err(failed)?;
        let order = Order {
            shell: self.program,
            command,
            folder: self.path,
            environment: &self.environment,
            input: false,
            out: input.try_clone().map_err(failed)?.into(),
            err: input.into(),
        };
        let child = self.keeper.spawn(order).await.map_err(failed)?;
        Ok((child, Receiver::from_owned_fd(output.into()).map_err(failed)?))
    }
}

/// Logs the output until the shell has ended. A server that it leaves behind may hold the pipe open forever, so the end
/// of the output is not waited for.
async fn follow(
    child: &mut Kept,
    output: &mut Receiver,
    log: &mut SetupLog,
) -> Result<ExitStatus, ProvisionError> {
    let mut buffer = vec![0; 64 << 10];
    let mut open = true;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status.map_err(ProvisionError::file("wait for the shell in", log.path()))?,
            read = output.read(&mut buffer), if open => open = take(read, &buffer, log)?,
        }
    };
    let rest = async {
        while open {
            open = take(output.read(&mut buffer).await, &buffer, log)?;
        }
        Ok::<(), ProvisionError>(())
    };
    match timeout(DRAIN, rest).await {
        Ok(drained) => drained?,
        Err(_) => say(
            log,
            "[ao: something was left running and still holds this output; send its output elsewhere, or its next \
             line will end it]",
        )?,
    }
    Ok(status)
}

/// Logs the bytes that were read, and returns true if more can come.
fn take(read: io::Result<usize>, buffer: &[u8], log: &mut SetupLog) -> Result<bool, ProvisionError> {
    let read = read.map_err(ProvisionError::file("read the output for", log.path()))?;
    let path = log.path().to_owned();
    log.write(&buffer[..read]).map_err(ProvisionError::file("write", path))?;
    Ok(read > 0)
}

pub(super) fn say(log: &mut SetupLog, line: &str) -> Result<(), ProvisionError> {
    let path = log.path().to_owned();
    log.say(line).map_err(ProvisionError::file("write", path))
}
