//! The adapters of projects, as they come and go.

use ao_config::Env;
use ao_ports::ServiceError;
use camino::Utf8Path;

use super::masked::tests::edge;
use super::*;
use crate::Daemon;
use crate::clock::SystemClock;
use crate::config::InForce;
use crate::daemon::DaemonOptions;
use crate::registry;

#[tokio::test]
async fn watches_of_replaced_trackers_do_not_accumulate() {
    let folder = tempfile::tempdir().unwrap();
    let options = DaemonOptions {
        background: false,
        ..DaemonOptions::new(Utf8Path::from_path(folder.path()).unwrap(), "/nonexistent/ao")
    };
    let daemon = Daemon::start(options, Arc::new(SystemClock)).await.unwrap();
    let config = InForce::of_text("projects: {app: {path: /src/app}}", registry::built_in()).unwrap();
    let (app, looks) = (ProjectId::new("app"), &daemon.looks);
    let wanted = ForgeConfig::of(&config.projects()[&app], &Env::default());
    for _ in 0..50 {
        let (tracker, _) = edge(ServiceError::Failed("not played".into()));
        looks.adopt(app.clone(), wanted.clone(), Err("there is none".into()), Ok(tracker));
        tokio::task::yield_now().await;
    }
    assert!(looks.watching().len() <= 3, "{}", looks.watching().len());
    daemon.stop().await.unwrap();
}
