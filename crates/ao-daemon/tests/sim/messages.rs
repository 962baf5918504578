//! Messages, from the request until the agent has read them.

use ao_core::SessionId;
use ao_core::evidence::{Reading, SignalSource};
use ao_core::session::{AgentAbilities, StatusWord};
use ao_testkit::{AgentBehaviour, Fault, FaultPlan, PortCall, SimWorld, SpawnSpec};

use crate::parts::parts;

/// A session whose agent has read its task and sits at its prompt.
fn idle(world: &mut SimWorld) -> SessionId {
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    assert_eq!(world.status(session).0, StatusWord::Idle);
    assert_eq!(world.turns_with("do the work"), 1);
    session
}

fn nothing_waits(world: &SimWorld, session: SessionId) -> bool {
    world.session(session).outbox.is_empty()
}

/// acceptance: M3
#[test]
fn a_message_sent_while_a_dialog_is_open_waits_until_it_closes() {
    let mut world = SimWorld::calm(parts());
    world.default_behaviour(AgentBehaviour { asks: 1000, unanswered: true, ..AgentBehaviour::default() });
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    assert_eq!(world.status(session).0, StatusWord::NeedsInput);
    world.send(session, "hello there").unwrap();
    world.interrupt(session, "and this at once").unwrap();
    world.run_for(1800);
    assert_eq!((world.status(session).0, world.turns_with("hello there")), (StatusWord::NeedsInput, 0));
    assert_eq!(world.notified().len(), 1, "one notice for one dialog: {:?}", world.notified());
    world.behaviour(session, AgentBehaviour::default());
    world.answer_dialog(session);
    world.run_for(60);
    assert_eq!((world.turns_with("hello there"), world.turns_with("and this at once")), (1, 1));
    world.expect_at_rest();
}

/// acceptance: M3
#[test]
fn an_unreported_dialog_is_found_when_a_message_meets_it() {
    let mut world = SimWorld::calm(parts());
    let session = idle(&mut world);
    world.behaviour(
        session,
        AgentBehaviour { asks: 1000, unanswered: true, loses_hooks: 1000, ..AgentBehaviour::default() },
    );
    world.send(session, "ask me something").unwrap();
    world.run_for(60);
    // The end of the turn is found by a look; the dialog is not reported, and the agent counts as idle.
    world.agent_shows(session, SignalSource::Hook, Reading::Idle);
    world.send(session, "hello there").unwrap();
    world.run_for(60);
    assert_eq!((world.status(session).0, world.turns_with("hello there")), (StatusWord::NeedsInput, 0));
    world.run_for(1800);
    assert_eq!(
        (world.status(session).0, world.count("session.delivery_failed")),
        (StatusWord::NeedsInput, 0)
    );
    world.behaviour(session, AgentBehaviour::default());
    world.answer_dialog(session);
    world.run_for(60);
    assert_eq!(world.turns_with("hello there"), 1);
    world.expect_at_rest();
}

/// acceptance: M4
#[test]
fn a_message_sent_after_a_person_typed_waits_until_they_are_done() {
    let mut world = SimWorld::calm(parts());
    let session = idle(&mut world);
    world.human_types(session);
    world.run_for(2);
    world.send(session, "mind the gap").unwrap();
    world.run_for(5);
    assert_eq!(world.turns_with("mind the gap"), 0);
    world.run_for(20);
    assert_eq!(world.turns_with("mind the gap"), 1);
    world.expect_at_rest();
}

/// acceptance: M5
#[test]
fn a_message_into_a_turn_waits_for_its_end_unless_it_is_to_interrupt() {
    let mut world = SimWorld::calm(parts());
    world.default_behaviour(AgentBehaviour { turn_ms: 120_000, ..AgentBehaviour::default() });
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(20);
    assert_eq!(world.status(session).0, StatusWord::Working);
    world.send(session, "first").unwrap();
    world.send(session, "second").unwrap();
    world.run_for(5);
    assert_eq!((world.turns_with("first"), world.turns_with("second")), (0, 0));
    world.interrupt(session, "now").unwrap();
    world.run_for(5);
    assert_eq!(world.turns_with("now"), 1);
    world.run_for(700);
    assert_eq!(world.conversation(session), ["do the work", "now", "first", "second"]);
    world.expect_at_rest();
}

/// acceptance: M6
#[test]
fn a_crash_between_written_and_accepted_neither_loses_nor_repeats_a_message() {
    for lost_proof in [false, true] {
        let mut world = SimWorld::calm(parts());
        let session = idle(&mut world);
        world.lossy_reports(if lost_proof { 1000 } else { 0 });
        world.plan(FaultPlan::These { call: PortCall::Deliver, fault: Fault::CrashAfter, times: 1 });
        world.send(session, "only once").unwrap();
        world.run_for(5);
        world.lossy_reports(0);
        world.run_for(120);
        assert_eq!(world.turns_with("only once"), 1);
        assert!(nothing_waits(&world, session));
        world.expect_at_rest();
    }
}

/// acceptance: M6
#[test]
fn a_first_message_that_goes_with_the_launch_survives_a_crash_in_the_middle_of_it() {
    let abilities = AgentAbilities { prompt_at_launch: true, ..AgentAbilities::default() };
    for fault in [Fault::CrashBefore, Fault::CrashAfter] {
        let mut world = SimWorld::calm(parts());
        world.plan(FaultPlan::These { call: PortCall::Start, fault, times: 1 });
        let session = world.spawn(SpawnSpec { abilities, ..SpawnSpec::default() }).unwrap();
        world.run_for(120);
        assert_eq!((world.turns_with("do the work"), world.living()), (1, 1), "{fault}");
        assert!(nothing_waits(&world, session));
        world.expect_at_rest();
    }
}

/// acceptance: M7
#[test]
fn an_agent_that_was_idle_for_an_hour_takes_a_message_within_five_seconds() {
    let mut world = SimWorld::calm(parts());
    let session = idle(&mut world);
    world.run_for(3600);
    world.send(session, "still there?").unwrap();
    world.run_for(5);
    assert_eq!(world.turns_with("still there?"), 1);
    assert!(nothing_waits(&world, session));
}

/// acceptance: M1
#[test]
fn an_agent_that_swallows_the_first_two_enters_gets_one_turn_on_the_third() {
    let mut world = SimWorld::calm(parts());
    world.default_behaviour(AgentBehaviour { swallows: 2, ..AgentBehaviour::default() });
    world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(120);
    assert_eq!((world.turns_with("do the work"), world.count("session.delivery_retried")), (1, 2));
    world.expect_at_rest();
}

/// acceptance: M2, F4
#[test]
fn a_message_that_is_never_taken_fails_and_a_person_is_notified() {
    let mut world = SimWorld::calm(parts());
    world.default_behaviour(AgentBehaviour { swallows: u8::MAX, ..AgentBehaviour::default() });
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(600);
    assert_eq!(world.count("session.delivery_failed"), 1);
    let failed = world.session(session).outbox.failed;
    assert_eq!(failed[0].text, "do the work");
    assert!(failed[0].why.contains("not accepted"), "{}", failed[0].why);
    assert_eq!(world.notified(), [(format!("{session} delivery 1"), 1)]);
    world.expect_at_rest();
}

#[test]
fn a_request_that_is_repeated_with_its_key_is_one_message() {
    let mut world = SimWorld::calm(parts());
    let session = idle(&mut world);
    for _ in 0..3 {
        world.send_keyed(session, "once by its key", "k1").unwrap();
    }
    world.run_for(60);
    assert_eq!(world.turns_with("once by its key"), 1);
}
