//! A throw-away repository, a shelf, and a runner for its checks.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ao_core::setup::Environment;
use ao_core::{Commit, ProjectId, PullId, Timestamp};
use ao_git::Queues;
use ao_ports::{Change, CheckRun, CheckSpec, Clock, Records, StoreError};
use ao_scm::checks::{CheckJob, Options, Runner};
use ao_testkit::MemoryRecords;
use async_trait::async_trait;
use camino::Utf8PathBuf;
use tempfile::TempDir;

/// How long anything may take that is waited for.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A place for everything: a repository in `repo`, the runner's folder in `checks`.
pub(crate) struct Bench {
    dir: TempDir,
    /// The repository's folder, below `dir`.
    name: String,
    pub(crate) shelf: Arc<Shelf>,
}

impl Bench {
    /// With one commit on `main`.
    pub(crate) fn new() -> Bench {
        Bench::named("repo")
    }

    pub(crate) fn named(name: &str) -> Bench {
        let bench = Bench { dir: tempfile::tempdir().unwrap(), name: name.into(), shelf: Arc::default() };
        fs::create_dir(bench.repository()).unwrap();
        bench.git(&["init", "--quiet", "-b", "trunk"]);
        bench.commit("README.md", "one\n");
        bench
    }

    /// The same, with another shelf.
    pub(crate) fn with(self, shelf: Shelf) -> Bench {
        Bench { shelf: Arc::new(shelf), ..self }
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

    /// Commits a file, and says which commit that is.
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
        Runner::open(options, self.shelf.clone(), Arc::new(TestClock)).await.unwrap()
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

/// Whether a process lives. One that has ended and that nobody has asked after does not.
pub(crate) fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}

/// Documents in memory and, if it has a file, there as well.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    documents: MemoryRecords,
    file: Option<Utf8PathBuf>,
    /// Refuses that many changes.
    pub(crate) refuses: AtomicU64,
}

impl Shelf {
    pub(crate) async fn in_file(file: Utf8PathBuf) -> Shelf {
        let text = fs::read(&file).unwrap_or_else(|_| b"[]".to_vec());
        let kept: Vec<((String, String), String)> = serde_json::from_slice(&text).unwrap();
        let documents = MemoryRecords::default();
        let put = |((shelf, key), body): ((String, String), String)| Change::put(&shelf, key, body);
        documents.change(kept.into_iter().map(put).collect()).await.unwrap();
        Shelf { documents, file: Some(file), ..Shelf::default() }
    }

    pub(crate) fn count(&self, prefix: &str) -> usize {
        self.documents.keys().iter().filter(|(_, key)| key.starts_with(prefix)).count()
    }
}

#[async_trait]
impl Records for Shelf {
    async fn get(&self, shelf: &str, key: &str) -> Result<Option<String>, StoreError> {
        self.documents.get(shelf, key).await
    }

    async fn list(
        &self,
        shelf: &str,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, String)>, StoreError> {
        self.documents.list(shelf, prefix, after, limit).await
    }

    async fn change(&self, changes: Vec<Change>) -> Result<(), StoreError> {
        if self.refuses.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
            return Err(StoreError::Full { path: "test".into() });
        }
        self.documents.change(changes).await?;
        if let Some(file) = &self.file {
            let mut all = vec![];
            for (shelf, key) in self.documents.keys() {
                let body = self.documents.get(&shelf, &key).await?;
                all.extend(body.map(|body| ((shelf, key), body)));
            }
            fs::write(file.with_extension("new"), serde_json::to_vec(&all).unwrap()).unwrap();
            fs::rename(file.with_extension("new"), file).unwrap();
        }
        Ok(())
    }
}

#[derive(Debug, Default)]
pub(crate) struct TestClock;

/// Unlike those of other tests that run at the same time: processes are found by them.
static FRESH: AtomicU64 = AtomicU64::new(0);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64)
    }

    fn fresh(&self) -> u64 {
        (u64::from(std::process::id()) << 32) + FRESH.fetch_add(1, Ordering::SeqCst)
    }
}
