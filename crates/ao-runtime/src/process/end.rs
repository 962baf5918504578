//! Ending an attempt, all of it, for good.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ao_ports::{EndOrder, RuntimeError};
use rustix::fs::{CWD, FlockOperation, Mode, OFlags, flock, openat};
use rustix::process::{Signal, pidfd_send_signal};

use super::line::Line;
use super::processes::Shared;
use super::protocol::{Ask, Say};
use crate::host::files::failed;
use crate::host::{self, Ending, Exit, Place, wait};

/// How long a shim may take beyond the grace. It kills for about ten seconds before it gives up.
const KILLING: Duration = Duration::from_secs(15);
/// How long a shim may take to go when there is nothing left.
const GOING: Duration = Duration::from_secs(3);

pub(super) async fn end(shared: &Arc<Shared>, order: &EndOrder) -> Result<(), RuntimeError> {
    let key = (order.session, order.attempt);
    let _turn = shared.turns.take(key).await;
    let place = shared.place(key);
    // What cannot be read keeps nobody from ending it.
    if place.readable(place.ending()) == Some(Ending::Done) {
        return Ok(());
    }
    // First of all, so that a start that comes late finds it.
    place.make()?;
    place.keep_ending(Ending::Wanted)?;
    if place.begun().unwrap_or(true) {
        // A start that has not found it comes to its end first.
        wait_for_a_start(&place).await?;
        end_all(shared, &place).await?;
    }
    shared.samples.forget(key);
    shared.options.families.remove_agent(key);
    place.aside(|place| place.keep_ending(Ending::Done)).await?;
    shared.sweep();
    Ok(())
}

async fn wait_for_a_start(place: &Place) -> Result<(), RuntimeError> {
    let path = place.start_lock();
    let waited = tokio::task::spawn_blocking(move || {
        let file =
            openat(CWD, path, OFlags::CREATE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR)?;
        flock(file, FlockOperation::LockExclusive)
    });
    // A start that hangs is ended with all the rest.
    let Ok(waited) = tokio::time::timeout(KILLING, waited).await else { return Ok(()) };
    let waited = waited.map_err(|err| RuntimeError::Failed(err.to_string()))?;
    waited.map_err(|err| failed("wait for", &place.start_lock(), &err.into()))
}

async fn end_all(shared: &Shared, place: &Place) -> Result<(), RuntimeError> {
    let grace = shared.options.grace;
    match tokio::time::timeout(grace + KILLING, ask(place, grace)).await {
        // Nothing is left below the shim. What came out from under it is found by its environment, by a look that all who
        // end at the same time share. Not by its group: that is empty, and its number may be another's by now.
        Ok(Ok(Say::Done)) => return host::end::all(place.key, None, grace).await,
        Ok(Ok(Say::Failed { why })) => return Err(RuntimeError::Failed(why)),
        // Nobody there, because there was nothing left.
        _ if place.is_left().unwrap_or(false) => return host::end::all(place.key, None, grace).await,
        Ok(_) | Err(_) => {}
    }
    let record = place.readable(place.record());
    host::end::all(place.key, record.as_ref(), grace).await?;
    if let Some(shim) = place.readable(place.holder()).and_then(|holder| holder.pidfd()) {
        // It has nothing left to hold and goes by itself, unless something is wrong with it.
        let killed = shim.try_clone();
        if tokio::time::timeout(GOING, wait::gone(shim)).await.is_err()
            && let Ok(shim) = killed
        {
            let _ = pidfd_send_signal(&shim, Signal::KILL);
        }
    }
    if record.is_some() && place.readable(place.exit()).is_none() {
        place.keep_exit(Exit::unseen(shared.clock.now()))?;
    }
    Ok(())
}

/// Lets the shim end everything, and waits until it has gone too.
async fn ask(place: &Place, grace: Duration) -> io::Result<Say> {
    let mut line = Line::to(place.dir()).await?;
    line.ask(&Ask::End { grace_ms: u64::try_from(grace.as_millis()).unwrap_or(u64::MAX) }, &[]).await?;
    let Some((said, _)) = line.hear().await? else { return Err(io::ErrorKind::UnexpectedEof.into()) };
    if said == Say::Done {
        let _ = tokio::time::timeout(GOING, line.hear()).await;
    }
    Ok(said)
}
