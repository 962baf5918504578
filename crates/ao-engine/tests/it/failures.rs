//! What goes wrong comes back as an input, and nothing else goes wrong with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use ao_core::session::{MessageKind, NewMessage, Sender, SessionInput};
use ao_core::{Event, Input};
use ao_engine::{AskError, Options};
use ao_ports::StoreError;

use crate::house::{House, World, request, temp};

#[tokio::test]
async fn an_adapter_that_panics_has_failed_and_is_tried_again() {
    let (_keep, dir) = temp();
    let world = Arc::new(World::default());
    world.panics.store(1, Ordering::Relaxed);
    let house = House::open(&dir, &world).await;
    house.with_project().await;
    house.spawn("1").await.unwrap();
    house
        .until_event(|event| {
            matches!(event, Event::Session(_, ao_core::session::SessionEvent::LaunchFailed { why, .. })
                if why == "it panicked: the adapter has a bug")
        })
        .await;
    house.until_event(|event| format!("{event:?}").contains("Launched")).await;
    house.stop().await.unwrap();
}

#[tokio::test]
async fn an_effect_that_hangs_fails_in_its_time() {
    let (_keep, dir) = temp();
    let world = Arc::new(World::default());
    world.hangs.store(true, Ordering::Relaxed);
    let options = Options { script_timeout: Duration::from_millis(20), ..Options::default() };
    let house = House::open_with(&dir, &world, ao_store::Options::default(), options).await;
    house.with_project().await;
    house.spawn("1").await.unwrap();
    house.until_event(|event| format!("{event:?}").contains("it took longer than")).await;
    house.stop().await.unwrap();
}

#[tokio::test]
async fn a_name_that_nothing_is_plugged_in_under_is_told_with_those_that_are() {
    let (_keep, dir) = temp();
    let world = Arc::new(World::default());
    let house = House::open(&dir, &world).await;
    house.with_project().await;
    let mut wish = request("1");
    wish.workspace = "cloud".into();
    house.handle.ask(Input::Spawn(Box::new(wish))).await.unwrap();
    house
        .until_event(|event| format!("{event:?}").contains("there is no workspace `cloud`; there is folder"))
        .await;
    house.stop().await.unwrap();
}

#[tokio::test]
async fn on_a_full_disk_nothing_half_happens_and_work_goes_on_when_there_is_room() {
    let (_keep, dir) = temp();
    let world = Arc::new(World::default());
    let options = Options { store_retry: Duration::from_millis(5), ..Options::default() };
    let store = ao_store::Options { max_bytes: Some(256 * 1024) };
    let house = House::open_with(&dir, &world, store, options.clone()).await;
    house.with_project().await;
    let session = house.spawn("1").await.unwrap();
    house.until_event(|event| format!("{event:?}").contains("Launched")).await;

    let say = |n: usize| {
        let body = format!("{n} {}", "x".repeat(16 * 1024));
        let message =
            NewMessage { from: Sender::Daemon, kind: MessageKind::Text, body, interrupt: false, key: None };
        Input::Session { session, input: SessionInput::Send(message) }
    };
    let mut kept = 0;
    let full = loop {
        match house.handle.ask(say(kept)).await {
            Ok(_) => kept += 1,
            Err(err) => break err,
        }
        assert!(kept < 100, "the disk never gets full");
    };
    assert!(matches!(&full, AskError::NotStored(StoreError::Full { .. })), "{full:?}");
    // What could not be written down did not happen, in memory as on disk. (The first to wait is the task.)
    assert_eq!(house.waiting(session).await, kept + 1);
    house.stop().await.unwrap();

    let house = House::open_with(&dir, &world, ao_store::Options::default(), options).await;
    assert_eq!(house.waiting(session).await, kept + 1);
    house.handle.ask(say(kept)).await.unwrap();
    assert_eq!(house.waiting(session).await, kept + 2);
    house.stop().await.unwrap();
}
