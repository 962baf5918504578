//! Jobs of reactions, run by the daemon itself.

use std::sync::Arc;

use ao_core::job::{Job, JobOrder, Requester};
use ao_core::{Commit, JobId, ProjectId, PullId, Timestamp};
use ao_daemon::Daemon;
use ao_daemon::clock::SystemClock;
use ao_daemon::daemon::DaemonOptions;
use ao_ports::{JobError, JobRunner as _};
use camino::Utf8Path;

/// Returns a new job for a pull request.
pub(crate) fn job_about(pull: PullId, order: JobOrder) -> Job {
    let (id, key, requester) = (JobId(1), "k".into(), Requester::Update(pull));
    Job { id, key, order, requester, since: Timestamp(0), tries: 0, waits: 0, again_at: None }
}

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
    let never = daemon.jobs.run(&job_about(pull, order)).await;
    assert_eq!(never, Err(JobError::Never("there is no project `other`".into())));
    daemon.stop().await.unwrap();
}
