//! The daemon's link to each shim: the exit, typing, and new output arrive here.
//!
//! A failed connection is reopened while the shim is alive. Without a shim, the fate of its program is determined from
//! the files and the kernel: it has ended, or it runs on without its shim and is waited for, or it is unknown.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{mpsc, watch};

use super::connection::ShimConnection;
use super::processes::SharedProcesses;
use super::protocol::{ShimMessage, ShimRequest};
use crate::host::{AttemptDir, ProgramExit, wait};

/// Pause before a living shim is contacted again: the first and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(5));

/// The daemon's end of the link. While it exists, the process has not ended as far as we know.
#[derive(Clone)]
pub(super) struct ShimLink {
    /// The output offset that the shim last reported. Closed at the end.
    pub(super) offset: watch::Receiver<u64>,
    /// Asks the shim to report output behind an offset. Unbounded, since each waiting caller asks once.
    beyond: UnboundedSender<u64>,
}

impl ShimLink {
    /// Requests a notification when there is output behind this offset.
    pub(super) fn notify_beyond(&self, offset: u64) {
        // Fails when the link has ended, which callers notice too.
        let _ = self.beyond.send(offset);
    }
}

/// Creates a link, and the future that maintains it until the process has ended.
pub(super) fn link(
    shared: Arc<SharedProcesses>,
    attempt_dir: AttemptDir,
) -> (ShimLink, impl Future<Output = ()> + Send + 'static) {
    let (sender, offset) = watch::channel(0);
    let (beyond, asked) = mpsc::unbounded_channel();
    (ShimLink { offset, beyond }, hold(shared, attempt_dir, sender, asked))
}

async fn hold(
    shared: Arc<SharedProcesses>,
    attempt_dir: AttemptDir,
    sender: watch::Sender<u64>,
    asked: UnboundedReceiver<u64>,
) {
    let mut task = LinkTask {
        shared: &shared,
        attempt_dir: &attempt_dir,
        sender: &sender,
        asked,
        beyond: None,
        pause: PAUSE.0,
    };
    let exit = match task.listen_until_the_end().await {
        Some(exit) => Ok(Some(exit)),
        None => find_out(&shared, &attempt_dir).await,
    };
    let exit = exit.unwrap_or_else(|err| {
        tracing::warn!(%err, session = %attempt_dir.key.0, "cannot tell what became of a process");
        None
    });
    shared.links.lock().expect("no thread panics while counting").remove(&attempt_dir.key);
    if let Some(exit) = exit {
        shared.host.reports.exited(attempt_dir.key, exit.at, exit.code).await;
    }
    // Dropped last, so that waiting callers find the link gone and the exit recorded.
    drop(sender);
}

struct LinkTask<'a> {
    shared: &'a SharedProcesses,
    attempt_dir: &'a AttemptDir,
    sender: &'a watch::Sender<u64>,
    asked: UnboundedReceiver<u64>,
    /// The offset that the shim was last asked for and has not reported yet. A new connection has to ask again.
    beyond: Option<u64>,
    /// The next pause.
    pause: Duration,
}

impl LinkTask<'_> {
    /// Listens as long as there is a shim, even if the connection fails: we may be out of descriptors, or the shim may
    /// have dropped a slow reader. `None` if there is no shim.
    async fn listen_until_the_end(&mut self) -> Option<ProgramExit> {
        loop {
            let failed = match self.listen().await {
                Ok(Some(exit)) => return Some(exit),
                Ok(None) => None,
                Err(err) => Some(err),
            };
            if let Ok(Some(exit)) = self.attempt_dir.exit() {
                return Some(exit);
            }
            let pause = tokio::time::sleep(self.pause);
            match self.attempt_dir.holder().map(|holder| holder.map(|holder| holder.unless_ended())) {
                Ok(None | Some(Ok(None))) => return None,
                Ok(Some(Ok(Some(shim)))) => {
                    // If it exits meanwhile, there is nothing to wait for.
                    tokio::select! {
                        _ = wait::gone(shim) => {}
                        () = pause => {}
                    }
                }
                // Without descriptors this cannot be determined either.
                Ok(Some(Err(_))) | Err(_) => pause.await,
            }
            let why = failed.map_or_else(|| "it hung up".to_owned(), |err| err.to_string());
            tracing::debug!(session = %self.attempt_dir.key.0, %why, "a shim that lives is called again");
            self.pause = (self.pause * 2).min(PAUSE.1);
        }
    }

    /// Listens until the exit. Returns `None` if the shim closes the connection before.
    async fn listen(&mut self) -> io::Result<Option<ProgramExit>> {
        let mut line = ShimConnection::to(self.attempt_dir.dir()).await?;
        line.ask(&ShimRequest::Subscribe, &[]).await?;
        if let Some(offset) = self.beyond {
            line.ask(&ShimRequest::Beyond { offset }, &[]).await?;
        }
        loop {
            let heard = tokio::select! {
                heard = line.hear() => heard?,
                Some(offset) = self.asked.recv() => {
                    self.beyond = Some(self.beyond.map_or(offset, |before| before.min(offset)));
                    line.ask(&ShimRequest::Beyond { offset }, &[]).await?;
                    continue;
                }
            };
            match heard {
                None => return Ok(None),
                Some((ShimMessage::Here { exit: Some(exit), .. } | ShimMessage::Exited { exit }, _)) => {
                    return Ok(Some(exit));
                }
                Some((ShimMessage::Here { .. }, _)) => self.pause = PAUSE.0,
                Some((ShimMessage::Offset { offset }, _)) => {
                    self.beyond = self.beyond.filter(|beyond| *beyond >= offset);
                    self.sender.send_modify(|known| *known = offset.max(*known));
                }
                Some((ShimMessage::Typed { at }, _)) => {
                    self.shared.host.reports.typed(self.attempt_dir.key, at).await;
                }
                Some(_) => {}
            }
        }
    }
}

/// Determines the fate of a program whose shim is gone. Waits for its end if it is alive. `None` if that is impossible.
async fn find_out(shared: &SharedProcesses, attempt_dir: &AttemptDir) -> io::Result<Option<ProgramExit>> {
    let written = || attempt_dir.exit().map_err(io::Error::other);
    if let Some(exit) = written()? {
        return Ok(Some(exit));
    }
    let Some(record) = attempt_dir.record().map_err(io::Error::other)? else { return Ok(None) };
    if let Some(pidfd) = record.unless_ended()? {
        tracing::warn!(session = %attempt_dir.key.0, "a process has lost its shim and is no longer heard");
        shared.host.reports.unheld(attempt_dir.key, shared.clock.now()).await;
        wait::gone(pidfd).await?;
    }
    if let Some(exit) = written()? {
        return Ok(Some(exit));
    }
    let exit = ProgramExit::unseen(shared.clock.now());
    attempt_dir.keep_exit(exit).map_err(io::Error::other)?;
    Ok(Some(exit))
}
