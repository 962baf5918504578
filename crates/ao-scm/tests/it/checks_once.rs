//! Nothing runs twice, concurrency is bounded, and runs that are not needed are cancelled.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use ao_core::Commit;
use ao_ports::{CheckRun, CheckSpec, RunFilter, RunState};
use ao_scm::checks::{CheckJob, Options, Runner};

use crate::checks_support::{Bench, check, finished, lives, output, pull, until};

#[tokio::test]
async fn the_same_tree_and_command_is_run_once_however_many_ask() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let count = bench.path("count");
    let command = format!("echo x >> {count}; sleep 0.2; echo done");
    let job = bench.job(vec![check(&command)]);
    let (first, second) = tokio::join!(runner.run(job.clone()), runner.run(job.clone()));
    let (first, second) = (first.unwrap().remove(0), second.unwrap().remove(0));
    assert_eq!(first.id, second.id, "the same question has the same answer");

    // Another pull request with other commits, that would land the same tree.
    bench.git(&["commit", "--quiet", "--amend", "-m", "other words"]);
    let mut other = bench.job(vec![check(&command)]);
    other.pull = Some(pull(8));
    assert_ne!(other.head, job.head);
    let joined = runner.run(other.clone()).await.unwrap().remove(0);
    assert_eq!(joined.same_as, Some(first.id.clone()));
    let (run, joined) = (finished(&runner, &first.id).await, finished(&runner, &joined.id).await);
    assert_eq!((run.state, joined.state), (RunState::Passed, RunState::Passed));
    assert_eq!((run.tries, joined.tries, &joined.head), (1, 0, &other.head));
    assert_eq!(output(&runner, &joined.id).await, "done\n");

    // And one that comes when all is over.
    other.pull = None;
    let late = runner.run(other.clone()).await.unwrap().remove(0);
    assert_eq!((late.state, late.same_as), (RunState::Passed, Some(first.id.clone())));
    assert_eq!(output(&runner, &late.id).await, "done\n");
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\n");

    other.again = true;
    let again = bench.run_job(&runner, other.clone()).await;
    assert_eq!((again.state, again.same_as), (RunState::Passed, None));
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\nx\n");
    bench.no_trees().await;
}

#[tokio::test]
async fn another_command_tree_environment_or_limit_is_another_result() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let count = bench.path("count");
    let spec = check(&format!("echo x >> {count}"));
    let mut with_variable = spec.clone();
    with_variable.environment.set.insert("A".into(), "b".into());
    let all = [
        CheckSpec { command: format!("{} ", spec.command), ..spec.clone() },
        CheckSpec { timeout: spec.timeout * 2, ..spec.clone() },
        CheckSpec { name: "other".into(), ..spec.clone() },
        with_variable,
        spec.clone(),
    ];
    for spec in all {
        assert_eq!(bench.run(&runner, spec).await.same_as, None);
    }
    bench.commit("README.md", "two\n");
    assert_eq!(bench.run(&runner, spec).await.same_as, None);
    assert_eq!(fs::read_to_string(&count).unwrap().lines().count(), 6);
}

#[tokio::test]
async fn a_failure_counts_as_a_result_and_a_broken_run_does_not() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let failed = bench.run(&runner, check("echo no; false")).await;
    let broken = bench.run(&runner, check("no-such-program")).await;
    let other = |command: &str| {
        let mut job = bench.job(vec![check(command)]);
        job.pull = Some(pull(8));
        job
    };
    let same = bench.run_job(&runner, other("echo no; false")).await;
    assert_eq!((same.state, same.same_as, same.failure), (RunState::Failed, Some(failed.id), failed.failure));
    let anew = bench.run_job(&runner, other("no-such-program")).await;
    assert_eq!((anew.state, anew.same_as), (RunState::Broken, None));
    assert_ne!(anew.id, broken.id);
}

#[tokio::test]
async fn a_broken_run_is_retried_on_the_next_request() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let program = bench.path("program");
    let job = bench.job(vec![check(program.as_str())]);
    let broken = bench.run_job(&runner, job.clone()).await;
    assert_eq!(broken.state, RunState::Broken, "the program is not there: {:?}", broken.why);
    fs::write(&program, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let anew = bench.run_job(&runner, job.clone()).await;
    assert_eq!((anew.state, anew.same_as), (RunState::Passed, None));
    assert_eq!(bench.run_job(&runner, job).await.id, anew.id, "which is the answer from now on");
}

