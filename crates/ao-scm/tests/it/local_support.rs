//! A throw-away repository with a forge on it, records in memory, and scripted checks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ao_core::pull::{AuthorFacts, AuthorStanding, PullFacts, ReviewVerdict};
use ao_core::setup::Environment;
use ao_core::{Commit, ProjectId, PullId, Timestamp};
use ao_git::{Queues, Settings};
use ao_ports::{
    CheckRun, CheckSpec, CommentPlace, DiffSide, FailureReport, HintReceiver, LandingStrategy, LogPart,
    LookHint, MergeOrder, MergeOutcome, NewComment, NewPull, NewReview, Records, RunFilter, RunState, Scm,
    ScmError, TestOrder, TestOutcome,
};
use ao_scm::local::{CheckJob, CheckService, LocalScm, Options};
use ao_testkit::{ManualClock, ProbedRecords};
use async_trait::async_trait;
use tempfile::TempDir;
use tokio::sync::{Notify, broadcast};

/// A repository and everything around it. What is on disk and in records outlives the forge, as with a real daemon.
pub(crate) struct Desk {
    dir: TempDir,
    pub(crate) records: Arc<ProbedRecords>,
    pub(crate) checks: Arc<FakeChecks>,
    pub(crate) default_branch: String,
    pub(crate) specs: Vec<CheckSpec>,
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) witness: Option<Arc<dyn ao_scm::local::Witness>>,
    pub(crate) clock: Arc<ManualClock>,
}

impl Desk {
    /// A repository with one commit on `main`, whose folder has a blank in its name.
    pub(crate) fn new() -> Desk {
        Desk::made_by(&["init", "--quiet"])
    }

    /// The same, made by another command.
    pub(crate) fn made_by(init: &[&str]) -> Desk {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("the repo")).unwrap();
        let desk = Desk {
            dir,
            records: Arc::default(),
            checks: FakeChecks::new(),
            default_branch: "main".to_owned(),
            specs: vec![],
            settings: vec![],
            witness: None,
            clock: Arc::new(ManualClock::ticking()),
        };
        desk.git(init);
        desk.git(&["symbolic-ref", "HEAD", "refs/heads/main"]);
        for (key, value) in
            [("user.name", "Ann"), ("user.email", "ann@example.invalid"), ("commit.gpgsign", "false")]
        {
            desk.git(&["config", key, value]);
        }
        desk.write("README.md", "one\ntwo\nthree\nfour\nfive\n");
        desk.commit("first");
        desk
    }

    /// The same, with a bare `origin` that has the default branch.
    pub(crate) fn with_origin() -> Desk {
        let desk = Desk::new();
        let remote = desk.dir.path().join("origin.git").display().to_string();
        desk.git(&["init", "--quiet", "--bare", "-b", "main", &remote]);
        desk.git(&["remote", "add", "origin", &remote]);
        desk.git(&["push", "--quiet", "origin", "main"]);
        desk
    }

    pub(crate) fn with_checks(mut self, specs: &[(&str, bool)]) -> Desk {
        self.specs = specs.iter().map(|(name, required)| check(name, *required)).collect();
        self
    }

    pub(crate) async fn open(&self) -> LocalScm {
        self.open_with(self.checks.clone()).await
    }

    pub(crate) async fn open_with(&self, checks: Arc<dyn CheckService>) -> LocalScm {
        let options = Options {
            project: project(),
            repository: self.path().try_into().unwrap(),
            default_branch: self.default_branch.clone(),
            checks: self.specs.clone(),
            strategy: LandingStrategy::Squash,
            queues: Arc::new(Queues::default()),
            settings: Settings::new(self.settings.clone()),
            witness: self.witness.clone(),
        };
        let records: Arc<dyn Records> = self.records.clone();
        LocalScm::open(options, records, checks, self.clock.clone()).await.unwrap()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("the repo")
    }

    pub(crate) fn side_path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Has a command run on every file that is checked out with a filter of this name, as one that the user has approved.
    pub(crate) fn filter(&self, name: &str, command: &str) {
        let key = format!("filter.{name}.smudge");
        self.git(&["config", &key, command]);
        ao_git::approve([(key, command.to_owned())]);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.path(), args)
    }

    /// Commits everything, and returns the commit.
    pub(crate) fn commit(&self, message: &str) -> Commit {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "-m", message]);
        self.tip("HEAD")
    }

    pub(crate) fn tip(&self, name: &str) -> Commit {
        Commit::new(&self.git(&["rev-parse", "--verify", "--end-of-options", name]))
    }

    /// Commits a file on a branch, which is made off the default branch if it is not there. The checkout ends up where
    /// it was.
    pub(crate) fn push(&self, branch: &str, file: &str, text: &str) -> Commit {
        self.push_from(&self.default_branch, branch, file, text)
    }

    pub(crate) fn push_from(&self, start: &str, branch: &str, file: &str, text: &str) -> Commit {
        let name = format!("refs/heads/{branch}");
        let exists = !self.git(&["for-each-ref", "--format=x", &name]).is_empty();
        let from = if exists { name.clone() } else { format!("refs/heads/{start}") };
        self.git(&["checkout", "--quiet", "--detach", &from]);
        self.write(file, text);
        let commit = self.commit(&format!("{branch}: {file}"));
        self.git(&["update-ref", &name, commit.as_str()]);
        self.git(&["checkout", "--quiet", &self.default_branch]);
        commit
    }

    pub(crate) fn log(&self, format: &str, range: &str) -> Vec<String> {
        let told = self.git(&["log", "--reverse", &format!("--format={format}"), range, "--"]);
        told.lines().map(str::to_owned).collect()
    }
}

pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git")
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("LC_ALL", "C")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

pub(crate) fn project() -> ProjectId {
    ProjectId::new("my-app")
}

pub(crate) fn pull(number: u64) -> PullId {
    PullId { project: project(), number }
}

pub(crate) fn person(login: &str) -> AuthorFacts {
    AuthorFacts { login: login.to_owned(), standing: AuthorStanding::Member }
}

pub(crate) fn agent() -> AuthorFacts {
    AuthorFacts { login: "fix-login".to_owned(), standing: AuthorStanding::Agent }
}

pub(crate) fn check(name: &str, required: bool) -> CheckSpec {
    CheckSpec {
        name: name.to_owned(),
        command: format!("make {name}"),
        timeout: Duration::from_secs(60),
        paths: vec![],
        required,
        environment: Environment::default(),
        retries: 0,
    }
}

pub(crate) fn new_pull(head: &str, base: &str) -> NewPull {
    NewPull {
        project: project(),
        session: None,
        head_branch: head.to_owned(),
        base_branch: base.to_owned(),
        title: format!("Change {head}"),
        body: "Because.".to_owned(),
        draft: false,
        labels: BTreeSet::new(),
        by: agent(),
    }
}

pub(crate) async fn open(scm: &LocalScm, head: &str, base: &str) -> PullId {
    scm.open(&new_pull(head, base)).await.unwrap()
}

pub(crate) async fn facts(scm: &LocalScm, pull: &PullId) -> PullFacts {
    scm.pulls(std::slice::from_ref(pull)).await.unwrap().remove(0).1
}

/// Tests and merges what is there now.
pub(crate) async fn merge(scm: &LocalScm, pull: &PullId, strategy: LandingStrategy) -> MergeOutcome {
    let order = order(scm, pull, strategy).await;
    scm.merge(&order).await.unwrap()
}

/// An order for what is there now, after a green test.
pub(crate) async fn order(scm: &LocalScm, pull: &PullId, strategy: LandingStrategy) -> MergeOrder {
    let now = facts(scm, pull).await;
    let test = TestOrder {
        pull: pull.clone(),
        head: now.head.clone(),
        base: now.base.clone(),
        ahead: vec![],
        strategy,
        required: vec![],
        checks: true,
    };
    let TestOutcome::Green { tree } = scm.test(&test).await.unwrap() else { panic!("it is not green") };
    MergeOrder {
        pull: pull.clone(),
        head: now.head,
        base: now.base,
        with: vec![],
        tree,
        strategy,
        by: Some("ann".to_owned()),
        delete_branch: false,
    }
}

