//! Issues that a merge settles, at a forge of the embedding program and a tracker of the configuration.

use std::future::ready;
use std::sync::Arc;

use ao_config::{Env, Places};
use ao_core::job::{Job, JobOrder, JobOutcome, Requester};
use ao_core::pull::{AuthorFacts, AuthorStanding, ChangeSize, Mergeable, PullFacts, PullState};
use ao_core::{Commit, JobId, ProjectId, PullId, TaskId, Timestamp};
use ao_daemon::Daemon;
use ao_daemon::clock::SystemClock;
use ao_daemon::config::InForce;
use ao_daemon::daemon::DaemonOptions;
use ao_daemon::registry::{Adapter, AdapterMaker, Registry};
use ao_ports::{BaseView, JobError, JobRunner as _, NewPull, Scm, ScmError};
use async_trait::async_trait;
use camino::Utf8Path;

/// A forge on which everything is merged.
struct Merged;

#[async_trait]
impl Scm for Merged {
    async fn open(&self, _: &NewPull) -> Result<PullId, ScmError> {
        Err(ScmError::unsupported("opening pull requests"))
    }

    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError> {
        let facts = PullFacts {
            observed_at: Timestamp(1),
            title: "Greet".into(),
            url: String::new(),
            head: Commit::new("h1"),
            head_branch: "greet".into(),
            head_repo: None,
            head_author: None,
            head_title: None,
            base_branch: "main".into(),
            base_remote: None,
            base: Commit::new("b1"),
            draft: false,
            state: PullState::Merged { commit: Commit::new("m1") },
            author: AuthorFacts { login: "ann".into(), standing: AuthorStanding::Owner },
            labels: Default::default(),
            mergeable: Mergeable::Clean,
            checks: vec![],
            no_checks: true,
            reviews: vec![],
            threads: vec![],
            size: ChangeSize::default(),
        };
        Ok(pulls.iter().map(|pull| (pull.clone(), facts.clone())).collect())
    }

    async fn open_pulls(&self, _: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        Ok(vec![])
    }

    async fn base(&self, _: &ProjectId) -> Result<BaseView, ScmError> {
        Ok(BaseView::default())
    }

    async fn file_at(
        &self,
        _: &ProjectId,
        _: &Commit,
        _: &str,
        _: usize,
    ) -> Result<Option<Vec<u8>>, ScmError> {
        Ok(None)
    }
}

/// Runs the job that closes an issue after a merge, with this tracker in the configuration.
async fn settle(tracker: &str) -> Result<JobOutcome, JobError> {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let mut registry = Registry::built_in();
    let unmade = AdapterMaker::Tracker(Arc::new(|_| Box::pin(ready(Err("it has no token".to_owned())))));
    registry.add(Adapter::new("unmade", "cannot be made", unmade));
    let registry = Arc::new(registry);
    let file = folder.join("agent-orchestrator.yaml");
    let config =
        format!("defaults: {{ tracker: {tracker}, notifiers: [] }}\nprojects: {{ app: {{ path: . }} }}\n");
    std::fs::write(&file, config).unwrap();
    let places =
        Places { env: Env::new([]), cwd: folder.to_owned(), home: None, catalog: registry.catalog() };
    let data = folder.join("data");
    std::fs::create_dir(&data).unwrap();
    let configs = InForce::open_in(&data, places, registry).unwrap().with(&file).unwrap();
    let app = ProjectId::new("app");
    let mut options = DaemonOptions {
        background: false,
        configs: Some(configs),
        ..DaemonOptions::new(data.clone(), "/nonexistent/ao")
    };
    options.scms.insert(app.clone(), Arc::new(Merged));
    let daemon = Daemon::start(options, Arc::new(SystemClock)).await.unwrap();
    let pull = PullId { project: app.clone(), number: 7 };
    let order =
        JobOrder::Settle { pull: pull.clone(), tasks: vec![TaskId { project: app, key: "7".into() }] };
    let job = Job {
        id: JobId(1),
        key: "k".into(),
        order,
        requester: Requester::Update(pull),
        since: Timestamp(0),
        tries: 0,
        waits: 0,
        again_at: None,
    };
    let settled = daemon.jobs.run(&job).await;
    daemon.stop().await.unwrap();
    settled
}

#[tokio::test(flavor = "multi_thread")]
async fn issues_in_a_tracker_that_could_not_be_made_are_not_taken_for_settled() {
    assert_eq!(settle("unmade").await, Err(JobError::Never("it has no token".into())));
    let elsewhere = JobOutcome::Done { said: "its issues are kept elsewhere".into() };
    assert_eq!(settle("jira").await, Ok(elsewhere));
}

/// A forge of the embedding program leaves the project its configured tracker.
#[tokio::test(flavor = "multi_thread")]
async fn a_project_with_an_embedded_forge_has_its_configured_tracker() {
    let none = JobOutcome::Done { said: "there was nothing to close".into() };
    assert_eq!(settle("local").await, Ok(none));
}
