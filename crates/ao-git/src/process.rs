//! One process from its start to its end, which comes within a limit: whoever waits for git may hold locks that everybody
//! else waits for.

use std::io;
use std::process::{Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;

/// How long a process that was told to end may clear up after itself.
const GRACE: Duration = Duration::from_secs(5);

/// A process to be run.
pub(crate) struct Call<'a> {
    pub(crate) command: Command,
    pub(crate) input: Option<&'a str>,
    /// So many bytes of its output are wanted. It is ended once they are there.
    pub(crate) most: usize,
    pub(crate) limit: Duration,
    /// Whether it is ended if nobody waits for it any more.
    pub(crate) ends_when_dropped: bool,
}

/// Why there is no output.
#[derive(Debug)]
pub(crate) enum Fault {
    NotRun(io::Error),
    TooSlow,
}

impl Call<'_> {
    /// Runs it in a group of its own, which is ended as a whole if it takes too long: git's helpers for the network outlive
    /// it otherwise.
    pub(crate) async fn run(self) -> Result<Output, Fault> {
        let Call { mut command, input, most, limit, ends_when_dropped } = self;
        command
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        let mut child = command.spawn().map_err(Fault::NotRun)?;
        let mut group = Group { leader: child.id(), ends_when_dropped };
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdout), Some(mut stderr)) = (stdout, stderr) else {
            return Err(Fault::NotRun(io::Error::other("its output is not here")));
        };
        let (mut bytes, mut told) = (vec![], vec![]);
        // At the same time as what it says is read: it may say more than fits into a pipe before it has read everything.
        let writes = async {
            if let (Some(input), Some(mut stdin)) = (input, stdin) {
                // What git did not want to read shows in how it ends.
                stdin.write_all(input.as_bytes()).await.ok();
            }
        };
        let reads = async {
            stdout.take(most as u64).read_to_end(&mut bytes).await?;
            if bytes.len() >= most {
                // It may be over, with exactly as much as was wanted.
                child.start_kill().ok();
            }
            child.wait().await
        };
        let all = async { tokio::join!(reads, writes, stderr.read_to_end(&mut told)) };
        let done = timeout(limit, all).await;
        let Ok((status, (), _)) = done else {
            // By a signal that git can clear up after: killed, it would leave its locks behind.
            group.signal(Signal::TERM);
            if timeout(GRACE, child.wait()).await.is_err() {
                group.signal(Signal::KILL);
            }
            group.ends_when_dropped = false;
            return Err(Fault::TooSlow);
        };
        group.ends_when_dropped = false;
        Ok(Output { status: status.map_err(Fault::NotRun)?, stdout: bytes, stderr: told })
    }
}

/// A process group, by the process that it began with.
struct Group {
    leader: Option<u32>,
    ends_when_dropped: bool,
}

impl Group {
    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.leader.and_then(|id| Pid::from_raw(id.cast_signed())) {
            // It may have ended just now, which is what is wanted.
            kill_process_group(pid, signal).ok();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if self.ends_when_dropped {
            self.signal(Signal::TERM);
        }
    }
}