#[tokio::test]
async fn other_paths_are_another_question_with_the_same_result() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let count = bench.path("count");
    let with = |paths: &[&str]| {
        let paths = paths.iter().map(|&path| path.to_owned()).collect();
        let mut job = bench.job(vec![CheckSpec { paths, ..check(&format!("echo x >> {count}")) }]);
        job.changed = Some(vec!["README.md".into()]);
        job
    };
    assert_eq!(bench.run_job(&runner, with(&["src/**"])).await.state, RunState::Skipped);
    let wider = bench.run_job(&runner, with(&["src/**", "*.md"])).await;
    assert_eq!((wider.state, wider.same_as), (RunState::Passed, None), "it was only skipped before");
    let always = bench.run_job(&runner, with(&[])).await;
    assert_eq!((always.state, always.same_as), (RunState::Passed, Some(wider.id)));

    assert_eq!(bench.run_job(&runner, with(&["[a"])).await.state, RunState::Broken);
    assert_eq!(bench.run_job(&runner, with(&["[a]"])).await.state, RunState::Skipped);
    assert_eq!(fs::read_to_string(&count).unwrap(), "x\n");
}

#[tokio::test]
async fn no_more_run_at_a_time_than_may() {
    let bench = Bench::new();
    let runner = bench.runner_with(Options { cap: 2, ..bench.options() }).await;
    let (now, most) = (bench.path("now"), bench.path("most"));
    fs::create_dir(&now).unwrap();
    let command = format!("touch {now}/$$; ls {now} | wc -l >> {most}; sleep 0.1; rm {now}/$$");
    let checks =
        (0..7).map(|number| CheckSpec { name: format!("unit {number}"), ..check(&command) }).collect();
    let runs = runner.run(bench.job(checks)).await.unwrap();
    let ids: Vec<String> = runs.into_iter().map(|run| run.id).collect();
    let over = runner.finished(&ids).await;
    assert!(over.len() == 7 && over.iter().all(|run| run.state == RunState::Passed), "{over:?}");
    let mut seen: Vec<u32> =
        fs::read_to_string(&most).unwrap().lines().map(|line| line.trim().parse().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen.last(), Some(&2), "{seen:?}");
    let order: Vec<_> = over.iter().map(|run| run.began_at).collect();
    assert!(order.is_sorted(), "who came first is first: {order:?}");
}

#[tokio::test]
async fn runs_are_cancelled_when_the_head_moves() {
    let bench = Bench::new();
    let runner = bench.runner_with(Options { cap: 1, ..bench.options() }).await;
    let pid = bench.path("pid");
    let checks = ["one", "two"]
        .map(|name| CheckSpec { name: name.into(), ..check(&format!("echo $$ > {pid}; sleep 600")) });
    let old = runner.run(bench.job(checks.to_vec())).await.unwrap();
    until("it runs", || fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))).await;
    let mut news = runner.subscribe();
    bench.commit("README.md", "two\n");
    let head = Commit::new(&bench.git(&["rev-parse", "HEAD"]));
    runner.cancel(&pull(8), None).await;
    runner.cancel(&pull(7), Some(&head)).await;
    for run in &old {
        let run = finished(&runner, &run.id).await;
        assert_eq!((run.state, run.why.as_deref()), (RunState::Cancelled, Some("the head has moved")));
    }
    assert_eq!(news.recv().await.unwrap().state, RunState::Cancelled);
    let pid = fs::read_to_string(&pid).unwrap();
    until("it is ended", || !lives(&pid)).await;
    bench.no_trees().await;

    let new = bench.run(&runner, check("true")).await;
    assert_eq!(new.state, RunState::Passed, "its slot is free again");
    runner.cancel(&pull(7), Some(&head)).await;
    assert_eq!(runner.get(&new.id).await.unwrap().state, RunState::Passed, "what is over stays as it is");
}

