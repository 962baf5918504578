//! News from the forge.

use ao_core::incident::IncidentKind;
use ao_core::{DaemonSettings, pull::CheckState};
use ao_testkit::{SimWorld, SpawnSpec};

use crate::parts::parts;

pub(crate) fn failed() -> CheckState {
    CheckState::Failed {
        certain: false,
        files: vec![],
        signature: "E0".into(),
        excerpt: "error: E0".into(),
        url: "https://ci/1".into(),
        log: None,
    }
}

/// acceptance: F3
#[test]
fn a_flake_is_rerun_and_raises_no_alarm() {
    let mut world = SimWorld::calm(parts());
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    let pull = world.open_pull(session);
    world.passes_when_run_again(true);
    for head in 0..5 {
        world.push(&pull, &format!("c{head}"));
        world.check(&pull, failed());
        world.run_for(900);
    }
    // Each head also waits for a review, which has nothing to do with the flake.
    let mut notified = world.notified();
    notified.retain(|(what, _)| !what.starts_with("review-needed"));
    assert_eq!((world.turns_with("A check failed"), notified), (0, vec![]));
    let key = ("unit tests".into(), "E0".into());
    let flakes = world.state(|state| state.projects[&pull.project].flakes[&key].times);
    assert_eq!(flakes, 5);
    world.expect_at_rest();
}

/// acceptance: F3
#[test]
fn a_red_base_is_reported_once_and_raises_no_alarm_until_it_is_green() {
    let mut world = SimWorld::calm(parts());
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    let pull = world.open_pull(session);
    for (tip, red) in [("b1", true), ("b2", true), ("b3", false)] {
        world.base(&pull, tip, red);
        world.check(&pull, failed());
        world.run_for(7200);
        let notified = world.notified();
        let about = |kind: &str| notified.iter().filter(|(key, _)| key.starts_with(kind)).count();
        assert_eq!(about("base-red"), 1, "{notified:?}");
        assert!(!red || notified.len() == 1, "{notified:?}");
        // Once the base is green the check is run again, fails again, and is the agent's.
        assert_eq!(world.turns_with("A check failed") > 0, !red);
        world.run_for(if red { 7200 } else { 0 });
    }
}

/// acceptance: F2, F4
#[test]
fn a_check_that_flips_twenty_times_is_reported_a_bounded_number_of_times() {
    let mut world = SimWorld::calm(parts());
    let session = world.spawn(SpawnSpec::default()).unwrap();
    world.run_for(60);
    let pull = world.open_pull(session);
    for _ in 0..20 {
        world.check(&pull, failed());
        world.run_for(400);
        world.check(&pull, CheckState::Pending);
        world.run_for(400);
    }
    let attempts = DaemonSettings::default().reaction(&IncidentKind::CiFailed).attempts as usize;
    // No message is configured, so the default one is sent.
    assert_eq!(world.turns_with("A check failed on your pull request."), attempts);
    assert_eq!(world.notified().len(), 1, "{:?}", world.notified());
    world.run_for(7200);
    assert_eq!((world.turns_with("A check failed"), world.notified().len()), (attempts, 1));
    // Green for good: the next failure is a new one.
    world.check(&pull, CheckState::Passed);
    world.run_for(600);
    world.check(&pull, failed());
    world.run_for(60);
    assert_eq!(world.turns_with("A check failed"), attempts + 1);
}
