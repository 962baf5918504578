//! A command whose output and errors come through one pipe, so that errors appear where they happened.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::timeout;

use crate::{Keeper, Kept, Order};

/// Time to wait, once the shell has ended, for other processes to close its output. The shell's own output is in the
/// pipe by then; this is for processes that it does not wait for, such as `> >(tee …)`.
const DRAIN: Duration = Duration::from_millis(250);

/// A command that was started with one pipe for both of its streams.
#[derive(Debug)]
pub struct PipedCommand {
    pub child: Kept,
    output: Receiver,
}

impl Keeper {
    /// Starts a command without input, in a folder and with this environment alone.
    pub async fn spawn_piped(
        &self,
        shell: &OsStr,
        command: &str,
        folder: &Path,
        environment: &[(OsString, OsString)],
    ) -> io::Result<PipedCommand> {
        let (output, input) = io::pipe()?;
        let (out, err) = (input.try_clone()?.into(), input.into());
        let order = Order { shell, command, folder, environment, input: false, out, err };
        let child = self.spawn(order).await?;
        Ok(PipedCommand { child, output: Receiver::from_owned_fd(output.into())? })
    }
}

impl PipedCommand {
    /// Passes the output on until the shell has ended. Returns true beside the status if another process still holds
    /// the output: a server that was left behind may hold it forever. Cancel-safe: may be dropped and called again.
    pub async fn follow(
        &mut self,
        mut write: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<(ExitStatus, bool)> {
        let PipedCommand { child, output } = self;
        let mut buffer = vec![0; 64 << 10];
        let mut take = |read: io::Result<usize>, buffer: &[u8]| {
            let read = read?;
            write(&buffer[..read]).map(|()| read > 0)
        };
        let mut open = true;
        let status = loop {
            tokio::select! {
                status = child.wait() => break status?,
                read = output.read(&mut buffer), if open => open = take(read, &buffer)?,
            }
        };
        let rest = async {
            while open {
                open = take(output.read(&mut buffer).await, &buffer)?;
            }
            Ok(())
        };
        match timeout(DRAIN, rest).await {
            Ok(drained) => drained.map(|()| (status, false)),
            Err(_) => Ok((status, true)),
        }
    }
}

/// Describes the end of a command: `ended with code 1`.
pub fn ended_how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => status.to_string(),
    }
}
