//! The command's process: what it finds, and that nothing of it is left.

use std::fs;

use ao_ports::RunState;

use crate::checks_support::{Bench, check, lives, output, until};

#[tokio::test]
async fn a_check_finds_what_programs_need_and_no_secret_of_ours() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let mut spec =
        check("env | cut -d= -f1 | sort; echo $AO_CHECK $AO_PROJECT $CI $MINE; cat; ls -l /proc/$$/fd/0");
    spec.name = "unit 'tests'".into();
    spec.environment.set.insert("MINE".into(), "a b".into());
    let run = bench.run(&runner, spec).await;
    let text = output(&runner, &run.id).await;
    assert_eq!(run.state, RunState::Passed, "{text}");
    assert!(text.contains("unit 'tests' my-app 1 a b\n") && text.contains("/dev/null"), "{text}");
    // The environment of the tests stands for that of a daemon.
    for ours in ["CARGO_MANIFEST_DIR", "NEXTEST", "CARGO_PKG_NAME", "GIT_DIR", "AO_TOKEN"] {
        assert!(!text.lines().any(|line| line == ours), "{ours} in {text}");
    }
    assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "or this shows nothing");
    for needed in ["PATH", "AO_CHECK_RUN"] {
        assert!(text.lines().any(|line| line == needed), "{needed} not in {text}");
    }
}

#[tokio::test]
async fn processes_that_a_check_leaves_are_ended() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let (group, daemon) = (bench.path("group"), bench.path("daemon"));
    // One in the background, which holds the output open; one that has left the group and lets go of everything.
    let command = format!(
        "sleep 600 & echo $! > {group}; \
         setsid sh -c 'sleep 600 & echo $! > {daemon}' > /dev/null 2>&1 < /dev/null; \
         echo done"
    );
    let run = bench.run(&runner, check(&command)).await;
    assert_eq!((run.state, output(&runner, &run.id).await.as_str()), (RunState::Passed, "done\n"));
    for file in [group, daemon] {
        let pid = fs::read_to_string(&file).unwrap();
        until("it is ended", || !lives(&pid)).await;
    }
    bench.no_trees().await;
}

#[tokio::test]
async fn a_daemon_that_has_let_go_of_everything_is_ended_before_its_checkout_goes() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let pid = bench.path("pid");
    let command = format!("setsid sh -c 'sleep 600 & echo $! > {pid}' > /dev/null 2>&1 < /dev/null");
    assert_eq!(bench.run(&runner, check(&command)).await.state, RunState::Passed);
    bench.no_trees().await;
    assert!(!lives(&fs::read_to_string(&pid).unwrap()));
}
