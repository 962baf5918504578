//! What comes back from the forge.

use ao_core::incident::IncidentKind;
use ao_core::{Settings, pull::CheckState};
use ao_testkit::{Spawn, World};

fn failed() -> CheckState {
    CheckState::Failed {
        certain: false,
        files: vec![],
        signature: "E1".into(),
        excerpt: "error: E1".into(),
        url: "https://ci/1".into(),
        log: None,
    }
}

/// acceptance: F2, F4
#[test]
fn a_check_that_flips_twenty_times_is_told_so_often_and_no_more() {
    let mut world = World::calm();
    let session = world.spawn(Spawn::default()).unwrap();
    world.run_for(60);
    let pull = world.open_pull(session);
    for _ in 0..20 {
        world.check(&pull, failed());
        world.run_for(400);
        world.check(&pull, CheckState::Pending);
        world.run_for(400);
    }
    let attempts = Settings::default().reaction(&IncidentKind::CiFailed).attempts as usize;
    // Words of its own were never configured: the default ones are sent.
    assert_eq!(world.turns_with("A check failed on your pull request."), attempts);
    assert_eq!(world.told().len(), 1, "{:?}", world.told());
    world.run_for(7200);
    assert_eq!((world.turns_with("A check failed"), world.told().len()), (attempts, 1));
    // Green for good: the next failure is a new one.
    world.check(&pull, CheckState::Passed);
    world.run_for(600);
    world.check(&pull, failed());
    world.run_for(60);
    assert_eq!(world.turns_with("A check failed"), attempts + 1);
}
