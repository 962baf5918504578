//! The seam between the loop and what things mean.

use ao_core::{Effect, Input, Moment, Refusal, Scope, Stamped, State};

/// What inputs mean and what the state wants. There is one true implementation, [`Core`]; tests put a broken one in its
/// place to see whether anybody would notice.
pub trait Rules: Send + Sync {
    /// Carries one input through to everything that follows from it. A refused input changes nothing.
    fn step(&self, state: &mut State, moment: &Moment, input: Input) -> Result<Vec<Stamped>, Refusal>;

    /// The effects that a scope wants in this state.
    fn wants(&self, state: &State, scope: &Scope) -> Vec<Effect>;
}

/// The rules of `ao-core`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Core;

impl Rules for Core {
    fn step(&self, state: &mut State, moment: &Moment, input: Input) -> Result<Vec<Stamped>, Refusal> {
        ao_core::step(state, moment, input)
    }

    fn wants(&self, state: &State, scope: &Scope) -> Vec<Effect> {
        ao_core::wants(state, scope)
    }
}
