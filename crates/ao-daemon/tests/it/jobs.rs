//! Jobs of reactions, run by the daemon itself.

use std::sync::Arc;

use ao_core::job::{Job, JobOrder, Requester};
use ao_core::{Commit, JobId, ProjectId, PullId, Timestamp};
use ao_daemon::Daemon;
use ao_daemon::clock::SystemClock;
use ao_daemon::daemon::DaemonOptions;
use ao_ports::{JobError, JobRunner as _};
use camino::Utf8Path;

#[tokio::test]
async fn a_job_of_a_project_without_a_forge_is_given_up_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let options = DaemonOptions {
        background: false,
        ..DaemonOptions::new(Utf8Path::from_path(folder.path()).unwrap(), "/nonexistent/ao")
    };
    let daemon = Daemon::start(options, Arc::new(SystemClock)).await.unwrap();
    let pull = PullId { project: ProjectId::new("other"), number: 7 };
    let order =
        JobOrder::Rerun { pull: pull.clone(), check: "test".into(), commit: Commit::new("h1"), number: 1 };
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
    let never = daemon.jobs.run(&job).await;
    assert_eq!(never, Err(JobError::Never("there is no project `other`".into())));
    daemon.stop().await.unwrap();
}