#[tokio::test]
async fn an_execution_that_another_pull_request_waits_for_goes_on() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let go = bench.path("go");
    let mut job = bench.job(vec![check(&format!("while ! test -e {go}; do sleep 0.01; done; echo done"))]);
    let first = runner.run(job.clone()).await.unwrap().remove(0);
    job.pull = Some(pull(8));
    let second = runner.run(job.clone()).await.unwrap().remove(0);
    job.pull = Some(pull(9));
    let third = runner.run(job.clone()).await.unwrap().remove(0);
    runner.cancel(&pull(7), None).await;
    let cancelled = finished(&runner, &first.id).await;
    assert_eq!(
        (cancelled.state, cancelled.why.as_deref()),
        (RunState::Cancelled, Some("the pull request is over"))
    );
    job.pull = Some(pull(7));
    let back = runner.run(job).await.unwrap().remove(0);
    fs::write(&go, "").unwrap();
    let second = finished(&runner, &second.id).await;
    assert_eq!(
        (second.state, second.same_as, second.tries),
        (RunState::Passed, None, 1),
        "it stands for itself now"
    );
    for id in [third.id, back.id] {
        let other = finished(&runner, &id).await;
        assert_eq!((other.state, other.same_as.as_ref()), (RunState::Passed, Some(&second.id)));
    }
    assert_eq!(output(&runner, &second.id).await, "done\n");
}

/// Two tests of the same things in the merge queue, of which the first is void meanwhile.
#[tokio::test]
async fn a_run_is_cancelled_when_its_last_request_is_withdrawn() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let pid = bench.path("pid");
    let mut job = bench.job(vec![check(&format!("echo $$ > {pid}; sleep 600"))]);
    job.ahead = vec![pull(5), pull(6)];
    let first = runner.run(job.clone()).await.unwrap().remove(0);
    let second = runner.run(job.clone()).await.unwrap().remove(0);
    assert_eq!(first.id, second.id, "it is the same question");
    until("it runs", || fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))).await;
    runner.give_up(std::slice::from_ref(&first.id)).await;
    assert_eq!(runner.get(&first.id).await.unwrap().state, RunState::Running, "somebody else wants it");

    // Alone it is another question, with the same answer as long as that comes.
    let own = runner.run(CheckJob { ahead: vec![], ..job.clone() }).await.unwrap().remove(0);
    assert_eq!(own.same_as.as_ref(), Some(&first.id));
    runner.give_up(std::slice::from_ref(&second.id)).await;
    assert_eq!(runner.get(&first.id).await.unwrap().state, RunState::Cancelled);
    let own = runner.get(&own.id).await.unwrap();
    assert_eq!((own.state, own.same_as), (RunState::Running, None), "it stands for itself now");
    let pid = fs::read_to_string(&pid).unwrap();
    assert!(lives(&pid), "and is not begun anew");

    let filter = RunFilter { pull: Some(pull(7)), alone: true, ..RunFilter::default() };
    let listed = runner.runs(&job.project, &filter).await.unwrap();
    assert_eq!(listed.iter().map(|run| &run.id).collect::<Vec<_>>(), [&own.id]);
    runner.cancel(&pull(7), None).await;
    until("it is ended", || !lives(&pid)).await;
    // The next request starts it again.
    let again = runner.run(job).await.unwrap().remove(0);
    assert!(again.id != first.id && again.same_as.is_none(), "{again:?}");
    runner.stop().await;
}

/// The runs of the pull request of the bench, once they are as they should be.
async fn listed(runner: &Runner, enough: impl Fn(&[CheckRun]) -> bool) -> Vec<CheckRun> {
    let filter = RunFilter { pull: Some(pull(7)), ..RunFilter::default() };
    let mut news = runner.subscribe();
    let looking = async {
        loop {
            let runs = runner.runs(&pull(7).project, &filter).await.unwrap();
            if enough(&runs) {
                return runs;
            }
            // Not everything makes news: what is forgotten does not.
            tokio::time::timeout(Duration::from_millis(20), news.recv()).await.ok();
        }
    };
    tokio::time::timeout(Duration::from_secs(30), looking).await.expect("the runs are as they should be")
}

/// A test that is void before its runs have a name.
#[tokio::test]
async fn a_dropped_request_withdraws_its_speculative_runs() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let alone = bench.job(vec![check("sleep 600")]);
    let behind = CheckJob { ahead: vec![pull(5)], ..bench.job(vec![check("sleep 601")]) };
    for job in [&alone, &behind] {
        tokio::select! {
            biased;
            _ = runner.run(job.clone()) => panic!("that takes a moment"),
            () = std::future::ready(()) => {}
        }
    }
    let given_up = |run: &CheckRun| run.state == RunState::Cancelled;
    let runs = listed(&runner, |runs| runs.len() == 2 && given_up(&runs[0])).await;
    assert_eq!((runs[0].ahead.len(), runs[1].ahead.len()), (1, 0));
    assert!(!given_up(&runs[1]), "the pull request's own goes on, whoever has asked");
    runner.stop().await;
}

