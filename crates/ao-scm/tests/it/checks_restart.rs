//! The end of a daemon, in good order and otherwise.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use ao_ports::{Records, RunState};
use ao_scm::checks::Runner;
use ao_store::Store;
use ao_testkit::WallClock;
use camino::Utf8Path;

use crate::checks_support::{Bench, check, finished, lives, until};

/// By this, the test program knows that it is to be the daemon that will be killed.
const DAEMON: &str = "CHECKS_TEST_JOB";

#[tokio::test]
async fn the_leftovers_of_a_killed_daemon_are_cleaned_up() {
    if std::env::var_os(DAEMON).is_some() {
        return daemon().await;
    }
    let bench = Bench::new();
    let job = bench.path("job");
    fs::write(&job, format!("{}\n{}", bench.repository(), bench.git(&["rev-parse", "HEAD", "HEAD^{tree}"])))
        .unwrap();
    let mut daemon = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "checks_restart::the_leftovers_of_a_killed_daemon_are_cleaned_up", "--nocapture"])
        .env(DAEMON, &job)
        .spawn()
        .unwrap();
    let pids = [bench.path("pid"), bench.path("daemon")];
    until("its check runs", || {
        pids.iter().all(|pid| fs::read_to_string(pid).is_ok_and(|it| it.ends_with('\n')))
    })
    .await;
    // The log of the database: the daemon still has the database itself.
    let log = bench.path("ao.db-wal");
    let is_recorded = |log: Vec<u8>| String::from_utf8_lossy(&log).contains(r#""state":"running""#);
    until("that is recorded", || fs::read(&log).is_ok_and(is_recorded)).await;
    let logs = bench.options().logs();
    let has_begun = |log: fs::DirEntry| fs::read(log.path()).is_ok_and(|log| log.starts_with(b"begun\n"));
    let some_has_begun =
        || fs::read_dir(&logs).is_ok_and(|mut logs| logs.any(|log| log.is_ok_and(has_begun)));
    until("its output is kept", some_has_begun).await;
    daemon.kill().unwrap();
    daemon.wait().unwrap();
    let pids = pids.map(|pid| fs::read_to_string(pid).unwrap());
    assert!(pids.iter().all(|pid| lives(pid)), "or there is nothing to clear away");
    assert_eq!(fs::read_dir(bench.path("checks/trees")).unwrap().count(), 1);
    bench.git(&["worktree", "prune"]);

    let store = open_store(&bench.path(""));
    let clock = Arc::new(WallClock::default());
    let runner = Runner::open(bench.options(), store.clone(), clock).await.unwrap();
    assert!(pids.iter().all(|pid| !lives(pid)));
    assert_eq!(fs::read_dir(bench.path("checks/trees")).unwrap().count(), 0);
    assert_eq!(bench.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
    assert_eq!(store.list("checks", "live/", None, 1).await.unwrap(), []);
    let runs = runner.runs(&ao_core::ProjectId::new("my-app"), &Default::default()).await.unwrap();
    let told: Vec<_> = runs.iter().map(|run| (run.check.as_str(), run.state, run.why.as_deref())).collect();
    let ended = Some("the daemon ended");
    assert_eq!(told, [("queued", RunState::Cancelled, ended), ("running", RunState::Cancelled, ended)]);
    assert!(runner.log(&runs[1].id, 0, 100, true).await.unwrap().bytes.starts_with(b"begun\n"));

    // The next request gets a new run.
    let mut again = bench.job(vec![check("true")]);
    again.checks[0].name = "running".into();
    assert_eq!(bench.run_job(&runner, again).await.state, RunState::Passed);
}

fn open_store(folder: &Utf8Path) -> Arc<Store> {
    Arc::new(Store::open(folder, ao_store::Options::default()).unwrap())
}

/// Runs a check that does not end, another that waits for it, and is killed meanwhile.
async fn daemon() {
    let job = camino::Utf8PathBuf::from(std::env::var(DAEMON).unwrap());
    let folder = job.parent().unwrap();
    let text = fs::read_to_string(&job).unwrap();
    let [repository, head, tree] = text.lines().collect::<Vec<_>>().try_into().unwrap();
    let options = ao_scm::checks::Options {
        cap: 1,
        ..ao_scm::checks::Options::new(folder.join("checks"), Arc::default())
    };
    let clock = Arc::new(WallClock::default());
    let runner = Runner::open(options, open_store(folder), clock).await.unwrap();
    let command = format!(
        "echo begun; setsid sh -c 'sleep 600 & echo $! > {folder}/daemon' > /dev/null 2>&1; \
         echo $$ > {folder}/pid; sleep 600"
    );
    let named = |name: &str| ao_ports::CheckSpec { name: name.into(), ..check(&command) };
    let job = ao_scm::checks::CheckJob {
        project: ao_core::ProjectId::new("my-app"),
        repository: repository.into(),
        common_dir: format!("{repository}/.git").into(),
        pull: None,
        head: ao_core::Commit::new(head),
        base: None,
        tree: tree.into(),
        commit: ao_core::Commit::new(head),
        ahead: vec![],
        changed: None,
        checks: vec![named("running"), named("queued")],
        again: false,
    };
    let ids: Vec<String> = runner.run(job).await.unwrap().into_iter().map(|run| run.id).collect();
    runner.finished(&ids).await;
    unreachable!("it is killed");
}

#[tokio::test]
async fn a_check_cannot_redirect_the_deletion_of_its_checkout() {
    let bench = Bench::new();
    let precious = bench.path("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "mine").unwrap();
    for (number, rest) in ["/../../../precious", "/..", "/x/../../../../precious", ""].iter().enumerate() {
        let holder = bench.path(&format!("checks/trees/run_{number}"));
        fs::create_dir_all(&holder).unwrap();
        let place = serde_json::json!({
            "path": format!("{holder}{rest}"), "repository": "/none", "common_dir": "/none",
        });
        fs::write(holder.join("place.json"), place.to_string()).unwrap();
    }
    bench.runner().await;
    assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "mine");
    assert_eq!(fs::read_dir(bench.path("checks/trees")).unwrap().count(), 0, "they themselves are gone");
}

#[tokio::test]
async fn a_daemon_that_ends_in_good_order_leaves_nothing() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let pid = bench.path("pid");
    let job = bench.job(vec![check(&format!("echo $$ > {pid}; sleep 600"))]);
    let run = runner.run(job.clone()).await.unwrap().remove(0);
    until("it runs", || fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))).await;
    runner.stop().await;
    let pid_text = fs::read_to_string(&pid).unwrap();
    assert!(!lives(&pid_text));
    assert_eq!(fs::read_dir(bench.path("checks/trees")).unwrap().count(), 0);
    let ended = finished(&runner, &run.id).await;
    assert_eq!((ended.state, ended.why.as_deref()), (RunState::Cancelled, Some("the daemon ended")));
    assert!(runner.run(job.clone()).await.is_err(), "nothing is begun any more");

    let runner = bench.runner().await;
    let again = runner.run(job).await.unwrap().remove(0);
    assert_ne!(again.id, run.id);
    runner.stop().await;
}

#[tokio::test]
async fn a_runner_that_is_dropped_ends_what_it_runs() {
    let bench = Bench::new();
    let runner = bench.runner().await;
    let pid = bench.path("pid");
    let run =
        runner.run(bench.job(vec![check(&format!("echo $$ > {pid}; sleep 600"))])).await.unwrap().remove(0);
    until("it runs", || fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))).await;
    drop(runner);
    let pid = fs::read_to_string(&pid).unwrap();
    until("it is ended", || !lives(&pid)).await;
    let runner = bench.runner().await;
    assert_eq!(runner.get(&run.id).await.unwrap().state, RunState::Cancelled);
    bench.no_trees().await;
}

#[tokio::test]
async fn results_outlive_the_daemon() {
    let bench = Bench::new();
    let run = bench.run(&bench.runner().await, check("echo once")).await;
    let runner = bench.runner().await;
    assert_eq!(runner.run(bench.job(vec![check("echo once")])).await.unwrap(), [run]);
}
