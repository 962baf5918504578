//! The seam between the loop and the rules of the core.

use ao_core::{Effect, Input, Moment, Refusal, Scope, StampedEvent, State};

/// The meaning of inputs and the wants of a state. Production runs [`CoreRules`], with secrets masked in its inputs; tests
/// substitute broken rules to show that the simulation detects them.
pub trait EngineRules: Send + Sync {
    /// Applies one input with all its consequences. A refused input changes nothing.
    fn step(&self, state: &mut State, moment: &Moment, input: Input) -> Result<Vec<StampedEvent>, Refusal>;

    /// Returns the effects that a scope wants in this state.
    fn wants(&self, state: &State, scope: &Scope) -> Vec<Effect>;
}

/// The rules of `ao-core`.
#[derive(Debug, Clone, Copy, Default)]
pub struct CoreRules;

impl EngineRules for CoreRules {
    fn step(&self, state: &mut State, moment: &Moment, input: Input) -> Result<Vec<StampedEvent>, Refusal> {
        ao_core::step(state, moment, input)
    }

    fn wants(&self, state: &State, scope: &Scope) -> Vec<Effect> {
        ao_core::wants(state, scope)
    }
}
