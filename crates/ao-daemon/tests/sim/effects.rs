//! Every effect, with every fault, and the same clean end.

use ao_core::Input;
use ao_core::incident::{IncidentKind, Subject};
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::{AuthorStanding, CheckState};
use ao_core::queue::{BranchUpdate, QueueInput, QueueRules};
use ao_core::reaction::{ReactionAction, ReactionPatch};
use ao_core::session::{AgentAbilities, SessionInput, StatusWord};
use ao_core::{Commit, DaemonSettings};
use ao_testkit::PortCall::*;
use ao_testkit::{AgentBehaviour, Fault, FaultPlan, PortCall, SimWorld, SpawnSpec};

use crate::feedback::failed;
use crate::looks::{assigned, settled, unwatched};
use crate::parts::parts;

/// The calls of a session from its spawn until its workspace is removed.
const SESSION: [PortCall; 10] = [Create, SetUp, Remove, Prepare, Start, Deliver, Look, End, Census, Read];
const FAILURES: [Fault; 4] = [Fault::FailBefore, Fault::FailAfter, Fault::Panic, Fault::Delay];
const HANGS: [Fault; 2] = [Fault::Hang, Fault::HangAfter];
const CRASHES: [Fault; 2] = [Fault::CrashBefore, Fault::CrashAfter];

/// Runs a story once for each call and each fault that the call allows, and checks that it ends at rest.
fn tell(calls: &[PortCall], faults: &[Fault], story: impl Fn(PortCall, Fault) -> SimWorld) {
    for call in calls {
        for fault in faults.iter().filter(|fault| call.allows(**fault)) {
            let mut world = story(*call, *fault);
            world.expect_injected(*call, *fault);
            world.expect_at_rest();
        }
    }
}

macro_rules! stories {
    ($($name:ident: $story:expr, $calls:expr, $faults:expr;)*) => {
        $(
            #[test]
            fn $name() {
                tell(&$calls, &$faults, $story);
            }
        )*

        #[test]
        fn every_fault_of_every_call_has_a_story() {
            let told: &[(&[PortCall], &[Fault])] = &[$((&$calls, &$faults)),*];
            for call in PortCall::ALL {
                for fault in Fault::ALL.into_iter().filter(|fault| call.allows(*fault)) {
                    let mut of_call = told.iter().filter(|(calls, _)| calls.contains(&call));
                    let has_story = of_call.any(|(_, faults)| faults.contains(&fault));
                    assert!(has_story, "tell a story of this: {call} {fault}");
                }
            }
        }
    };
}

stories! {
    a_call_that_fails_is_made_again_until_it_is_done: a_session, SESSION, FAILURES;
    a_call_that_hangs_is_given_up_and_made_again: a_session, SESSION, HANGS;
    a_call_that_is_made_twice_is_done_once: a_session, SESSION, [Fault::Twice];
    a_crash_before_or_after_a_call_changes_nothing_in_the_end: a_session, SESSION, CRASHES;
    an_answer_reaches_its_question_or_the_question_stays_open: an_answer, [Answer], Fault::ALL;
    a_halted_turn_ends_under_every_fault_of_its_cancellation: a_halt, [Cancel], Fault::ALL;
    a_rerun_is_made_under_every_fault_of_a_look_or_a_job: a_rerun, [Pulls, Rerun, Check, RunState], Fault::ALL;
    a_command_is_run_under_every_fault_of_its_first_run: a_command, [Command], Fault::ALL;
    a_thread_gets_one_reply_under_every_fault: a_reply, [Reply], Fault::ALL;
    a_branch_is_updated_once_under_every_fault_of_its_rebase: a_rebase, [Rebase], Fault::ALL;
    a_log_that_fails_once_loses_nothing: |call, fault| a_bad_log(call, fault, 1), [Append], Fault::ALL;
    a_log_that_fails_for_a_while_loses_nothing: |call, fault| a_bad_log(call, fault, 3), [Append], Fault::ALL;
    a_snapshot_that_goes_wrong_loses_nothing: a_snapshot, [Snapshot], Fault::ALL;
    a_notice_arrives_under_every_fault_of_its_first_attempt: a_notice, [Notify], Fault::ALL;
    a_change_lands_once_under_every_fault_of_its_test_and_merge: a_landing, [Test, Merge], Fault::ALL;
    a_watch_that_ends_is_made_up_for: unwatched, [Watch], Fault::ALL;
    a_task_is_assigned_once_under_every_fault: assigned, [Task, Tasks, OpenPulls, Base], Fault::ALL;
    a_merged_change_closes_its_issue_under_every_fault: settled, [Show, Task, Close], Fault::ALL;
}

