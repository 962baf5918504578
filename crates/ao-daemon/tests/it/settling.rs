//! Issues that a merge settles, at a forge of the embedding program and a tracker of the configuration.

use std::future::ready;
use std::sync::Arc;

use ao_config::{Env, Places};
use ao_core::job::{JobOrder, JobOutcome};
use ao_core::pull::{PullFacts, PullState};
use ao_core::{Commit, ProjectId, PullId, TaskId};
use ao_daemon::Daemon;
use ao_daemon::clock::SystemClock;
use ao_daemon::config::InForce;
use ao_daemon::daemon::DaemonOptions;
use ao_daemon::registry::{Adapter, AdapterMaker, Registry};
use ao_ports::{JobError, JobRunner as _};
use ao_testkit::{StaticForge, pull_facts};
use camino::Utf8Path;

use crate::jobs::job_about;

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
    let state = PullState::Merged { commit: Commit::new("m1") };
    let facts = PullFacts { state, ..pull_facts("greet") };
    let merged = StaticForge { facts: Some(facts), ..StaticForge::default() };
    options.scms.insert(app.clone(), Arc::new(merged));
    let daemon = Daemon::start(options, Arc::new(SystemClock)).await.unwrap();
    let pull = PullId { project: app.clone(), number: 7 };
    let order =
        JobOrder::Settle { pull: pull.clone(), tasks: vec![TaskId { project: app, key: "7".into() }] };
    let settled = daemon.jobs.run(&job_about(pull, order)).await;
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
