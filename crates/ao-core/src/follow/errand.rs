//! What follows when an errand has been run: whoever sent for it hears of it.

use std::collections::VecDeque;

use super::hooks;
use crate::ErrandId;
use crate::errand::ErrandEvent;
use crate::input::Input;
use crate::state::State;

pub(super) fn follow(state: &State, _id: ErrandId, event: &ErrandEvent, then: &mut VecDeque<Input>) {
    let (ErrandEvent::Done { behalf, .. } | ErrandEvent::Failed { behalf, .. }) = event else { return };
    hooks::answered(state, behalf, event, then);
}
