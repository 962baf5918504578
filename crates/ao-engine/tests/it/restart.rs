//! What a daemon finds again.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ao_core::session::{SessionInput, StatusWord};
use ao_core::{Input, Refusal};
use ao_engine::AskError;
use ao_ports::EventStore;

use crate::house::{House, World, app, idle, temp};

/// acceptance: L1
#[tokio::test]
async fn a_restarted_daemon_finds_its_agents_and_sends_nothing_again() {
    let (_keep, dir) = temp();
    let world = Arc::new(World::default());
    let house = House::open(&dir, &world).await;
    house.with_project().await;
    let session = house.spawn("42").await.unwrap();
    house.until_event(|event| format!("{event:?}").contains("Launched")).await;
    let attempt = house.handle.view(move |state| state.sessions[&session].attempt).await.unwrap();
    let signal = SessionInput::Signal(idle(attempt));
    house.handle.ask(Input::Session { session, input: signal }).await.unwrap();
    house.until_event(|event| format!("{event:?}").contains("Accepted")).await;
    house.stop().await.unwrap();

    let house = House::open(&dir, &world).await;
    assert_eq!(house.status(session).await, Some(StatusWord::Idle));
    // A spawn of the same task is told which session has it: uniqueness survives as well.
    let refused = house.spawn("42").await.unwrap_err();
    assert!(
        matches!(refused, AskError::Refused(Refusal::TaskTaken { session: taken, .. }) if taken == session)
    );
    house.stop().await.unwrap();
    assert_eq!(world.starts.load(Ordering::Relaxed), 1);
    assert_eq!(*world.taken.lock().unwrap(), ["Do 42."]);
}

#[tokio::test]
async fn a_daemon_that_stops_in_the_middle_of_an_effect_wants_it_again() {
    let (_keep, dir) = temp();
    let world = Arc::new(World::default());
    world.hangs.store(true, Ordering::Relaxed);
    let house = House::open(&dir, &world).await;
    house.with_project().await;
    let session = house.spawn("1").await.unwrap();
    assert_eq!(house.status(session).await, Some(StatusWord::SettingUp));
    house.stop().await.unwrap();

    world.hangs.store(false, Ordering::Relaxed);
    let house = House::open(&dir, &world).await;
    house.until_event(|event| format!("{event:?}").contains("Launched")).await;
    house.stop().await.unwrap();
}

#[tokio::test]
async fn a_stopped_daemon_leaves_a_snapshot_and_a_stopped_engine_says_so() {
    let (_keep, dir) = temp();
    let world = Arc::new(World::default());
    let house = House::open(&dir, &world).await;
    house.with_project().await;
    let (handle, store) = (house.handle.clone(), house.store.clone());
    let seq = store.last_seq().await.unwrap();
    let stop = house.stop();
    // Read before the store is closed for good.
    stop.await.unwrap();
    let refused = handle.view(|state| state.projects.len()).await.unwrap_err();
    assert_eq!(refused.to_string(), "ao is shutting down");

    let house = House::open(&dir, &world).await;
    let snapshot = house.store.latest_snapshot().await.unwrap().expect("a snapshot was left");
    assert_eq!(snapshot.seq, seq);
    assert!(house.handle.view(|state| state.projects.contains_key(&app())).await.unwrap());
    house.stop().await.unwrap();
}
