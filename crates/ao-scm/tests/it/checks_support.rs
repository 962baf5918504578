//! A throw-away repository, records, and a runner for its checks.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ao_core::setup::Environment;
use ao_core::{Commit, ProjectId, PullId};
use ao_git::Queues;
use ao_ports::{CheckRun, CheckSpec};
use ao_scm::checks::{CheckJob, Options, Runner};
use ao_testkit::{ProbedRecords, WallClock};
use camino::Utf8PathBuf;
use tempfile::TempDir;

/// Time limit of every wait.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A place for everything: a repository in `repo`, the runner's folder in `checks`.
pub(crate) struct Bench {
    dir: TempDir,
    /// The repository's folder, below `dir`.
    name: String,
    pub(crate) records: Arc<ProbedRecords>,
}

impl Bench {
    /// With one commit on `main`.
    pub(crate) fn new() -> Bench {
        Bench::named("repo")
    }

    pub(crate) fn named(name: &str) -> Bench {
        let bench = Bench { dir: tempfile::tempdir().unwrap(), name: name.into(), records: Arc::default() };
        fs::create_dir(bench.repository()).unwrap();
        bench.git(&["init", "--quiet", "-b", "trunk"]);
        bench.commit("README.md", "one\n");
        bench
    }

    pub(crate) fn path(&self, name: &str) -> Utf8PathBuf {
        Utf8PathBuf::from_path_buf(self.dir.path().canonicalize().unwrap().join(name)).unwrap()
    }

    pub(crate) fn repository(&self) -> Utf8PathBuf {
        self.path(&self.name)
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(self.repository().as_std_path(), args)
    }

    /// Commits a file, and returns the commit.
    pub(crate) fn commit(&self, name: &str, text: &str) -> String {
        fs::write(self.repository().join(name), text).unwrap();
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "-m", name]);
        self.git(&["rev-parse", "HEAD"])
    }

    pub(crate) fn options(&self) -> Options {
        Options {
            cap: 4,
            grace: Duration::from_millis(300),
            retry_pause: Duration::from_millis(10),
            ..Options::new(self.path("checks"), Arc::new(Queues::default()))
        }
    }

    pub(crate) async fn runner(&self) -> Runner {
        self.runner_with(self.options()).await
    }

    pub(crate) async fn runner_with(&self, options: Options) -> Runner {
        Runner::open(options, self.records.clone(), Arc::new(WallClock::default())).await.unwrap()
    }

    /// A job for what is committed now.
    pub(crate) fn job(&self, checks: Vec<CheckSpec>) -> CheckJob {
        let head = Commit::new(&self.git(&["rev-parse", "HEAD"]));
        CheckJob {
            project: ProjectId::new("my-app"),
            repository: self.repository(),
            common_dir: self.repository().join(".git"),
            pull: Some(pull(7)),
            head: head.clone(),
            base: None,
            tree: self.git(&["rev-parse", "HEAD^{tree}"]),
            commit: head,
            ahead: vec![],
            changed: None,
            checks,
            again: false,
        }
    }

    /// Runs one check to its end.
    pub(crate) async fn run(&self, runner: &Runner, check: CheckSpec) -> CheckRun {
        self.run_job(runner, self.job(vec![check])).await
    }

    pub(crate) async fn run_job(&self, runner: &Runner, job: CheckJob) -> CheckRun {
        let begun = runner.run(job).await.unwrap();
        assert_eq!(begun.len(), 1);
        finished(runner, &begun[0].id).await
    }

    /// Waits until nothing is left of any checkout, here and in the repository.
    pub(crate) async fn no_trees(&self) {
        until("the checkouts are gone", || {
            let trees = fs::read_dir(self.path("checks/trees")).map_or(0, Iterator::count);
            trees == 0 && self.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count() == 1
        })
        .await;
    }
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.invalid", "-c", "commit.gpgsign=false"])
        .args(["-c", "protocol.file.allow=always"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

pub(crate) fn pull(number: u64) -> PullId {
    PullId { project: ProjectId::new("my-app"), number }
}

pub(crate) fn check(command: &str) -> CheckSpec {
    CheckSpec {
        name: "unit".into(),
        command: command.into(),
        timeout: LONG,
        paths: vec![],
        required: true,
        environment: Environment::default(),
        retries: 0,
    }
}

pub(crate) async fn finished(runner: &Runner, id: &str) -> CheckRun {
    let ids = [id.to_owned()];
    let over = tokio::time::timeout(LONG, runner.finished(&ids)).await.expect("it does not end");
    over.into_iter().next().expect("it is known")
}

/// The whole output of a run.
pub(crate) async fn output(runner: &Runner, id: &str) -> String {
    let (mut from, mut bytes) = (0, Vec::new());
    loop {
        let part = tokio::time::timeout(LONG, runner.log(id, from, 1 << 16, true)).await.unwrap().unwrap();
        bytes.extend(part.bytes);
        from = part.next;
        if part.ended {
            return String::from_utf8(bytes).unwrap();
        }
    }
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < LONG, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns true if a process lives. A zombie does not.
pub(crate) fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}
