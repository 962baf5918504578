//! Hooks in a configuration.

use std::time::Duration;

use ao_core::hook::HookPoint;

use crate::support::{read, wrong_with};

/// All notations of hooks, in the order in which they run.
#[test]
fn hooks_are_commands_at_points_and_those_at_the_top_come_first() {
    let loaded = read(
        "hooks:\n  before_merge: ./freeze.sh\n  merged:\n    - ./tell.sh\n    - { command: ./count.sh, timeout: 5s }\n\
         projects:\n  app:\n    path: /app\n    hooks:\n      beforeMerge: { run: 'test -f $OK', timeout: 30s }\n  \
         other:\n    path: /other\n",
    )
    .unwrap();
    let told = |project: &str| -> Vec<String> {
        let hooks = loaded.config.hooks_of(project).into_iter();
        hooks.map(|hook| format!("{} {} {:?}", hook.point, hook.command, hook.timeout)).collect()
    };
    let (merge, tell, count) =
        ("before-merge ./freeze.sh 60s", "merged ./tell.sh 60s", "merged ./count.sh 5s");
    assert_eq!(told("app"), [merge, tell, count, "before-merge test -f $OK 30s"]);
    assert_eq!(told("other"), [merge, tell, count]);
    let own = &loaded.config.projects["app"].hooks.0[&HookPoint::BeforeMerge];
    assert_eq!(own[0].timeout.0, Duration::from_secs(30));
    // The shown configuration can be read again.
    assert_eq!(read(&loaded.show()).unwrap().config, loaded.config);
}

#[test]
fn what_is_wrong_with_a_hook_is_said_by_its_place() {
    for (text, what) in [
        ("hooks:\n  before-merg: x\n", "did you mean `before-merge`?"),
        ("hooks:\n  merged: { run: x, timeout: 5 }\n", "add a unit"),
        ("hooks:\n  merged: { timeout: 5s }\n", "`run` is missing"),
        ("hooks:\n  merged: ['']\n", "a hook needs a command"),
    ] {
        let err = wrong_with(text);
        assert!(err.contains(what), "{text}: {err}");
    }
}
