//! Messages, from the moment somebody speaks until the agent has read it.

use ao_core::SessionId;
use ao_core::evidence::{Reading, Source};
use ao_core::session::{AgentAbilities, StatusWord};
use ao_testkit::{Call, Fault, Plan, Spawn, Temper, World};

/// A session whose agent has read its task and sits at its prompt.
fn idle(world: &mut World) -> SessionId {
    let session = world.spawn(Spawn::default()).unwrap();
    world.run_for(60);
    assert_eq!(world.status(session).0, StatusWord::Idle);
    assert_eq!(world.turns_with("do the work"), 1);
    session
}

fn nothing_waits(world: &World, session: SessionId) -> bool {
    world.session(session).outbox.is_empty()
}

/// acceptance: M3
#[test]
fn what_is_sent_while_a_dialog_is_open_waits_until_it_closes() {
    let mut world = World::calm();
    world.usual_temper(Temper { asks: 1000, unanswered: true, ..Temper::default() });
    let session = world.spawn(Spawn::default()).unwrap();
    world.run_for(60);
    assert_eq!(world.status(session).0, StatusWord::NeedsInput);
    world.send(session, "hello there").unwrap();
    world.interrupt(session, "and this at once").unwrap();
    world.run_for(1800);
    assert_eq!((world.status(session).0, world.turns_with("hello there")), (StatusWord::NeedsInput, 0));
    assert_eq!(world.told().len(), 1, "one notice for one dialog: {:?}", world.told());
    world.temper(session, Temper::default());
    world.answer_dialog(session);
    world.run_for(60);
    assert_eq!((world.turns_with("hello there"), world.turns_with("and this at once")), (1, 1));
    world.expect_at_rest();
}

/// acceptance: M3
#[test]
fn a_dialog_that_nobody_told_us_of_is_found_when_a_message_runs_into_it() {
    let mut world = World::calm();
    let session = idle(&mut world);
    world.temper(session, Temper { asks: 1000, unanswered: true, loses_hooks: 1000, ..Temper::default() });
    world.send(session, "ask me something").unwrap();
    world.run_for(60);
    // The end of the turn is found by a look; what the agent asks is not told, and we believe that it is idle.
    world.agent_shows(session, Source::Hook, Reading::Idle);
    world.send(session, "hello there").unwrap();
    world.run_for(60);
    assert_eq!((world.status(session).0, world.turns_with("hello there")), (StatusWord::NeedsInput, 0));
    world.run_for(1800);
    assert_eq!(
        (world.status(session).0, world.count("session.delivery_failed")),
        (StatusWord::NeedsInput, 0)
    );
    world.temper(session, Temper::default());
    world.answer_dialog(session);
    world.run_for(60);
    assert_eq!(world.turns_with("hello there"), 1);
    world.expect_at_rest();
}

/// acceptance: M4
#[test]
fn what_is_sent_after_a_person_typed_waits_until_they_are_done() {
    let mut world = World::calm();
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
    let mut world = World::calm();
    world.usual_temper(Temper { turn_ms: 120_000, ..Temper::default() });
    let session = world.spawn(Spawn::default()).unwrap();
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
        let mut world = World::calm();
        let session = idle(&mut world);
        world.bad_line(if lost_proof { 1000 } else { 0 });
        world.plan(Plan::These { call: Call::Deliver, fault: Fault::CrashAfter, times: 1 });
        world.send(session, "only once").unwrap();
        world.run_for(5);
        world.bad_line(0);
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
        let mut world = World::calm();
        world.plan(Plan::These { call: Call::Start, fault, times: 1 });
        let session = world.spawn(Spawn { abilities, ..Spawn::default() }).unwrap();
        world.run_for(120);
        assert_eq!((world.turns_with("do the work"), world.living()), (1, 1), "{fault}");
        assert!(nothing_waits(&world, session));
        world.expect_at_rest();
    }
}

/// acceptance: M7
#[test]
fn an_agent_that_was_idle_for_an_hour_takes_a_message_within_five_seconds() {
    let mut world = World::calm();
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
    let mut world = World::calm();
    world.usual_temper(Temper { swallows: 2, ..Temper::default() });
    world.spawn(Spawn::default()).unwrap();
    world.run_for(120);
    assert_eq!((world.turns_with("do the work"), world.count("session.delivery_retried")), (1, 2));
    world.expect_at_rest();
}

/// acceptance: M2, F4
#[test]
fn a_message_that_is_never_taken_fails_and_a_person_hears_of_it() {
    let mut world = World::calm();
    world.usual_temper(Temper { swallows: u8::MAX, ..Temper::default() });
    let session = world.spawn(Spawn::default()).unwrap();
    world.run_for(600);
    assert_eq!(world.count("session.delivery_failed"), 1);
    let failed = world.session(session).outbox.failed;
    assert_eq!(failed[0].text, "do the work");
    assert!(failed[0].why.contains("not accepted"), "{}", failed[0].why);
    assert_eq!(world.told(), [(format!("{session} delivery 1"), 1)]);
    world.expect_at_rest();
}

#[test]
fn a_request_that_is_repeated_with_its_key_is_one_message() {
    let mut world = World::calm();
    let session = idle(&mut world);
    for _ in 0..3 {
        world.send_keyed(session, "once by its key", "k1").unwrap();
    }
    world.run_for(60);
    assert_eq!(world.turns_with("once by its key"), 1);
}
