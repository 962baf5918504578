//! Ending an attempt, all of it, for good.

use std::sync::Arc;

use ao_ports::{EndOrder, RuntimeError};

use super::place::Ending;
use super::processes::Shared;
use crate::host;

pub(super) async fn end(shared: &Arc<Shared>, order: &EndOrder) -> Result<(), RuntimeError> {
    let key = (order.session, order.attempt);
    let _turn = shared.turn(key).await;
    let place = shared.place(key);
    if place.ending()? == Some(Ending::Done) {
        return Ok(());
    }
    // First of all, so that a start that comes late finds it.
    place.make()?;
    place.keep_ending(Ending::Wanted)?;
    host::end::all(key, place.record()?.as_ref(), shared.options.grace).await?;
    shared.samples.lock().expect("nobody panics while counting").remove(&key);
    shared.written.lock().expect("nobody panics while counting").remove(&key);
    place.keep_ending(Ending::Done)
}
