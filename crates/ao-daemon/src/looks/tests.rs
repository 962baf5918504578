//! The adapters of projects, as they come and go.

use std::future::ready;
use std::sync::atomic::{AtomicBool, Ordering};

use ao_config::Env;
use ao_ports::ServiceError;
use ao_testkit::StaticForge;
use camino::Utf8Path;

use super::masked::tests::edge;
use super::*;
use crate::Daemon;
use crate::clock::SystemClock;
use crate::config::InForce;
use crate::daemon::DaemonOptions;
use crate::registry::{self, Adapter, AdapterMaker, ProjectAdapter, ProjectDeps};

/// Returns an adapter that is made from the second try on.
fn made_late<T: ?Sized + Send + Sync + 'static>(
    adapter: Arc<T>,
) -> Arc<dyn Fn(ProjectDeps) -> ProjectAdapter<T> + Send + Sync> {
    let is_reached = AtomicBool::new(false);
    Arc::new(move |_| {
        let made = is_reached.swap(true, Ordering::Relaxed).then(|| adapter.clone());
        Box::pin(ready(made.ok_or_else(|| "no network".to_owned())))
    })
}

#[tokio::test]
async fn a_forge_that_could_not_be_made_is_made_by_the_next_reload_and_what_works_stays() {
    let folder = tempfile::tempdir().unwrap();
    let mut registry = Registry::built_in();
    let scm: Arc<dyn Scm> = Arc::<StaticForge>::default();
    let tracker: Arc<dyn Tracker> = edge(ServiceError::Failed("not played".into())).0;
    let kept = tracker.clone();
    let keep = AdapterMaker::Tracker(Arc::new(move |_| Box::pin(ready(Ok(kept.clone())))));
    for (name, maker) in [
        ("late", AdapterMaker::Scm(made_late(scm))),
        ("late", AdapterMaker::Tracker(made_late(tracker))),
        ("kept", keep),
    ] {
        registry.add(Adapter::new(name, "a service", maker));
    }
    let registry = Arc::new(registry);
    let options = DaemonOptions {
        background: false,
        registry: registry.clone(),
        ..DaemonOptions::new(Utf8Path::from_path(folder.path()).unwrap(), "/nonexistent/ao")
    };
    let daemon = Daemon::start(options, Arc::new(SystemClock)).await.unwrap();
    let config = "projects: {app: {path: /src/app, scm: late, tracker: kept}, \
                  web: {path: /src/web, scm: late, tracker: late}}";
    let config = InForce::of_text(config, registry).unwrap();
    let (app, web, looks) = (ProjectId::new("app"), ProjectId::new("web"), &daemon.looks);
    let reload = async || {
        let projects = config.projects().into_iter();
        let wanted = projects.map(|(id, known)| (id, ForgeConfig::of(&known, &Env::default())));
        daemon.plug(vec![], BTreeMap::new(), wanted.collect()).await.unwrap();
    };
    reload().await;
    assert!(matches!(looks.scm(&app), Err(LookError::NoForge(why)) if why == "no network"));
    assert!(looks.scm(&web).is_ok());
    assert!(matches!(looks.tracker(&web), Err(LookError::NoTracker(why)) if why == "no network"));
    let (tracker, forge) = (looks.tracker(&app).unwrap(), looks.scm(&web).unwrap());
    for _ in 0..2 {
        reload().await;
        assert!(looks.scm(&app).is_ok() && looks.tracker(&web).is_ok());
        assert!(Arc::ptr_eq(&tracker, &looks.tracker(&app).unwrap()));
        assert!(Arc::ptr_eq(&forge, &looks.scm(&web).unwrap()));
    }
    daemon.stop().await.unwrap();
}

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
