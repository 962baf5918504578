//! Every effect, with every fault, and the same clean end.

use ao_core::Input;
use ao_core::pull::CheckState;
use ao_core::queue::QueueInput;
use ao_core::session::{AgentAbilities, SessionInput, StatusWord};
use ao_testkit::{AgentBehaviour, Fault, FaultPlan, PortCall, SimWorld, SpawnSpec};

use crate::parts::parts;

use crate::feedback::failed;

/// From the spawn to a removed workspace, with one faulty call.
fn story(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    world.plan(FaultPlan::These { call, fault, times: 1 });
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(120);
    // The log is read at a start.
    world.crash();
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
    world.expect_injected(call, fault);
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
    // These have tests of their own. A first append that fails fails the spawn itself.
    let elsewhere = [
        PortCall::Command,
        PortCall::Pulls,
        PortCall::OpenPulls,
        PortCall::Base,
        PortCall::Show,
        PortCall::Rerun,
        PortCall::Check,
        PortCall::RunState,
        PortCall::Reply,
        PortCall::Task,
        PortCall::Tasks,
        PortCall::Close,
        PortCall::Watch,
        PortCall::Rebase,
        PortCall::Append,
        PortCall::Snapshot,
        PortCall::Notify,
        PortCall::Answer,
        PortCall::Cancel,
        PortCall::Test,
        PortCall::Merge,
    ];
    for call in PortCall::ALL.into_iter().filter(|call| !elsewhere.contains(call)) {
        for fault in faults.iter().filter(|fault| call.allows(**fault)) {
            story(call, *fault).expect_at_rest();
        }
    }
}

/// An open question is answered once, under every fault of the first attempt.
#[test]
fn an_answer_reaches_its_question_or_the_question_stays_open() {
    for fault in Fault::ALL.into_iter().filter(|fault| PortCall::Answer.allows(*fault)) {
        let mut world = SimWorld::calm(parts());
        world.default_behaviour(AgentBehaviour { asks: 1000, unanswered: true, ..AgentBehaviour::default() });
        let session = world.spawn(SpawnSpec::default()).unwrap();
        world.run_for(60);
        world.behaviour(session, AgentBehaviour::default());
        world.plan(FaultPlan::These { call: PortCall::Answer, fault, times: 1 });
        for _ in 0..3 {
            let question = world.session(session).dialogs.questions;
            if world.status(session).0 == StatusWord::NeedsInput {
                let answer = SessionInput::Answer { by: "ann".into(), question, text: "yes".into() };
                world.post(session, answer);
            }
            world.run_for(120);
        }
        assert_eq!(world.status(session).0, StatusWord::Idle, "{fault}");
        assert_eq!(world.turns_with("do the work"), 1, "{fault}");
        world.expect_injected(PortCall::Answer, fault);
        world.expect_at_rest();
    }
}

/// A turn that is halted ends, and its work is taken up again once, under every fault of the cancellation.
#[test]
fn a_halted_turn_ends_under_every_fault_of_its_cancellation() {
    for fault in Fault::ALL.into_iter().filter(|fault| PortCall::Cancel.allows(*fault)) {
        let mut world = SimWorld::calm(parts());
        let abilities = AgentAbilities { resume: true, cancel: true, ..AgentAbilities::default() };
        world.default_behaviour(AgentBehaviour { turn_ms: 3_600_000, ..AgentBehaviour::default() });
        let session = world.spawn(SpawnSpec { abilities, ..SpawnSpec::default() }).unwrap();
        world.run_for(30);
        assert_eq!(world.status(session).0, StatusWord::Working, "{fault}");
        world.plan(FaultPlan::These { call: PortCall::Cancel, fault, times: 1 });
        world.behaviour(session, AgentBehaviour::default());
        world.post(session, SessionInput::Halt { why: "a budget is spent".into() });
        world.run_for(300);
        assert_eq!(world.status(session).0, StatusWord::Idle, "{fault}");
        assert_eq!(world.turns_with("You were stopped in the middle of a turn"), 1, "{fault}");
        assert_eq!(world.turns_with("do the work"), 1, "{fault}");
        world.expect_injected(PortCall::Cancel, fault);
        world.expect_at_rest();
    }
}

