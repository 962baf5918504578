//! Looks at forges and trackers, and the jobs that follow from them.

use std::sync::Arc;

use ao_core::assign::AutoAssign;
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::pull::CheckState;
use ao_core::queue::QueueInput;
use ao_core::setup::Setup;
use ao_core::{Input, ProjectId, PullId, TaskId};
use ao_ports::LookHint;
use ao_testkit::{Fault, FaultPlan, PortCall, SimWorld, SpawnSpec};

use crate::feedback::failed;
use crate::parts::{RealParts, parts};

fn task(key: &str) -> TaskId {
    TaskId { project: ProjectId::new("app"), key: key.into() }
}

/// Lets the project `app` pick up its issues by itself.
fn picks_up(world: &mut SimWorld) {
    let auto_assign = Some(AutoAssign { account: "fake".into(), ..AutoAssign::default() });
    let config = ProjectConfig {
        path: "/src/app".into(),
        default_branch: "main".into(),
        auto_assign,
        setup: Setup { post_create: vec!["make deps".into()], ..Setup::default() },
        ..ProjectConfig::default()
    };
    let input = ProjectInput::Configure(Box::new(config));
    world.ask(Input::Project { project: ProjectId::new("app"), input }).unwrap();
}

fn pull_of(world: &mut SimWorld) -> PullId {
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    world.open_pull(session)
}

fn knows(world: &SimWorld, pull: &PullId) -> CheckState {
    world.state(|state| state.pulls[pull].facts.checks[0].state.clone())
}

#[test]
fn a_change_whose_hint_is_lost_is_seen_at_the_next_look_at_everything() {
    let mut world = SimWorld::calm(parts());
    let pull = pull_of(&mut world);
    world.check(&pull, failed());
    world.lossy_reports(1000);
    world.check(&pull, CheckState::Passed);
    assert_ne!(knows(&world, &pull), CheckState::Passed);
    world.run_for(900);
    assert_eq!(knows(&world, &pull), CheckState::Passed);
}

/// Watches that end or begin late, while a pull request is opened.
pub(crate) fn unwatched(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    world.plan(FaultPlan::These { call, fault, times: 9 });
    world.crash();
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    let pull = world.open_pull_unseen(session);
    world.check(&pull, CheckState::Passed);
    world.run_for(900);
    assert_eq!(knows(&world, &pull), CheckState::Passed, "{call} {fault}");
    world
}

#[test]
fn a_forge_that_hangs_holds_up_no_other_project_and_is_asked_less_and_less() {
    let mut world = SimWorld::calm(parts());
    let pull = pull_of(&mut world);
    let lib = ProjectId::new("lib");
    world.hang_forge(&lib, true);
    world.hint(LookHint::Project(lib.clone()));
    world.hint(LookHint::Pull(PullId { project: lib.clone(), number: 1 }));
    world.run_for(5);
    world.check(&pull, CheckState::Passed);
    assert_eq!(knows(&world, &pull), CheckState::Passed);
    let before = world.looks();
    world.run_for(3600);
    assert!(world.looks() - before < 40, "{}", world.looks() - before);
    world.hang_forge(&lib, false);
    world.run_for(1200);
    world.expect_at_rest();
}

#[test]
fn a_change_during_a_look_is_looked_at_again() {
    let mut world = SimWorld::calm(parts());
    let pull = pull_of(&mut world);
    for state in [failed(), CheckState::Pending, CheckState::Passed] {
        world.set_check(&pull, state);
        world.run_for_ms(100);
    }
    world.run_for(5);
    assert_eq!(knows(&world, &pull), CheckState::Passed);
}

/// The next look at everything would come ten minutes later.
#[test]
fn issues_of_a_project_without_a_forge_are_asked_for_again_after_a_failure() {
    let mut world = SimWorld::calm(Arc::new(RealParts { forges: false }));
    picks_up(&mut world);
    world.plan(FaultPlan::These { call: PortCall::Tasks, fault: Fault::FailBefore, times: 1 });
    world.task(&task("7"), |_| {});
    // Everything is looked at after a start.
    world.crash();
    world.run_for(60);
    world.expect_injected(PortCall::Tasks, Fault::FailBefore);
    assert_eq!(world.state(|state| state.sessions.len()), 1);
}

/// An issue that is picked up, with one faulty call of its job.
pub(crate) fn assigned(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    world.run_for(5);
    world.plan(FaultPlan::These { call, fault, times: 1 });
    picks_up(&mut world);
    world.task(&task("7"), |_| {});
    world.hint(LookHint::Project(ProjectId::new("app")));
    world.run_for(3600);
    let sessions = world.state(|state| state.sessions.len());
    assert_eq!(sessions, 1, "{call} {fault}");
    world
}

/// A merged change that closes its issue, with one faulty call of its job.
pub(crate) fn settled(call: PortCall, fault: Fault) -> SimWorld {
    let mut world = SimWorld::calm(parts());
    world.task(&task("7"), |_| {});
    let session = world.spawn(SpawnSpec { task: Some("7"), ..SpawnSpec::default() }).unwrap();
    world.run_for(120);
    let pull = world.open_pull(session);
    world.check(&pull, CheckState::Passed);
    world.approve(&pull);
    let head = world.state(|state| state.pulls[&pull].facts.head.clone());
    world.plan(FaultPlan::These { call, fault, times: 1 });
    let enqueue = QueueInput::Enqueue { pull: pull.clone(), head, priority: 0 };
    world.ask(Input::Queue { project: pull.project.clone(), input: enqueue }).unwrap();
    world.run_for(1800);
    assert!(world.is_closed(&task("7")), "{call} {fault}");
    world
}