pub(crate) fn merged(outcome: MergeOutcome) -> Commit {
    match outcome {
        MergeOutcome::Merged { commit, .. } => commit,
        MergeOutcome::Refused { why, .. } => panic!("it was refused: {why}"),
    }
}

pub(crate) fn refused(outcome: MergeOutcome) -> String {
    match outcome {
        MergeOutcome::Merged { .. } => panic!("it was merged"),
        MergeOutcome::Refused { why, in_the_way, .. } => {
            assert!(!in_the_way, "it was something else: {why}");
            why
        }
    }
}

/// Returns the obstacle of a merge that is valid in itself.
pub(crate) fn in_the_way(outcome: MergeOutcome) -> String {
    match outcome {
        MergeOutcome::Refused { why, in_the_way: true, tip: None } => why,
        other => panic!("nothing was in the way: {other:?}"),
    }
}

pub(crate) fn why<T: std::fmt::Debug>(result: Result<T, ScmError>) -> String {
    match result.unwrap_err() {
        ScmError::Refused { why } => why,
        err => panic!("another error: {err:?}"),
    }
}

pub(crate) fn at_line(pull: &PullId, path: &str, line: u32, body: &str) -> NewComment {
    let at = CommentPlace::Line { path: path.to_owned(), line: Some(line), side: DiffSide::New };
    NewComment { pull: pull.clone(), by: person("bob"), body: body.to_owned(), at, key: None }
}

pub(crate) fn review(pull: &PullId, by: AuthorFacts, verdict: ReviewVerdict, body: &str) -> NewReview {
    NewReview {
        pull: pull.clone(),
        by,
        verdict,
        body: body.to_owned(),
        head: None,
        comments: vec![],
        key: None,
    }
}

/// Checks that a test ends by hand, or that pass at once.
pub(crate) struct FakeChecks {
    pub(crate) runs: Mutex<Vec<CheckRun>>,
    pub(crate) jobs: Mutex<Vec<CheckJob>>,
    /// The states of new runs, by check; others pass.
    pub(crate) fate: Mutex<BTreeMap<String, RunState>>,
    next: AtomicU64,
    changed: Notify,
    feed: broadcast::Sender<CheckRun>,
}

impl FakeChecks {
    fn new() -> Arc<FakeChecks> {
        Arc::new(FakeChecks {
            runs: Mutex::default(),
            jobs: Mutex::default(),
            fate: Mutex::default(),
            next: AtomicU64::new(1),
            changed: Notify::new(),
            feed: broadcast::channel(64).0,
        })
    }

    pub(crate) fn let_be(&self, check: &str, state: RunState) {
        self.fate.lock().unwrap().insert(check.to_owned(), state);
    }

    /// Ends the runs of a check that are not over.
    pub(crate) fn end(&self, check: &str, state: RunState) {
        let mut changed = vec![];
        for run in self.runs.lock().unwrap().iter_mut() {
            if run.check == check && !run.state.is_over() {
                finish(run, state);
                changed.push(run.clone());
            }
        }
        assert!(!changed.is_empty(), "no run of `{check}` is under way");
        for run in changed {
            self.feed.send(run).ok();
        }
        self.changed.notify_waiters();
    }

    pub(crate) fn heads(&self) -> Vec<Commit> {
        self.jobs.lock().unwrap().iter().map(|job| job.head.clone()).collect()
    }

    pub(crate) fn states(&self) -> Vec<(Commit, RunState)> {
        self.runs.lock().unwrap().iter().map(|run| (run.head.clone(), run.state)).collect()
    }
}

fn finish(run: &mut CheckRun, state: RunState) {
    run.state = state;
    if state == RunState::Failed {
        run.log = Some("/logs/run.log".to_owned());
        run.failure = Some(FailureReport {
            signature: "test_login".to_owned(),
            excerpt: "assertion failed: login".to_owned(),
            count: 1,
            ..FailureReport::default()
        });
    }
}