/// A failed check is rerun, under every fault of a call that looks or jobs make for it.
#[test]
fn a_rerun_is_made_under_every_fault_of_a_look_or_a_job() {
    for call in [PortCall::Pulls, PortCall::Rerun, PortCall::Check, PortCall::RunState] {
        for fault in Fault::ALL {
            let mut world = SimWorld::calm(parts());
            world.passes_when_run_again(true);
            let session = world.spawn(SpawnSpec::default()).unwrap();
            world.run_for(120);
            let pull = world.open_pull(session);
            world.plan(FaultPlan::These { call, fault, times: 1 });
            world.check(&pull, failed());
            world.run_for(1200);
            let state = world.state(|state| state.pulls[&pull].facts.checks[0].state.clone());
            assert_eq!(state, CheckState::Passed, "{call} {fault}");
            world.expect_injected(call, fault);
            world.expect_at_rest();
        }
    }
}

/// The log cannot be written while an agent works, under every fault.
#[test]
fn a_log_that_fails_for_a_while_loses_nothing() {
    for fault in [Fault::FailBefore, Fault::FailAfter, Fault::Delay, Fault::CrashBefore, Fault::CrashAfter] {
        for times in [1, 3] {
            let mut world = SimWorld::calm(parts());
            let session = world.spawn(SpawnSpec::default()).unwrap();
            world.plan(FaultPlan::These { call: PortCall::Append, fault, times });
            world.run_for(300);
            world.plan(FaultPlan::Calm);
            world.run_for(60);
            assert_eq!((world.status(session).0, world.living()), (StatusWord::Idle, 1), "{fault}");
            assert_eq!(world.turns_with("do the work"), 1, "{fault}");
            world.expect_injected(PortCall::Append, fault);
            world.expect_at_rest();
        }
    }
}

/// A snapshot only saves time: without it, more of the log is read.
#[test]
fn a_snapshot_that_goes_wrong_loses_nothing() {
    for fault in Fault::ALL.into_iter().filter(|fault| PortCall::Snapshot.allows(*fault)) {
        let mut world = SimWorld::calm(parts());
        let session = world.spawn(SpawnSpec::default()).unwrap();
        world.run_for(60);
        world.plan(FaultPlan::These { call: PortCall::Snapshot, fault, times: 1 });
        // The log has to grow until one is due.
        for number in 0..60 {
            world.post_message(session, &format!("message {number}."));
            world.run_for(30);
        }
        world.expect_injected(PortCall::Snapshot, fault);
        world.crash();
        world.run_for(120);
        assert_eq!(world.status(session).0, StatusWord::Idle, "{fault}");
        for number in 0..60 {
            assert_eq!(world.turns_with(&format!("message {number}.")), 1, "{fault}");
        }
        world.expect_at_rest();
    }
}

/// A notifier that fails is retried, and the person is notified in the end.
#[test]
fn a_notice_arrives_under_every_fault_of_its_first_attempt() {
    for fault in [Fault::FailBefore, Fault::FailAfter, Fault::Panic, Fault::Hang, Fault::CrashAfter] {
        let mut world = SimWorld::calm(parts());
        world.default_behaviour(AgentBehaviour { setup_fails: true, ..Default::default() });
        world.plan(FaultPlan::These { call: PortCall::Notify, fault, times: 1 });
        let session = world.spawn(SpawnSpec::default()).unwrap();
        world.run_for(300);
        assert_eq!(world.status(session).0, StatusWord::SetupFailed, "{fault}");
        assert_eq!(world.notified().len(), 1, "{fault}");
        world.expect_injected(PortCall::Notify, fault);
        world.expect_at_rest();
    }
}

/// From an approved change to a merged one, under every fault of its test and its merge.
#[test]
fn a_change_lands_once_under_every_fault_of_its_test_and_merge() {
    for call in [PortCall::Test, PortCall::Merge] {
        for fault in Fault::ALL {
            let mut world = SimWorld::calm(parts());
            let session = world.spawn(SpawnSpec::default()).unwrap();
            world.run_for(120);
            let pull = world.open_pull(session);
            world.check(&pull, CheckState::Passed);
            world.approve(&pull);
            let head = world.state(|state| state.pulls[&pull].facts.head.clone());
            world.plan(FaultPlan::These { call, fault, times: 1 });
            let enqueue = QueueInput::Enqueue { pull: pull.clone(), head, priority: 0 };
            world.ask(Input::Queue { project: pull.project.clone(), input: enqueue }).unwrap();
            world.run_for(300);
            world.plan(FaultPlan::Calm);
            world.run_for(120);
            world.look_at(&pull);
            world.run_for(180);
            assert_eq!(world.count("queue.landed"), 1, "{call} {fault}");
            assert_eq!(world.status(session).0, StatusWord::Merged, "{call} {fault}");
            world.expect_injected(call, fault);
            world.expect_at_rest();
        }
    }
}
