//! The status of an agent.

use ao_core::evidence::{Reading, SignalSource};
use ao_core::session::{SessionRole, StatusWord};
use ao_testkit::{AgentBehaviour, SimWorld, SpawnSpec};

use crate::parts::parts;

/// acceptance: S1
#[test]
fn a_lost_stop_is_noticed_within_a_minute_with_a_reason() {
    let mut world = SimWorld::calm(parts());
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    world.behaviour(session, AgentBehaviour { loses_hooks: 1000, ..AgentBehaviour::default() });
    world.send(session, "go on").unwrap();
    world.agent_shows(session, SignalSource::Hook, Reading::Working { doing: "thinking".into() });
    assert_eq!(world.status(session).0, StatusWord::Working);
    // The turn takes at most ten seconds; its end is never reported.
    world.run_for(70);
    let (word, reason) = world.status(session);
    assert_eq!(word, StatusWord::Idle);
    assert!(reason.contains("at its prompt"), "{reason}");
}

/// acceptance: S4
#[test]
fn twenty_silent_minutes_with_a_busy_child_are_work() {
    let mut world = SimWorld::calm(parts());
    world.default_behaviour(AgentBehaviour { silent: 1000, turn_ms: 180_000, ..AgentBehaviour::default() });
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(15);
    world.agent_shows(session, SignalSource::Hook, Reading::Working { doing: "cargo build".into() });
    world.run_for(1200);
    assert_eq!((world.status(session).0, world.living()), (StatusWord::Working, 1));
    let judgement = ao_core::evidence::judge(&world.session(session).evidence, world.now());
    assert_eq!(judgement.to_string(), "working (quiet 20m)");
    assert_eq!(world.notified(), []);
}

/// acceptance: S3
#[test]
fn a_killed_agent_is_seen_and_brought_back_with_its_conversation() {
    let mut world = SimWorld::calm(parts());
    let abilities = ao_core::session::AgentAbilities { resume: true, ..Default::default() };
    let session = world.spawn(SpawnSpec { abilities, ..SpawnSpec::default() }).unwrap();
    world.run_for(60);
    let conversation = world.session(session).launch.conversation;
    world.kill_agent(session);
    world.run_for(90);
    assert_eq!((world.status(session).0, world.living()), (StatusWord::Idle, 1));
    assert_eq!(world.session(session).launch.conversation, conversation);
    assert_eq!(world.turns_with("do the work"), 1);
    world.expect_at_rest();
}

/// acceptance: S8
#[test]
fn a_granted_permission_clears_the_question_without_an_event() {
    let mut world = SimWorld::calm(parts());
    world.default_behaviour(AgentBehaviour { asks: 1000, unanswered: true, ..AgentBehaviour::default() });
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    assert_eq!(world.status(session).0, StatusWord::NeedsInput);
    world.behaviour(session, AgentBehaviour::default());
    world.answer_dialog(session);
    world.run_for(5);
    assert_eq!(world.status(session).0, StatusWord::Working);
}

/// acceptance: S9
#[test]
fn an_orchestrator_that_is_idle_for_two_hours_is_not_stuck_and_looking_changes_nothing() {
    let mut world = SimWorld::calm(parts());
    let session =
        world.spawn(SpawnSpec { role: Some(SessionRole::Orchestrator), ..SpawnSpec::default() }).unwrap();
    world.run_for(7200);
    assert_eq!((world.status(session).0, world.notified()), (StatusWord::Idle, vec![]));
    let before = world.session(session);
    let _looked = (world.status(session), world.status(session));
    assert_eq!(world.session(session), before);
    world.expect_at_rest();
}
