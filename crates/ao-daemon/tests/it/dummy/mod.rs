//! An adapter that the project does not know: its own file and one line of registration are all that it needs.

mod forge;
mod runtime;

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ao_config::catalog::PluginSlot;
use ao_config::{Env, Places};
use ao_core::pull::{AuthorFacts, AuthorStanding};
use ao_core::session::SessionInput;
use ao_core::{Input, ProjectId, State};
use ao_daemon::clock::SystemClock;
use ao_daemon::config::InForce;
use ao_daemon::daemon::DaemonOptions;
use ao_daemon::registry::{self, Registry};
use ao_daemon::spawn::SpawnDraft;
use ao_daemon::{Daemon, Orchestrator};
use ao_ports::{MergeAbilities, NewPull};
use camino::{Utf8Path, Utf8PathBuf};

const PATIENCE: Duration = Duration::from_secs(60);

/// The registration of both adapters.
fn with_dummies() -> Arc<Registry> {
    let mut registry = Registry::built_in();
    registry.add(runtime::adapter());
    registry.add(forge::adapter());
    Arc::new(registry)
}

/// A repository whose configuration names both adapters.
fn configure(folder: &Utf8Path) -> Utf8PathBuf {
    let repository = folder.join("app");
    std::fs::create_dir(&repository).unwrap();
    for args in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["commit", "--quiet", "--allow-empty", "-m", "begin"],
    ] {
        let git = Command::new("git")
            .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.org"])
            .args(args)
            .current_dir(&repository)
            .status();
        assert!(git.unwrap().success());
    }
    let file = repository.join("agent-orchestrator.yaml");
    let config = "defaults: { runtime: dummy, scm: dummy, agent: idler, notifiers: [] }\n\
                  projects: { app: { path: . } }\n\
                  tools: { idler: { program: sh, prompt: argument } }\n";
    std::fs::write(&file, config).unwrap();
    file
}

fn places(folder: &Utf8Path, registry: &Registry) -> Places {
    Places { env: Env::new([]), cwd: folder.to_owned(), home: None, catalog: registry.catalog() }
}

#[test]
fn names_without_a_registration_are_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (file, registry) = (configure(folder), registry::built_in());
    let configs = InForce::open_in(folder, places(folder, &registry), registry).unwrap();
    let refused = configs.with(&file).unwrap_err().to_plain();
    assert!(refused.contains("there is no runtime called `dummy`"), "{refused}");
    assert!(refused.contains("there is no scm called `dummy`"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_runs_in_the_dummy_runtime_and_its_pull_request_is_on_the_dummy_forge() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    let (file, registry) = (configure(folder), with_dummies());

    let listed: Vec<(PluginSlot, String)> =
        registry.catalog().plugins().map(|plugin| (plugin.slot, plugin.name.clone())).collect();
    for slot in [PluginSlot::Runtime, PluginSlot::Scm] {
        assert!(listed.contains(&(slot, "dummy".into())), "{slot}: {listed:?}");
    }

    let data = folder.join("data");
    std::fs::create_dir(&data).unwrap();
    let configs = InForce::open_in(&data, places(folder, &registry), registry).unwrap();
    let configs = configs.with(&file).unwrap();
    assert_eq!(configs.main.missing, [], "every configured name is there");
    let options =
        DaemonOptions { configs: Some(configs), ..DaemonOptions::new(data.clone(), "/nonexistent/ao") };
    let daemon = Daemon::start(options, Arc::new(SystemClock)).await.unwrap();
    assert_eq!(daemon.config.in_force().problems(), Vec::<String>::new());

    let draft = SpawnDraft { title: Some("Do it".into()), ..SpawnDraft::default() };
    let order = daemon.spawn.order(draft).await.unwrap();
    assert!(order.prompt.contains("pr create"), "its agent knows of the forge: {}", order.prompt);
    let receipt = daemon.handle.ask(Input::Spawn(Box::new(order))).await.unwrap();
    let session = receipt.events.iter().find_map(|event| event.event.session()).unwrap();
    until(&daemon, move |state| state.sessions[&session].process.is_some()).await;
    let started = daemon.handle.view(move |state| state.sessions[&session].clone()).await.unwrap();
    assert_eq!(started.process.as_ref().unwrap().runtime, "dummy");

    let project = ProjectId::new("app");
    let new = NewPull {
        project: project.clone(),
        session: Some(session),
        head_branch: started.spec.branch.clone(),
        base_branch: "main".into(),
        title: "It is done".into(),
        body: String::new(),
        draft: false,
        labels: Default::default(),
        by: AuthorFacts { login: "idler".into(), standing: AuthorStanding::Agent },
    };
    let pull = daemon.looks.scm(&project).unwrap().open(&new).await.unwrap();
    daemon.looks.see(std::slice::from_ref(&pull)).await.unwrap();
    let known = pull.clone();
    let seen = daemon.handle.view(move |state| state.pulls.get(&known).cloned()).await.unwrap();
    let seen = seen.expect("the engine knows of it");
    assert_eq!((seen.facts.url.as_str(), seen.owner), ("dummy:1", Some(session)));

    let stop = SessionInput::Stop { by: "ann".into(), why: "over".into() };
    daemon.handle.ask(Input::Session { session, input: stop }).await.unwrap();
    until(&daemon, |state| state.live().next().is_none()).await;
    daemon.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_knows_that_an_embedded_forge_merges_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = Utf8Path::from_path(folder.path()).unwrap();
    configure(folder);
    let data = folder.join("data");
    let builder = Orchestrator::builder(&data).project("app", folder.join("app"));
    let embedded = builder.scm("app", Arc::<forge::Forge>::default()).start().await.unwrap();
    embedded.stop().await.unwrap();

    let options = DaemonOptions::new(data, "/nonexistent/ao");
    let daemon = Daemon::start(options, Arc::new(SystemClock)).await.unwrap();
    let limits = |state: &State| state.projects[&ProjectId::new("app")].config.merge_limits;
    assert_eq!(daemon.handle.view(limits).await.unwrap(), Some(MergeAbilities::NONE));
    daemon.stop().await.unwrap();
}

/// Waits until the state is so, woken by what happens.
async fn until(daemon: &Daemon, so: impl Fn(&State) -> bool + Send + Clone + 'static) {
    let mut feed = daemon.handle.subscribe(daemon.last_seq().await.unwrap());
    let waited = tokio::time::timeout(PATIENCE, async {
        loop {
            let look = so.clone();
            if daemon.handle.view(move |state| look(state)).await.unwrap() {
                return;
            }
            feed.next().await.unwrap();
        }
    });
    waited.await.expect("it comes to this in time");
}
