//! Carries one input through to all its consequences.
//! ```text
//!  input ─► decide ─► events ─► evolve ─► follow ─┐
//!             ▲                                   │
//!             └─────────── more inputs ◄──────────┘   until nothing more follows
//! ```
//!
//! All events of one step are stored together or not at all, so no crash can fall between a cause and its consequence.

use std::collections::VecDeque;

use crate::budget::BudgetInput;
use crate::decide::decide;
use crate::event::StampedEvent;
use crate::follow::follow;
use crate::incident::{IncidentInput, Subject};
use crate::input::Input;
use crate::job::JobInput;
use crate::notice::NoticeInput;
use crate::project::ProjectInput;
use crate::queue::QueueInput;
use crate::refusal::Refusal;
use crate::session::SessionInput;
use crate::state::{State, StateTimer};
use crate::{Moment, mix};

/// The number of timers taken in one step, so that a step stays short.
const DUE_AT_ONCE: usize = 128;
/// The number of consequences that indicates a loop in our own rules.
const CONSEQUENCES: usize = 10_000_000;

/// Applies one input with all its consequences, and returns the events. A refused input changes nothing.
pub fn step(state: &mut State, moment: &Moment, input: Input) -> Result<Vec<StampedEvent>, Refusal> {
    let mut happened = Vec::new();
    let mut inputs = VecDeque::new();
    match input {
        Input::Tick => inputs.extend(state.due(moment.at, DUE_AT_ONCE).into_iter().flat_map(due)),
        input => take(state, moment, input, &mut inputs, &mut happened)?,
    }
    let mut taken = 0;
    // Slots are given out once, when everything else is settled. After each of a thousand releases it would walk a
    // thousand times through all waiting sessions.
    let mut schedule = false;
    while let Some(input) =
        inputs.pop_front().or_else(|| std::mem::take(&mut schedule).then_some(Input::Schedule))
    {
        if input == Input::Schedule && !inputs.is_empty() {
            schedule = true;
            continue;
        }
        taken += 1;
        assert!(taken < CONSEQUENCES, "the consequences of one input do not end");
        let moment = Moment { at: moment.at, seed: mix(moment.seed, taken as u64) };
        // A refused consequence has no effect: the agent is gone, or the pull request is queued already.
        let _refused = take(state, &moment, input, &mut inputs, &mut happened);
    }
    Ok(happened)
}

fn take(
    state: &mut State,
    moment: &Moment,
    input: Input,
    inputs: &mut VecDeque<Input>,
    happened: &mut Vec<StampedEvent>,
) -> Result<(), Refusal> {
    let from = happened.len();
    for event in decide(state, moment, input)? {
        let stamped = StampedEvent { at: moment.at, event };
        state.evolve(&stamped);
        happened.push(stamped);
    }
    for stamped in &happened[from..] {
        follow(state, stamped, inputs);
    }
    Ok(())
}

fn due(timer: StateTimer) -> Vec<Input> {
    match timer {
        StateTimer::Session(session) => vec![
            Input::Session { session, input: SessionInput::Due },
            Input::Review(Subject::Session(session)),
        ],
        StateTimer::Incident(key) => vec![Input::Incident { key, input: IncidentInput::Due }],
        StateTimer::Notice(notice) => vec![Input::Notice { notice, input: NoticeInput::Due }],
        StateTimer::Job(job) => vec![Input::Job { job, input: JobInput::Due }],
        StateTimer::Budget(budget) => vec![Input::Budget { budget, input: BudgetInput::Due }],
        StateTimer::Policy(project) => vec![Input::Project { project, input: ProjectInput::PolicyDue }],
        StateTimer::Queue(project) => vec![Input::Queue { project, input: QueueInput::Look {} }],
        StateTimer::Account(account) => vec![Input::AccountDue { account }],
    }
}
