//! What the daemon hears from each shim without asking: an end, typing, and that there is output.
//!
//! When a shim hangs up, what became of its program is found out from what is written down and from the kernel: it has
//! ended, or it lives on without its shim and is waited for, or it cannot be told.

use std::io;
use std::sync::Arc;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{mpsc, watch};

use super::line::Line;
use super::processes::Shared;
use super::protocol::{Ask, Say};
use crate::host::{Exit, Place, wait};

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

async fn hold(
    shared: Arc<Shared>,
    place: Place,
    told: watch::Sender<u64>,
    mut asked: UnboundedReceiver<u64>,
) {
    let heard = listen(&shared, &place, &told, &mut asked).await;
    let exit = match heard {
        Ok(Some(exit)) => Ok(Some(exit)),
        // It has hung up, or there was nobody.
        Ok(None) | Err(_) => find_out(&shared, &place).await,
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

/// Listens until the end, `None` if the shim hangs up before that.
async fn listen(
    shared: &Shared,
    place: &Place,
    told: &watch::Sender<u64>,
    asked: &mut UnboundedReceiver<u64>,
) -> io::Result<Option<Exit>> {
    let mut line = Line::to(place.dir()).await?;
    line.ask(&Ask::Subscribe, &[]).await?;
    loop {
        let heard = tokio::select! {
            heard = line.hear() => heard?,
            Some(offset) = asked.recv() => {
                line.ask(&Ask::Beyond { offset }, &[]).await?;
                continue;
            }
        };
        match heard {
            None => return Ok(None),
            Some((Say::Here { exit: Some(exit), .. } | Say::Exited { exit }, _)) => return Ok(Some(exit)),
            Some((Say::Offset { offset }, _)) => told.send_modify(|known| *known = offset.max(*known)),
            Some((Say::Typed { at }, _)) => shared.reports.typed(place.key, at).await,
            Some(_) => {}
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
        tracing::warn!(session = %place.key.0, "a process has lost its shim; it is waited for, but no longer heard");
        wait::gone(pidfd).await?;
    }
    if let Some(exit) = written()? {
        return Ok(Some(exit));
    }
    let exit = Exit::unseen(shared.clock.now());
    place.keep_exit(exit).map_err(io::Error::other)?;
    Ok(Some(exit))
}
