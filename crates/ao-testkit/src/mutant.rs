//! Rules with a bug planted in them.

use ao_core::{Effect, Input, Moment, Refusal, Scope, Stamped, State};
use ao_engine::{Core, Rules};

/// A bug in the rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// None: the rules as they are.
    Sound,
}

impl Rules for Mutant {
    fn step(&self, state: &mut State, moment: &Moment, input: Input) -> Result<Vec<Stamped>, Refusal> {
        Core.step(state, moment, input)
    }

    fn wants(&self, state: &State, scope: &Scope) -> Vec<Effect> {
        Core.wants(state, scope)
    }
}
