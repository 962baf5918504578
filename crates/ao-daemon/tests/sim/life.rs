//! Sessions, slots, and the daemon's own deaths.

use std::collections::BTreeSet;

use ao_core::session::{AgentAbilities, SessionInput, StatusWord};
use ao_core::{DaemonSettings, Input, Refusal};
use ao_testkit::{AgentBehaviour, SimWorld, SpawnSpec};

use crate::parts::parts;

/// acceptance: L3
#[test]
fn twenty_concurrent_spawns_of_one_issue_give_one_session_and_the_refusals_name_it() {
    let mut world = SimWorld::calm(parts());
    let answers = world.spawn_at_once(20, &SpawnSpec { task: Some("7"), ..SpawnSpec::default() });
    let made: BTreeSet<_> = answers.iter().flatten().copied().collect();
    assert_eq!(made.len(), 1);
    let the_one = made.into_iter().next().unwrap();
    let refused = answers
        .iter()
        .filter(|answer| matches!(answer, Err(Refusal::TaskTaken { session, .. }) if *session == the_one));
    assert_eq!(refused.count(), 19);
}

/// acceptance: L6
#[test]
fn with_a_cap_of_four_twenty_sessions_take_turns_and_the_queue_survives_a_restart() {
    let mut world = SimWorld::with(parts(), DaemonSettings { max_live: 4, ..DaemonSettings::default() });
    for _ in 0..20 {
        world.spawn(SpawnSpec::default()).unwrap();
    }
    world.run_for(60);
    let waiting = |world: &SimWorld| {
        let now = world.now();
        world.state(|state| {
            let queued =
                state.sessions.values().filter(|session| session.status(now).word == StatusWord::Queued);
            queued.count()
        })
    };
    assert_eq!((world.living(), waiting(&world)), (4, 16));
    world.crash();
    world.run_for(60);
    assert_eq!((world.living(), waiting(&world)), (4, 16));
    // Each that ends makes room for the next one; the fakes see to it that there is never a fifth.
    while waiting(&world) > 0 {
        let before = waiting(&world);
        let running = world.state(|state| {
            state.sessions.values().find(|session| session.process.is_some()).map(|session| session.id)
        });
        let stop = SessionInput::Stop { by: "ann".into(), why: String::new() };
        world.send_input(running.expect("four run"), stop).unwrap();
        world.run_for(30);
        assert_eq!((world.living(), waiting(&world)), (4, before - 1));
    }
    world.expect_at_rest();
}

/// acceptance: L6
#[test]
fn with_too_little_memory_a_session_waits_and_says_so() {
    let mut world = SimWorld::with(parts(), DaemonSettings { min_free_mb: 500, ..DaemonSettings::default() });
    world.ask(Input::Host { free_mb: 100 }).unwrap();
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    assert_eq!((world.status(session).0, world.living()), (StatusWord::Queued, 0));
    let obstacle = world.state(|state| ao_core::schedule::obstacle(state, &state.sessions[&session]));
    assert_eq!(obstacle, Some(ao_core::schedule::Obstacle::Memory { free_mb: 100 }));
    world.ask(Input::Host { free_mb: 900 }).unwrap();
    world.run_for(60);
    assert_eq!((world.status(session).0, world.living()), (StatusWord::Idle, 1));
}

/// acceptance: L1
#[test]
fn agents_outlive_the_daemon_and_nothing_is_sent_again() {
    let mut world = SimWorld::calm(parts());
    let sessions: Vec<_> = (0..5).map(|_| world.spawn(SpawnSpec::default()).unwrap()).collect();
    world.run_for(60);
    let before: Vec<_> = sessions.iter().map(|session| world.session(*session).process).collect();
    for _ in 0..3 {
        world.crash();
        world.run_for(40);
    }
    let after: Vec<_> = sessions.iter().map(|session| world.session(*session).process).collect();
    assert_eq!((before, world.living()), (after, 5));
    assert_eq!(world.turns_with("do the work"), 5);
    world.expect_at_rest();
}

/// acceptance: L1
#[test]
fn after_a_reboot_with_ten_sessions_all_come_back_with_their_conversations() {
    let mut world = SimWorld::with(parts(), DaemonSettings { max_live: 10, ..DaemonSettings::default() });
    let sessions: Vec<_> = (0..10)
        .map(|_| {
            let abilities = AgentAbilities { resume: true, ..AgentAbilities::default() };
            world.spawn(SpawnSpec { abilities, ..SpawnSpec::default() }).unwrap()
        })
        .collect();
    world.run_for(120);
    let conversations = |world: &SimWorld| {
        let of = |id: &_| world.state(|state| state.sessions[id].launch.conversation.clone());
        sessions.iter().map(of).collect::<Vec<_>>()
    };
    let before = conversations(&world);
    world.reboot();
    world.run_for(120);
    assert_eq!(world.living(), 10);
    assert_eq!(conversations(&world), before);
    for session in &sessions {
        assert_eq!(world.status(*session).0, StatusWord::Idle);
    }
    world.expect_at_rest();
}

/// acceptance: L2
#[test]
fn an_agent_that_cannot_be_kept_up_is_tried_a_bounded_number_of_times() {
    let mut world = SimWorld::calm(parts());
    world.default_behaviour(AgentBehaviour { hopeless: Some(1), ..AgentBehaviour::default() });
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(3600);
    assert_eq!(world.status(session).0, StatusWord::Exited);
    assert_eq!(world.count("session.launched"), 1 + DaemonSettings::default().restarts as usize);
    assert_eq!(world.notified().len(), 1, "{:?}", world.notified());
    world.expect_at_rest();
}
