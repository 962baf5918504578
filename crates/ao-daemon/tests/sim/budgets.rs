//! Budgets and what they stop.

use ao_core::Refusal;
use ao_core::budget::{SpendLimits, dollars};
use ao_core::session::{SessionInput, StatusWord};
use ao_testkit::{AgentBehaviour, SimWorld, SpawnSpec};

use crate::parts::parts;

/// acceptance: B2
#[test]
fn a_budget_that_is_crossed_in_a_turn_allows_no_further_one_until_it_is_raised() {
    let mut world = SimWorld::calm(parts());
    world.default_behaviour(AgentBehaviour { cost: Some(600_000), ..AgentBehaviour::default() });
    let limits = SpendLimits { micros: Some(1_000_000), ..SpendLimits::default() };
    let session = world.spawn(SpawnSpec { limits, ..SpawnSpec::default() }).unwrap();
    world.run_for(60);
    world.send(session, "second turn").unwrap();
    world.run_for(60);
    let (word, reason) = world.status(session);
    assert_eq!((word, reason.as_str()), (StatusWord::Capped, "its budget is spent: cost $1.20 of $1.00"));
    world.send(session, "third turn").unwrap();
    world.crash();
    world.run_for(600);
    assert_eq!(world.turns_with("third turn"), 0);
    assert_eq!(world.notified().len(), 1, "{:?}", world.notified());
    let same = world.send_input(session, SessionInput::Resume { limits: None });
    assert!(matches!(same, Err(Refusal::Budget { .. })), "{same:?}");
    let more = SpendLimits { micros: Some(5_000_000), ..SpendLimits::default() };
    world.send_input(session, SessionInput::Resume { limits: Some(more) }).unwrap();
    world.run_for(60);
    assert_eq!(world.turns_with("third turn"), 1);
    // Idle without a pull request for so long is a problem of its own, which reaches a person.
    world.run_for(7200);
    world.expect_at_rest();
}

/// acceptance: B3
#[test]
fn without_cost_data_turns_are_counted_and_the_cost_is_unknown() {
    let mut world = SimWorld::calm(parts());
    let limits = SpendLimits { micros: Some(1), turns: Some(2), ..SpendLimits::default() };
    let session = world.spawn(SpawnSpec { limits, ..SpawnSpec::default() }).unwrap();
    world.run_for(60);
    assert_eq!(dollars(world.session(session).usage.spend.micros), "unknown");
    assert_eq!(world.status(session).0, StatusWord::Idle);
    world.send(session, "second turn").unwrap();
    world.run_for(60);
    assert_eq!(world.status(session).0, StatusWord::Capped);
    world.expect_at_rest();
}
