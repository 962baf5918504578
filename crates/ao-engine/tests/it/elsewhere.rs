//! Agents that do not see the files of this machine, and who lives in a workspace.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ao_core::input::ProcessLife;
use ao_core::project::{ProjectConfig, ProjectInput};
use ao_core::session::SessionEvent;
use ao_core::setup::Setup;
use ao_core::workspace::WorkspaceTree;
use ao_core::{Attempt, Event, Input, SessionId};
use ao_ports::{ProcessRef, Runtime, Runtimes, TreeRef};

use crate::house::{House, World, app, temp};

/// Returns a daemon whose project has these set-up commands.
async fn house_with(world: &Arc<World>, commands: &[&str]) -> (tempfile::TempDir, House) {
    let (keep, dir) = temp();
    let house = House::open(&dir, world).await;
    let setup = Setup {
        post_create: commands.iter().map(ToString::to_string).collect(),
        timeout: Duration::from_secs(60),
        ..Setup::default()
    };
    let config = ProjectConfig { path: "app".into(), setup, ..ProjectConfig::default() };
    let input = ProjectInput::Configure(Box::new(config));
    house.handle.ask(Input::Project { project: app(), input }).await.unwrap();
    (keep, house)
}

#[tokio::test]
async fn set_up_commands_run_where_the_agent_lives() {
    for elsewhere in [true, false] {
        let world = Arc::new(World::default());
        world.is_elsewhere.store(elsewhere, Ordering::Relaxed);
        let (_keep, house) = house_with(&world, &["make deps", "make db"]).await;
        house.spawn("1").await.unwrap();
        house.until_event(|event| matches!(event, Event::Session(_, SessionEvent::Launched { .. }))).await;
        let executed = world.executed.lock().unwrap().clone();
        let commands: Vec<&str> = executed.iter().map(|(_, command)| command.as_str()).collect();
        let expected: &[&str] = if elsewhere { &["make deps", "make db"] } else { &[] };
        assert_eq!(commands, expected);
        assert!(executed.iter().all(|(path, _)| path.starts_with("app/")), "{executed:?}");
        house.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_set_up_command_that_fails_there_keeps_the_agent_from_starting() {
    let world = Arc::new(World::default());
    world.is_elsewhere.store(true, Ordering::Relaxed);
    let (_keep, house) = house_with(&world, &["false", "make db"]).await;
    house.spawn("1").await.unwrap();
    let mut told = String::new();
    house
        .until_event(|event| match event {
            Event::Session(_, SessionEvent::SetupFailed { why }) => {
                told.clone_from(why);
                true
            }
            _ => false,
        })
        .await;
    assert!(told.contains("`false` ended with code 1") && told.contains("no rule"), "{told}");
    assert_eq!(world.executed.lock().unwrap().len(), 1, "the next one does not run");
    assert_eq!(world.starts.load(Ordering::Relaxed), 0);
    house.stop().await.unwrap();
}

#[tokio::test]
async fn a_process_lives_in_a_workspace_by_its_session_or_by_its_folder() {
    let (session, other) = (SessionId(1), SessionId(2));
    let tree = TreeRef {
        session,
        project: app(),
        repository: "/app".into(),
        recorded: Some(WorkspaceTree { path: "/app/.worktrees/fix".into(), base: String::new() }),
        branch: "fix".into(),
    };
    let alive = ProcessLife::Alive { busy: false };
    let inside = Some("/app/.worktrees/fix/src".to_owned());
    let beside = Some("/app/.worktrees/fix-2".to_owned());
    for (whose, folder, life, elsewhere, lives) in [
        (session, None, alive, false, Some(true)),
        (session, beside.clone(), alive, false, Some(true)),
        (session, None, alive, true, Some(true)),
        (session, None, ProcessLife::Unheld, true, Some(true)),
        (session, None, ProcessLife::Unknown, true, None),
        (session, inside.clone(), ProcessLife::Gone { code: None }, false, Some(false)),
        (other, inside.clone(), alive, false, Some(true)),
        (other, inside.clone(), ProcessLife::Unknown, false, None),
        (other, beside, alive, false, Some(false)),
        (other, None, alive, false, Some(false)),
        // The same path in a container is another folder.
        (other, inside, alive, true, Some(false)),
    ] {
        let world = Arc::new(World::default());
        world.is_elsewhere.store(elsewhere, Ordering::Relaxed);
        world.alive.lock().unwrap().insert((whose, Attempt(1)), ProcessRef::new("here", "1"));
        *world.census_shows.lock().unwrap() = Some((life, folder.clone()));
        let runtimes = Runtimes::from_iter([world as Arc<dyn Runtime>]);
        let found = runtimes.live_in(&tree).await.unwrap();
        assert_eq!(found, lives, "{whose} in {folder:?}, {life:?}, elsewhere: {elsewhere}");
    }
}