/// Returns a plan with one faulty call.
fn once(call: PortCall, fault: Fault) -> FaultPlan {
    FaultPlan::These { call, fault, times: 1 }
}

/// From the spawn to a removed workspace, with one faulty call.
fn a_session(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    world.plan(once(call, fault));
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
    world
}

/// An open question, which is answered once.
fn an_answer(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    world.default_behaviour(AgentBehaviour { asks: 1000, unanswered: true, ..AgentBehaviour::default() });
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    world.behaviour(session, AgentBehaviour::default());
    world.plan(once(call, fault));
    for _ in 0..3 {
        for open in world.session(session).open_asks() {
            let (by, question) = ("ann".into(), open.number);
            world.post(session, SessionInput::Answer { by, question, text: "yes".into() });
        }
        world.run_for(120);
    }
    assert_eq!(world.status(session).0, StatusWord::Idle, "{fault}");
    assert_eq!(world.turns_with("do the work"), 1, "{fault}");
    world
}

/// A turn that is halted and ends, and whose work is taken up again once.
fn a_halt(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    let abilities = AgentAbilities { resume: true, cancel: true, ..AgentAbilities::default() };
    world.default_behaviour(AgentBehaviour { turn_ms: 3_600_000, ..AgentBehaviour::default() });
    let session = world.spawn(SpawnSpec { abilities, ..SpawnSpec::default() }).unwrap();
    world.run_for(30);
    assert_eq!(world.status(session).0, StatusWord::Working, "{fault}");
    world.plan(once(call, fault));
    world.behaviour(session, AgentBehaviour::default());
    world.post(session, SessionInput::Halt { why: "a budget is spent".into() });
    world.run_for(300);
    assert_eq!(world.status(session).0, StatusWord::Idle, "{fault}");
    assert_eq!(world.turns_with("You were stopped in the middle of a turn"), 1, "{fault}");
    assert_eq!(world.turns_with("do the work"), 1, "{fault}");
    world
}

/// A failed check that is rerun, with one faulty call of a look or a job.
fn a_rerun(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    world.passes_when_run_again(true);
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(120);
    let pull = world.open_pull(session);
    world.plan(once(call, fault));
    world.check(&pull, failed());
    world.run_for(1200);
    let state = world.state(|state| state.pulls[&pull].facts.checks[0].state.clone());
    assert_eq!(state, CheckState::Passed, "{call} {fault}");
    world
}

/// A problem whose reaction is a command of the user.
fn a_command(call: PortCall, fault: Fault) -> SimWorld {
    let kind: IncidentKind = "deploy-failed".parse().unwrap();
    let mut settings = DaemonSettings::default();
    let (action, command) = (Some(ReactionAction::Run), Some("make it so".into()));
    let run = ReactionPatch { action, command, ..ReactionPatch::default() };
    settings.reactions.insert(kind.clone(), run);
    let mut world = SimWorld::with(parts(), settings);
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    world.plan(once(call, fault));
    let subject = Subject::Session(session);
    let (problem, revision, detail) = ("7".into(), "1".into(), "exit 1".into());
    world.ask(Input::Raise { subject, kind, problem, revision, detail }).unwrap();
    world.run_for(3600);
    // Commands recognize a second run by the id in their document.
    let twice = matches!(fault, Fault::FailAfter | Fault::HangAfter | Fault::CrashAfter | Fault::Twice);
    assert_eq!(world.commands(), if twice { 2 } else { 1 }, "{fault}");
    assert_eq!((world.count("job.done"), world.count("job.failed")), (1, 0), "{fault}");
    world
}

