//! Every effect, gone wrong in every way, and the same clean end.

use ao_core::Input;
use ao_core::pull::CheckState;
use ao_core::queue::QueueInput;
use ao_core::session::{SessionInput, StatusWord};
use ao_testkit::{Call, Fault, Plan, Spawn, World};

/// From the first word to a removed workspace, with one call that goes wrong.
fn story(call: Call, fault: Fault) -> World {
    let mut world = World::calm();
    world.plan(Plan::These { call, fault, times: 1 });
    let session = world.spawn(Spawn::default()).unwrap();
    world.run_for(120);
    world.post_message(session, "and one more thing");
    world.run_for(180);
    assert_eq!(world.status(session).0, StatusWord::Idle, "{call} {fault}");
    assert_eq!(world.turns_with("do the work"), 1, "{call} {fault}");
    assert_eq!(world.turns_with("and one more thing"), 1, "{call} {fault}");
    world.post(session, SessionInput::Stop { by: "ann".into(), why: "done".into() });
    world.run_for(120);
    world.post(session, SessionInput::Cleanup);
    world.run_for(180);
    assert_eq!(world.status(session).0, StatusWord::Stopped, "{call} {fault}");
    assert_eq!((world.living(), world.trees()), (0, 0), "{call} {fault}");
    world
}

#[test]
fn a_call_that_fails_is_made_again_until_it_is_done() {
    everywhere(&[Fault::FailBefore, Fault::FailAfter, Fault::Panic, Fault::Delay]);
}

#[test]
fn a_call_that_hangs_is_given_up_and_made_again() {
    everywhere(&[Fault::Hang, Fault::HangAfter]);
}

#[test]
fn a_call_that_is_made_twice_is_done_once() {
    everywhere(&[Fault::Twice]);
}

#[test]
fn a_crash_before_or_after_a_call_changes_nothing_in_the_end() {
    everywhere(&[Fault::CrashBefore, Fault::CrashAfter]);
}

fn everywhere(faults: &[Fault]) {
    let calls = Call::ALL.into_iter().filter(|call| !matches!(call, Call::Test | Call::Merge));
    for call in calls {
        for fault in faults {
            // A first append that fails fails the spawn itself, and whoever asked is told so.
            if call == Call::Append {
                continue;
            }
            story(call, *fault).expect_at_rest();
        }
    }
}

/// The log cannot be written while an agent works, in every way there is.
#[test]
fn a_log_that_fails_for_a_while_loses_nothing() {
    for fault in [Fault::FailBefore, Fault::FailAfter, Fault::Delay, Fault::CrashBefore, Fault::CrashAfter] {
        for times in [1, 3] {
            let mut world = World::calm();
            let session = world.spawn(Spawn::default()).unwrap();
            world.plan(Plan::These { call: Call::Append, fault, times });
            world.run_for(300);
            world.plan(Plan::Calm);
            world.run_for(60);
            assert_eq!((world.status(session).0, world.living()), (StatusWord::Idle, 1), "{fault}");
            assert_eq!(world.turns_with("do the work"), 1, "{fault}");
            world.expect_at_rest();
        }
    }
}

/// A notifier that fails is tried again, and the person is told in the end.
#[test]
fn a_notice_gets_through_whatever_happens_to_its_first_try() {
    for fault in [Fault::FailBefore, Fault::FailAfter, Fault::Panic, Fault::Hang, Fault::CrashAfter] {
        let mut world = World::calm();
        world.usual_temper(ao_testkit::Temper { setup_fails: true, ..Default::default() });
        world.plan(Plan::These { call: Call::Notify, fault, times: 1 });
        let session = world.spawn(Spawn::default()).unwrap();
        world.run_for(300);
        assert_eq!(world.status(session).0, StatusWord::SetupFailed, "{fault}");
        assert_eq!(world.told().len(), 1, "{fault}");
        world.expect_at_rest();
    }
}

/// From an approved change to a merged one, with a test or a merge that goes wrong in every way.
#[test]
fn a_change_lands_once_whatever_happens_to_its_test_and_its_merge() {
    for call in [Call::Test, Call::Merge] {
        for fault in Fault::ALL {
            let mut world = World::calm();
            let session = world.spawn(Spawn::default()).unwrap();
            world.run_for(120);
            let pull = world.open_pull(session);
            world.check(&pull, CheckState::Passed);
            world.approve(&pull);
            let head = world.state(|state| state.pulls[&pull].facts.head.clone());
            world.plan(Plan::These { call, fault, times: 1 });
            let enqueue = QueueInput::Enqueue { pull: pull.clone(), head, priority: 0 };
            world.ask(Input::Queue { project: pull.project.clone(), input: enqueue }).unwrap();
            world.run_for(300);
            world.plan(Plan::Calm);
            world.run_for(120);
            world.look_at(&pull);
            world.run_for(180);
            assert_eq!(world.count("queue.landed"), 1, "{call} {fault}");
            assert_eq!(world.status(session).0, StatusWord::Merged, "{call} {fault}");
            world.expect_at_rest();
        }
    }
}
