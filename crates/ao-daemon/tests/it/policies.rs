//! Policies, read from the base branches.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::{Commit, Input, ProjectId, PullId};
use ao_daemon::Daemon;
use ao_daemon::clock::SystemClock;
use ao_daemon::daemon::DaemonOptions;
use ao_ports::BaseView;
use ao_testkit::{FailingReads, StaticForge};
use camino::Utf8Path;

const PATIENCE: Duration = Duration::from_secs(60);

/// The reads of a start, and those after them that fail.
const FAILING: std::ops::Range<usize> = 1..4;

#[tokio::test(flavor = "multi_thread")]
async fn landings_are_followed_again_after_the_log_could_not_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let reads = Arc::<AtomicUsize>::default();
    let counted = reads.clone();
    let options = DaemonOptions {
        background: false,
        log: Some(Box::new(move |store| {
            let fails = Box::new(move || FAILING.contains(&counted.fetch_add(1, Ordering::SeqCst)));
            Arc::new(FailingReads { store: Arc::new(store), fails })
        })),
        ..DaemonOptions::new(Utf8Path::from_path(folder.path()).unwrap(), "/nonexistent/ao")
    };
    let daemon = Daemon::start(options, Arc::new(SystemClock)).await.unwrap();
    let looks = tokio::spawn(daemon.looks.clone().run());
    let again = tokio::time::timeout(PATIENCE, async {
        while reads.load(Ordering::SeqCst) <= FAILING.end {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    again.await.expect("the log is read until it can be read");
    looks.abort();
    daemon.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policy_at_an_embedded_forge_is_read_with_its_pull_requests() {
    let folder = tempfile::tempdir().unwrap();
    let app = ProjectId::new("app");
    let mut options = DaemonOptions {
        background: false,
        ..DaemonOptions::new(Utf8Path::from_path(folder.path()).unwrap(), "/nonexistent/ao")
    };
    let base = BaseView { tip: Some(Commit::new("c1")), ..BaseView::default() };
    let files = BTreeMap::from([(".ao/policy.yaml".to_owned(), b"approvals: 2\n".to_vec())]);
    options.scms.insert(app.clone(), Arc::new(StaticForge { base, files, facts: None }));
    let daemon = Daemon::start(options, Arc::new(SystemClock)).await.unwrap();
    let config =
        ProjectConfig { path: "/src/app".into(), default_branch: "main".into(), ..ProjectConfig::default() };
    let input = ProjectInput::Configure(Box::new(config));
    daemon.handle.ask(Input::Project { project: app.clone(), input }).await.unwrap();
    daemon.looks.see(&[PullId { project: app.clone(), number: 1 }]).await.unwrap();
    let written = daemon.handle.view(move |state| state.projects[&app].policy_stand.written).await.unwrap();
    assert!(written);
    daemon.stop().await.unwrap();
}
