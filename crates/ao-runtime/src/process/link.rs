//! What the daemon hears from each shim without asking: an end, typing, and that there is output.
//!
//! A line that fails is laid again while the shim lives. When there is no shim, what became of its program is found out from what is written down and from the kernel: it has
//! ended, or it lives on without its shim and is waited for, or it cannot be told.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{mpsc, watch};

use super::line::Line;
use super::processes::Shared;
use super::protocol::{Ask, Say};
use crate::host::{Exit, Place, wait};

/// How long to wait before a shim that lives is called again: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(5));

/// The daemon's end of it. While there is one, the process has not ended, as far as anybody knows.
#[derive(Clone)]
pub(super) struct Link {
    /// How far the output was when the shim last told. Closed at the end.
    pub(super) offset: watch::Receiver<u64>,
    /// By which the shim is asked to tell when there is output behind an offset. Without bound, as each who waits for
    /// output asks once.
    beyond: UnboundedSender<u64>,
}

impl Link {
    /// Wants to be told when there is output behind this.
    pub(super) fn tell_beyond(&self, offset: u64) {
        // Fails when the link has ended, which is told too.
        let _ = self.beyond.send(offset);
    }
}

/// A link, and what keeps it up until the process has ended.
pub(super) fn link(shared: Arc<Shared>, place: Place) -> (Link, impl Future<Output = ()> + Send + 'static) {
    let (told, offset) = watch::channel(0);
    let (beyond, asked) = mpsc::unbounded_channel();
    (Link { offset, beyond }, hold(shared, place, told, asked))
}

async fn hold(shared: Arc<Shared>, place: Place, told: watch::Sender<u64>, asked: UnboundedReceiver<u64>) {
    let mut ear = Ear { shared: &shared, place: &place, told: &told, asked, beyond: None, pause: PAUSE.0 };
    let exit = match ear.listen_until_the_end().await {
        Some(exit) => Ok(Some(exit)),
        None => find_out(&shared, &place).await,
    };
    let exit = exit.unwrap_or_else(|err| {
        tracing::warn!(%err, session = %place.key.0, "cannot tell what became of a process");
        None
    });
    shared.links.lock().expect("nobody panics while counting").remove(&place.key);
    if let Some(exit) = exit {
        shared.reports.exited(place.key, exit.at, exit.code).await;
    }
    // Only now, so that those who wait find the link gone and the end written down.
    drop(told);
}

struct Ear<'a> {
    shared: &'a Shared,
    place: &'a Place,
    told: &'a watch::Sender<u64>,
    asked: UnboundedReceiver<u64>,
    /// What the shim was last asked to tell of and has not told yet. Another line has to ask it again.
    beyond: Option<u64>,
    /// How long the next pause is.
    pause: Duration,
}

impl Ear<'_> {
    /// Listens for as long as there is a shim, also if the line fails: we may have no descriptor left just now, or a shim
    /// may have hung up on one who was too slow. `None` if there is no shim.
    async fn listen_until_the_end(&mut self) -> Option<Exit> {
        loop {
            let failed = match self.listen().await {
                Ok(Some(exit)) => return Some(exit),
                Ok(None) => None,
                Err(err) => Some(err),
            };
            if let Ok(Some(exit)) = self.place.exit() {
                return Some(exit);
            }
            let pause = tokio::time::sleep(self.pause);
            match self.place.holder().map(|holder| holder.map(|holder| holder.unless_ended())) {
                Ok(None | Some(Ok(None))) => return None,
                Ok(Some(Ok(Some(shim)))) => {
                    // If it goes meanwhile, there is nothing to wait for.
                    tokio::select! {
                        _ = wait::gone(shim) => {}
                        () = pause => {}
                    }
                }
                // Without descriptors this cannot be told either.
                Ok(Some(Err(_))) | Err(_) => pause.await,
            }
            let why = failed.map_or_else(|| "it hung up".to_owned(), |err| err.to_string());
            tracing::debug!(session = %self.place.key.0, %why, "a shim that lives is called again");
            self.pause = (self.pause * 2).min(PAUSE.1);
        }
    }

    /// Listens until the end, `None` if the shim hangs up before that.
    async fn listen(&mut self) -> io::Result<Option<Exit>> {
        let mut line = Line::to(self.place.dir()).await?;
        line.ask(&Ask::Subscribe, &[]).await?;
        if let Some(offset) = self.beyond {
            line.ask(&Ask::Beyond { offset }, &[]).await?;
        }
        loop {
            let heard = tokio::select! {
                heard = line.hear() => heard?,
                Some(offset) = self.asked.recv() => {
                    self.beyond = Some(self.beyond.map_or(offset, |before| before.min(offset)));
                    line.ask(&Ask::Beyond { offset }, &[]).await?;
                    continue;
                }
            };
            match heard {
                None => return Ok(None),
                Some((Say::Here { exit: Some(exit), .. } | Say::Exited { exit }, _)) => {
                    return Ok(Some(exit));
                }
                Some((Say::Here { .. }, _)) => self.pause = PAUSE.0,
                Some((Say::Offset { offset }, _)) => {
                    self.beyond = self.beyond.filter(|beyond| *beyond >= offset);
                    self.told.send_modify(|known| *known = offset.max(*known));
                }
                Some((Say::Typed { at }, _)) => self.shared.reports.typed(self.place.key, at).await,
                Some(_) => {}
            }
        }
    }
}

/// What became of a program whose shim is silent. Waits for its end, if it lives on. `None` if that cannot be told.
async fn find_out(shared: &Shared, place: &Place) -> io::Result<Option<Exit>> {
    let written = || place.exit().map_err(io::Error::other);
    if let Some(exit) = written()? {
        return Ok(Some(exit));
    }
    let Some(record) = place.record().map_err(io::Error::other)? else { return Ok(None) };
    if let Some(pidfd) = record.unless_ended()? {
        tracing::warn!(session = %place.key.0, "a process has lost its shim and is no longer heard");
        shared.reports.unheld(place.key, shared.clock.now()).await;
        wait::gone(pidfd).await?;
    }
    if let Some(exit) = written()? {
        return Ok(Some(exit));
    }
    let exit = Exit::unseen(shared.clock.now());
    place.keep_exit(exit).map_err(io::Error::other)?;
    Ok(Some(exit))
}
