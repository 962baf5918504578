//! The output of a run: as it comes, bounded, and without secrets.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ao_core::setup::{SecretRef, SecretSource};
use ao_scm::checks::Options;

use crate::checks_support::{Bench, LONG, check, finished, output};

#[tokio::test]
async fn output_is_seen_while_the_check_runs() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let go = bench.path("go");
    let command = format!("echo one; echo two >&2; while ! test -e {go}; do sleep 0.01; done; printf three");
    let id = runner.run(bench.job(vec![check(&command)])).await.unwrap().remove(0).id;
    let (mut from, mut seen) = (0, Vec::new());
    while seen != b"one\ntwo\n" {
        let part = tokio::time::timeout(LONG, runner.log(&id, from, 3, true)).await.unwrap().unwrap();
        assert!(part.bytes.len() <= 3 && !part.ended);
        seen.extend(part.bytes);
        from = part.next;
    }
    let nothing = runner.log(&id, from, 100, false).await.unwrap();
    assert_eq!((nothing.bytes.len(), nothing.next, nothing.ended), (0, from, false));
    let waiting = tokio::spawn({
        let (runner, id) = (runner.clone(), id.clone());
        async move { runner.log(&id, from, 100, true).await.unwrap() }
    });
    fs::write(go, "").unwrap();
    assert_eq!(waiting.await.unwrap().bytes, b"three");
    finished(&runner, &id).await;
    assert_eq!(output(&runner, &id).await, "one\ntwo\nthree");
    let end = runner.log(&id, 13, 100, true).await.unwrap();
    assert_eq!((end.bytes.len(), end.next, end.ended), (0, 13, true));
    assert!(runner.log("run_0", 0, 1, true).await.is_err());
}

#[tokio::test]
async fn of_a_long_log_both_ends_are_kept() {
    let bench = Bench::new();
    let runner = bench.runner_with(Options { log_limit: 64 << 10, ..bench.options() }).await;
    let run = bench.run(&runner, check("seq 200000")).await;
    let path = run.log.unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.len() <= 64 << 10, "{}", text.len());
    assert!(text.starts_with("1\n2\n3\n") && text.ends_with("199999\n200000\n"));
    assert!(text.contains("bytes were left out here]\n"));
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(output(&runner, &run.id).await, text);
}

#[tokio::test]
async fn secrets_reach_the_check_and_not_its_log() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let file = bench.path("key");
    fs::write(&file, "s3cret-value-of-a-file\n").unwrap();
    let mut spec = check("echo \"<$KEY>\"; printf %s \"$KEY\" | wc -c; exit 1");
    spec.environment.secrets =
        vec![SecretRef { name: "KEY".into(), from: SecretSource::File(file.into_string()) }];
    let run = bench.run(&runner, spec.clone()).await;
    assert_eq!(output(&runner, &run.id).await, "<[secret KEY]>\n22\n");
    assert!(!format!("{run:?}").contains("s3cret"));

    spec.environment.secrets[0].from = SecretSource::File("/nowhere/key".into());
    let run = bench.run(&runner, spec).await;
    assert_eq!((run.state, run.tries), (ao_ports::RunState::Broken, 0));
    assert!(run.why.unwrap().contains("/nowhere/key"));
}

#[tokio::test]
async fn all_logs_together_are_bounded_and_the_oldest_go_first() {
    let bench = Bench::new();
    let options = Options { logs_limit: 100_000, cap: 1, ..bench.options() };
    let runner = bench.runner_with(options).await;
    let mut runs = Vec::new();
    for number in 0..8 {
        runs.push(bench.run(&runner, check(&format!("seq 5000 # {number}"))).await);
    }
    bench.no_trees().await;
    crate::checks_support::until("the oldest are gone", || {
        let logs = fs::read_dir(bench.path("checks/logs")).unwrap();
        logs.map(|log| log.unwrap().metadata().unwrap().len()).sum::<u64>() <= 100_000
    })
    .await;
    let err = runner.log(&runs[0].id, 0, 10, true).await.unwrap_err().to_string();
    assert!(err.contains("no longer kept"), "{err}");
    assert!(output(&runner, &runs[7].id).await.ends_with("5000\n"));
}
