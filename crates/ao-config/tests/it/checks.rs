//! Checks in a configuration.

use crate::support::{read, wrong_with};

/// All notations of a check, and the position of each mistake.
#[test]
fn checks_are_commands_with_a_name_of_their_own() {
    let good = "projects:\n  app:\n    path: /app\n    checks:\n      - cargo test --workspace\n      - name: lint\n        command: make lint\n        timeout: 5m\n        paths: ['src/**']\n        required: false\n        environment: { set: { CI: '1' } }\n        retries: 0\n";
    let loaded = read(good).unwrap();
    let config = &loaded.config;
    let checks = &config.projects["app"].checks;
    assert_eq!((checks[0].name().as_str(), checks[0].required, checks[0].retries), ("cargo test", true, 1));
    assert_eq!(
        (checks[1].name().as_str(), checks[1].required, checks[1].env.set["CI"].as_str()),
        ("lint", false, "1")
    );
    for (text, what) in [
        ("    checks: ['']\n", "a check needs a `command`"),
        ("    checks: [make test, make test]\n", "there is another check called `make test`"),
        ("    checks:\n      - { comand: x }\n", "command"),
        ("    tracker: { plugin: local, keep: drawer }\n", "`keep` has to be `store` or `files`"),
        ("    scm: { plugin: local, push: true }\n", "`local` has no option `push`"),
    ] {
        let err = wrong_with(&format!("projects:\n  app:\n    path: /app\n{text}"));
        assert!(err.contains(what), "{text}: {err}");
    }
}