#[async_trait]
impl CheckService for FakeChecks {
    async fn run(&self, job: CheckJob) -> Result<Vec<CheckRun>, ScmError> {
        let mut made = vec![];
        for check in &job.checks {
            let mut run = CheckRun {
                id: format!("run_{:x}", self.next.fetch_add(1, Ordering::SeqCst)),
                project: job.project.clone(),
                pull: job.pull.clone(),
                check: check.name.clone(),
                command: check.command.clone(),
                required: check.required,
                head: job.head.clone(),
                base: job.base.clone(),
                tree: job.tree.clone(),
                ahead: job.ahead.clone(),
                state: RunState::Queued,
                why: None,
                exit_code: None,
                queued_at: Timestamp(0),
                began_at: None,
                ended_at: None,
                tries: 1,
                same_as: None,
                log: None,
                failure: None,
            };
            let fate = self.fate.lock().unwrap().get(&check.name).copied().unwrap_or(RunState::Passed);
            finish(&mut run, fate);
            made.push(run);
        }
        self.jobs.lock().unwrap().push(job);
        self.runs.lock().unwrap().extend(made.clone());
        Ok(made)
    }

    async fn finished(&self, ids: &[String]) -> Result<Vec<CheckRun>, ScmError> {
        loop {
            let changed = self.changed.notified();
            let runs: Vec<CheckRun> =
                self.runs.lock().unwrap().iter().filter(|run| ids.contains(&run.id)).cloned().collect();
            if runs.iter().all(|run| run.state.is_over()) {
                return Ok(runs);
            }
            changed.await;
        }
    }

    async fn cancel(&self, pull: &PullId, keep_head: Option<&Commit>) {
        for run in self.runs.lock().unwrap().iter_mut() {
            if run.pull.as_ref() == Some(pull) && Some(&run.head) != keep_head && !run.state.is_over() {
                run.state = RunState::Cancelled;
            }
        }
        self.changed.notify_waiters();
    }

    async fn give_up(&self, ids: &[String]) {
        for run in self.runs.lock().unwrap().iter_mut() {
            if ids.contains(&run.id) && !run.state.is_over() {
                run.state = RunState::Cancelled;
            }
        }
        self.changed.notify_waiters();
    }

    async fn get(&self, id: &str) -> Result<Option<CheckRun>, ScmError> {
        Ok(self.runs.lock().unwrap().iter().find(|run| run.id == id).cloned())
    }

    async fn runs(&self, _: &ProjectId, filter: &RunFilter) -> Result<Vec<CheckRun>, ScmError> {
        let runs = self.runs.lock().unwrap();
        let fits = |run: &&CheckRun| {
            (filter.pull.is_none() || run.pull == filter.pull) && (run.ahead.is_empty() || !filter.alone)
        };
        Ok(runs.iter().rev().filter(fits).take(filter.limit).cloned().collect())
    }

    async fn log(&self, _: &str, _: u64, _: u32, _: bool) -> Result<LogPart, ScmError> {
        Ok(LogPart { bytes: b"output\n".to_vec(), next: 7, ended: true })
    }

    fn subscribe(&self) -> broadcast::Receiver<CheckRun> {
        self.feed.subscribe()
    }
}

/// Keeps the hints that were given.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    hints: Mutex<Vec<LookHint>>,
    changed: Notify,
}

impl HintReceiver for Heard {
    fn hint(&self, hint: LookHint) {
        self.hints.lock().unwrap().push(hint);
        self.changed.notify_waiters();
    }
}

impl Heard {
    pub(crate) fn take(&self) -> Vec<LookHint> {
        std::mem::take(&mut self.hints.lock().unwrap())
    }

    /// Waits until something is so, looking whenever there is a hint.
    pub(crate) async fn until(&self, what: &str, mut is: impl AsyncFnMut() -> bool) {
        let waits = async {
            loop {
                let changed = self.changed.notified();
                if is().await {
                    return;
                }
                // The hint may have come before the question was asked.
                tokio::time::timeout(Duration::from_millis(200), changed).await.ok();
            }
        };
        assert!(tokio::time::timeout(Duration::from_secs(20), waits).await.is_ok(), "never: {what}");
    }
}
