//! What comes out of an agent's terminal.

use std::time::Duration;

use ao_ports::{Output, RuntimeError};

use super::runtime::Shared;
use crate::host::files::failed;
use crate::host::heard::{self, Wanted};
use crate::host::{Ending, Place};
use crate::kept;

pub(super) async fn output(
    shared: &Shared,
    place: Place,
    from: u64,
    limit: usize,
    wait: Duration,
) -> Result<Output, RuntimeError> {
    let wanted = Wanted { ear: &shared.ear, place: &place, dir: place.output(), limit, wait };
    heard::wait_for(wanted, || look(&place, from, limit)).await
}

async fn look(place: &Place, from: u64, limit: usize) -> Result<Output, RuntimeError> {
    place.aside(move |place| read(place, from, limit)).await
}

fn read(place: &Place, from: u64, limit: usize) -> Result<Output, RuntimeError> {
    // Asked first. The exit is written down after all that was put out, so what is read afterwards is all of it.
    let has_ended = place.exit()?.is_some() || place.ending()? == Some(Ending::Done);
    let dir = place.output();
    kept::output(&dir, from, limit, has_ended).map_err(|err| failed("read", &dir, &err))
}
