//! Runs one process to its end within a time limit: a caller that waits for git may hold locks that others wait for.

use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

/// Time that a process gets to clean up after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

/// A process to be run.
pub(crate) struct GitCall<'a> {
    pub(crate) command: Command,
    pub(crate) input: Option<&'a [u8]>,
    /// Bytes of output to read. The process is killed once they are there.
    pub(crate) most: usize,
    pub(crate) limit: Duration,
    /// True if the process is ended when the future is dropped.
    pub(crate) ends_when_dropped: bool,
}

/// The reason why there is no output.
#[derive(Debug)]
pub(crate) enum CallFault {
    NotRun(io::Error),
    TooSlow,
}

impl GitCall<'_> {
    /// Runs the process in its own group, which is ended as a whole if it takes too long: git's network helpers would
    /// outlive it otherwise.
    pub(crate) async fn run(self) -> Result<Output, CallFault> {
        let GitCall { mut command, input, most, limit, ends_when_dropped } = self;
        command
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn().map_err(CallFault::NotRun)?;
        let mut group = ProcessGroup { leader: child.id(), ends_when_dropped };
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdout), Some(mut stderr)) = (stdout, stderr) else {
            return Err(CallFault::NotRun(io::Error::other("its output is not here")));
        };
        let (mut bytes, mut errors) = (vec![], vec![]);
        // Concurrently with reading: git may print more than fits into a pipe before it has read all its input.
        let writes = async {
            if let (Some(input), Some(mut stdin)) = (input, stdin) {
                // If git does not read all of it, its exit status shows why.
                stdin.write_all(input).await.ok();
            }
        };
        let reads = async {
            stdout.take(most as u64).read_to_end(&mut bytes).await?;
            if bytes.len() >= most {
                // It may have ended already, with exactly that much output.
                child.start_kill().ok();
            }
            child.wait().await
        };
        let all = async { tokio::join!(reads, writes, stderr.read_to_end(&mut errors)) };
        let done = timeout(limit, all).await;
        let Ok((status, (), _)) = done else {
            // With a signal that lets git clean up: killed, it would leave its locks behind.
            group.signal(Signal::TERM);
            if timeout(GRACE, child.wait()).await.is_err() {
                group.signal(Signal::KILL);
            }
            group.ends_when_dropped = false;
            return Err(CallFault::TooSlow);
        };
        group.ends_when_dropped = false;
        Ok(Output { status: status.map_err(CallFault::NotRun)?, stdout: bytes, stderr: errors })
    }
}

/// A process group, by its leader.
struct ProcessGroup {
    leader: Option<u32>,
    ends_when_dropped: bool,
}

impl ProcessGroup {
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.leader.and_then(|id| Pid::from_raw(id.cast_signed())) {
            // It may have ended just now, which is fine.
            kill_process_group(pid, signal).ok();
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if self.ends_when_dropped {
            self.signal(Signal::TERM);
        }
    }
}