/// However often the merge queue tries a change, its own runs are not forgotten for that.
#[tokio::test]
async fn speculative_runs_are_deleted_before_the_pull_requests_own() {
    let bench = Bench::new();
    let runner = bench.runner_with(Options { keep_runs: 2, ..bench.options() }).await;
    let own = bench.run(&runner, check("true")).await;
    for number in 20..26 {
        let job = CheckJob { ahead: vec![pull(number)], ..bench.job(vec![check("true")]) };
        bench.run_job(&runner, job).await;
    }
    let runs = listed(&runner, |runs| runs.len() == 3).await;
    assert_eq!(runs[2].id, own.id);
}

#[tokio::test]
async fn runs_are_listed_newest_first_and_the_oldest_are_forgotten() {
    let bench = Bench::new();
    let runner = bench.runner_with(Options { keep_runs: 3, ..bench.options() }).await;
    let mut ids = Vec::new();
    for number in 0..6 {
        bench.commit("README.md", &format!("{number}\n"));
        let command = if number % 2 == 0 { "echo x" } else { "echo x; false" };
        ids.insert(0, bench.run(&runner, check(command)).await.id);
    }
    let project = ao_core::ProjectId::new("my-app");
    let listed = async |filter: RunFilter| {
        let runs = runner.runs(&project, &filter).await.unwrap();
        runs.into_iter().map(|run| run.id).collect::<Vec<_>>()
    };
    until("the old ones are forgotten", || bench.records.count("run/") == 3).await;
    assert_eq!(listed(RunFilter::default()).await, ids[..3]);
    assert_eq!(listed(RunFilter { limit: 1, ..RunFilter::default() }).await, ids[..1]);
    assert_eq!(listed(RunFilter { pull: Some(pull(7)), ..RunFilter::default() }).await, ids[..3]);
    assert!(listed(RunFilter { pull: Some(pull(70)), ..RunFilter::default() }).await.is_empty());
    assert_eq!(listed(RunFilter { state: Some(RunState::Passed), ..RunFilter::default() }).await, ids[1..2]);
    assert_eq!(runner.get(&ids[5]).await, None);
    assert_eq!(fs::read_dir(bench.path("checks/logs")).unwrap().count(), 3);
    assert_eq!(
        ["ask/", "key/", "log/", "group/", "project/", "live/"].map(|prefix| bench.records.count(prefix)),
        [3, 3, 3, 3, 3, 0]
    );
}

#[tokio::test]
async fn of_a_pull_request_that_is_over_only_the_last_commit_is_kept() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let mut other = bench.job(vec![check("echo other")]);
    other.pull = Some(pull(8));
    let other = bench.run_job(&runner, other).await.id;
    let mut last = String::new();
    for number in 0..3 {
        bench.commit("README.md", &format!("{number}\n"));
        last = bench.run(&runner, check("echo x")).await.id;
    }
    runner.cancel(&pull(7), Some(&Commit::new(&bench.git(&["rev-parse", "HEAD"])))).await;
    assert_eq!(bench.records.count("run/"), 4, "its head has only moved");
    runner.cancel(&pull(7), None).await;
    until("the earlier ones are forgotten", || bench.records.count("run/") == 2).await;
    assert!(runner.get(&last).await.is_some() && runner.get(&other).await.is_some());
    until("so are their logs", || fs::read_dir(bench.path("checks/logs")).unwrap().count() == 2).await;
}

#[tokio::test]
async fn a_project_keeps_no_more_runs_than_it_may_however_many_pull_requests_it_has() {
    let bench = Bench::new();
    let runner = bench.runner_with(Options { keep_project_runs: 3, ..bench.options() }).await;
    let mut ids = Vec::new();
    for number in 1..=6 {
        let mut job = bench.job(vec![check(&format!("echo {number}"))]);
        job.pull = Some(pull(number));
        ids.push(bench.run_job(&runner, job).await.id);
    }
    until("the oldest are forgotten", || bench.records.count("run/") == 3).await;
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(runner.get(id).await.is_some(), number >= 3, "{number}");
    }
    assert_eq!(["group/", "project/", "log/"].map(|prefix| bench.records.count(prefix)), [3, 3, 3]);
}