/// A request in a thread, which a push addresses.
fn a_reply(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    let pull = world.open_pull(session);
    world.ask_for(&pull, "a test, please");
    world.run_for(120);
    assert_eq!(world.turns_with("a test, please"), 1, "{fault}");
    world.plan(once(call, fault));
    world.push(&pull, "c2");
    world.run_for(1200);
    let comments = &world.at_forge(&pull).threads[0].comments;
    let ours = comments.iter().filter(|comment| comment.author.standing == AuthorStanding::Agent);
    let said: Vec<&str> = ours.map(|comment| comment.body.as_str()).collect();
    assert_eq!(said, ["Addressed in c2."], "{fault}");
    assert_eq!((world.count("job.done"), world.count("job.failed")), (1, 0), "{fault}");
    world
}

/// A branch that falls behind its base, in a project that updates such branches.
fn a_rebase(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    let pull = world.open_pull(session);
    let mut config: ProjectConfig = world.state(|state| state.projects[&pull.project].config.clone());
    config.merge_queue = Some(QueueRules { update: BranchUpdate::Rebase, ..QueueRules::default() });
    let input = ProjectInput::Configure(Box::new(config));
    world.ask(Input::Project { project: pull.project.clone(), input }).unwrap();
    let before = world.at_forge(&pull).head;
    world.plan(once(call, fault));
    world.base(&pull, "b1", false);
    world.run_for(1200);
    let after = Commit::new(&format!("{}@rebased0", world.at_forge(&pull).head_branch));
    assert_ne!(before, after, "{fault}");
    assert_eq!(world.at_forge(&pull).head, after, "{fault}");
    assert_eq!(world.state(|state| state.pulls[&pull].facts.head.clone()), after, "{fault}");
    assert_eq!((world.count("job.done"), world.count("job.failed")), (1, 0), "{fault}");
    world
}

/// A log that cannot be written while an agent works.
fn a_bad_log(call: PortCall, fault: Fault, times: u32) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.plan(FaultPlan::These { call, fault, times });
    world.run_for(300);
    world.plan(FaultPlan::Calm);
    world.run_for(60);
    assert_eq!((world.status(session).0, world.living()), (StatusWord::Idle, 1), "{fault}");
    assert_eq!(world.turns_with("do the work"), 1, "{fault}");
    world
}

/// A snapshot that goes wrong. It only saves time: without it, more of the log is read.
fn a_snapshot(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    world.plan(once(call, fault));
    // The log has to grow until one is due.
    for number in 0..60 {
        world.post_message(session, &format!("message {number}."));
        world.run_for(30);
    }
    world.expect_injected(call, fault);
    world.crash();
    world.run_for(120);
    assert_eq!(world.status(session).0, StatusWord::Idle, "{fault}");
    for number in 0..60 {
        assert_eq!(world.turns_with(&format!("message {number}.")), 1, "{fault}");
    }
    world
}

/// A notifier that fails and is retried, until the person is notified.
fn a_notice(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    world.default_behaviour(AgentBehaviour { setup_fails: true, ..Default::default() });
    world.plan(once(call, fault));
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(300);
    assert_eq!(world.status(session).0, StatusWord::SetupFailed, "{fault}");
    assert_eq!(world.notified().len(), 1, "{fault}");
    world
}

/// From an approved change to a merged one, with one faulty call of its test or its merge.
fn a_landing(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(120);
    let pull = world.open_pull(session);
    world.check(&pull, CheckState::Passed);
    world.approve(&pull);
    let head = world.state(|state| state.pulls[&pull].facts.head.clone());
    world.plan(once(call, fault));
    let enqueue = QueueInput::Enqueue { pull: pull.clone(), head, priority: 0 };
    world.ask(Input::Queue { project: pull.project.clone(), input: enqueue }).unwrap();
    world.run_for(900);
    world.plan(FaultPlan::Calm);
    world.run_for(120);
    world.look_at(&pull);
    world.run_for(180);
    assert_eq!(world.count("queue.landed"), 1, "{call} {fault}");
    assert_eq!(world.status(session).0, StatusWord::Merged, "{call} {fault}");
    world
}
