//! Verdicts of checks: passed, failed, skipped or broken, and the number of attempts.

use std::fs;
use std::time::Duration;

use ao_ports::{CheckSpec, RunState};

use crate::checks_support::{Bench, check, finished, output, pull};

#[tokio::test]
async fn a_check_passes_in_a_clean_checkout_of_its_commit() {
    let bench = Bench::new();
    fs::write(bench.repository().join("README.md"), "changed\n").unwrap();
    fs::write(bench.repository().join("untracked"), "").unwrap();
    let runner = bench.runner().await;
    let begun =
        runner.run(bench.job(vec![check("cat README.md; git status --short; ls; basename \"$PWD\"")])).await;
    let begun = begun.unwrap().remove(0);
    assert_eq!((begun.state, begun.tries), (RunState::Queued, 0));
    let run = finished(&runner, &begun.id).await;
    assert_eq!((run.state, run.exit_code, run.tries, &run.why), (RunState::Passed, Some(0), 1, &None));
    assert!(run.queued_at <= run.began_at.unwrap() && run.began_at <= run.ended_at);
    assert_eq!((run.check.as_str(), run.required, &run.pull), ("unit", true, &Some(pull(7))));
    assert_eq!(output(&runner, &run.id).await, "one\nREADME.md\nrepo\n");
    assert_eq!(runner.get(&run.id).await, Some(run.clone()));
    bench.no_trees().await;
    assert_eq!(fs::read_to_string(bench.repository().join("README.md")).unwrap(), "changed\n");
}

#[tokio::test]
async fn a_failing_check_is_not_retried_and_has_its_output() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let spec = CheckSpec { retries: 3, ..check("echo one; echo 'test x ... FAILED' >&2; exit 3") };
    let run = bench.run(&runner, spec).await;
    assert_eq!((run.state, run.exit_code, run.tries), (RunState::Failed, Some(3), 1));
    assert_eq!(run.why.as_deref(), Some("ended with exit code 3"));
    let failure = run.failure.expect("it failed");
    let names: Vec<_> = failure.items.iter().filter_map(|item| item.name.as_deref()).collect();
    assert_eq!(names, ["x"], "{failure:?}");
    assert!(failure.excerpt.contains('x') && !failure.signature.is_empty(), "{failure:?}");
    assert_eq!(fs::read_to_string(run.log.unwrap()).unwrap(), "one\ntest x ... FAILED\n");
}

#[tokio::test]
async fn a_check_that_takes_too_long_is_ended_and_has_failed() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let command = "trap '' TERM; echo begun; sleep 600 & wait; sleep 600";
    let spec = CheckSpec { timeout: Duration::from_millis(300), retries: 2, ..check(command) };
    let run = bench.run(&runner, spec).await;
    assert_eq!((run.state, run.exit_code, run.tries), (RunState::Failed, None, 1));
    assert_eq!(run.why.as_deref(), Some("was not done after 300ms"));
    assert_eq!(run.failure.expect("it failed").excerpt, "begun");
}

#[tokio::test]
async fn a_command_that_is_not_there_is_the_configurations_fault() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let run = bench.run(&runner, CheckSpec { retries: 2, ..check("no-such-program --test") }).await;
    assert_eq!((run.state, run.exit_code, run.tries), (RunState::Broken, Some(127), 1));
    assert!(run.why.unwrap().contains("no such command"));
    let run = bench.run(&runner, CheckSpec { retries: 2, ..check("./README.md") }).await;
    assert_eq!((run.state, run.exit_code, run.tries), (RunState::Broken, Some(126), 1));
}

#[tokio::test]
async fn a_check_that_was_killed_is_tried_again_in_a_new_checkout() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let count = bench.path("count");
    let command = format!(
        "test -e used && exit 9; touch used; echo x >> {count}; test $(wc -l < {count}) -gt 2 || kill -9 $$"
    );
    let run = bench.run(&runner, CheckSpec { retries: 5, ..check(&command) }).await;
    assert_eq!((run.state, run.exit_code, run.tries), (RunState::Passed, Some(0), 3), "{run:?}");
    let log = output(&runner, &run.id).await;
    assert_eq!(log.matches("signal 9").count(), 2, "{log}");
    bench.no_trees().await;

    let run = bench.run(&runner, CheckSpec { retries: 1, ..check("kill -9 $$") }).await;
    assert_eq!((run.state, run.tries), (RunState::Broken, 2));
    assert!(run.why.unwrap().contains("signal 9"));
}

#[tokio::test]
async fn a_commit_that_cannot_be_checked_out_is_no_fault_of_the_change() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let mut job = bench.job(vec![CheckSpec { retries: 1, ..check("true") }]);
    job.commit = ao_core::Commit::new(&"0123456789".repeat(4));
    let run = bench.run_job(&runner, job.clone()).await;
    assert_eq!((run.state, run.tries), (RunState::Broken, 0));
    assert!(run.why.as_ref().unwrap().contains("could not be checked out"), "{run:?}");
    bench.no_trees().await;
    let anew = bench.run_job(&runner, job.clone()).await;
    assert_ne!(anew.id, run.id, "who asks again may have fetched the commit meanwhile");
    job.commit = ao_core::Commit::new("--help");
    let err = runner.run(job).await.unwrap_err().to_string();
    assert!(err.contains("`--help`"), "{err}");
}

#[tokio::test]
async fn a_check_of_other_paths_is_skipped() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let spec = |paths: &[&str]| CheckSpec {
        paths: paths.iter().map(|path| (*path).into()).collect(),
        ..check("true")
    };
    let mut job = bench.job(vec![spec(&["src/**", "Cargo.*"])]);
    job.changed = Some(vec!["docs/src/a b.md".into(), "READ\"ME".into()]);
    let run = bench.run_job(&runner, job.clone()).await;
    assert_eq!((run.state, run.tries, run.log), (RunState::Skipped, 0, None));
    assert_eq!(output(&runner, &run.id).await, "");
    assert_eq!(runner.run(job.clone()).await.unwrap()[0].id, run.id, "not skipped a second time");

    job.changed = Some(vec!["README.md".into(), "src/a.rs".into()]);
    job.again = true;
    assert_eq!(bench.run_job(&runner, job.clone()).await.state, RunState::Passed);
    job.changed = None;
    assert_eq!(
        bench.run_job(&runner, job.clone()).await.state,
        RunState::Passed,
        "nobody knows, so it is run"
    );
    job.changed = Some(vec!["a".into()]);
    job.checks = vec![spec(&["["])];
    let run = bench.run_job(&runner, job).await;
    assert_eq!(run.state, RunState::Broken, "a typo skips nothing");
}

#[tokio::test]
async fn a_result_that_cannot_be_recorded_is_none() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let go = bench.path("go");
    let begun = runner
        .run(bench.job(vec![check(&format!("while ! test -e {go}; do sleep 0.01; done"))]))
        .await
        .unwrap();
    while runner.get(&begun[0].id).await.unwrap().state != RunState::Running {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    bench.records.fail_after(0);
    fs::write(&go, "").unwrap();
    let run = finished(&runner, &begun[0].id).await;
    assert_eq!(run.state, RunState::Broken);
    assert!(run.why.unwrap().contains("could not be recorded"));
    bench.records.recover();
    let again = bench.run_job(&runner, bench.job(vec![check(&format!("test -e {go}"))])).await;
    assert_eq!(again.state, RunState::Passed);
}
