//! What follows when an errand has been run: whoever sent for it hears of it.

use std::collections::VecDeque;

use crate::ErrandId;
use crate::errand::ErrandEvent;
use crate::input::Input;
use crate::state::State;

pub(super) fn follow(_state: &State, _id: ErrandId, event: &ErrandEvent, _then: &mut VecDeque<Input>) {
    let (ErrandEvent::Done { behalf, .. } | ErrandEvent::Failed { behalf, .. }) = event else { return };
    let _ = behalf;
}
