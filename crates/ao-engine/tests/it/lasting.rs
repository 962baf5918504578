//! Effects that last: begun with the process, begun again after a restart, and broken off when nobody wants them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ao_core::session::SessionInput;
use ao_core::{Event, Input};

use crate::house::{House, World, temp};

#[tokio::test]
async fn an_agent_is_read_along_with_from_its_launch_to_its_last_words() {
    let (_keep, dir) = temp();
    let world = Arc::new(World::default());
    let house = House::open(&dir, &world).await;
    house.with_project().await;
    let session = house.spawn("1").await.unwrap();
    world.followed.wait_for(|followed| followed.now == 1).await;

    // What it says reaches the engine.
    house.until_event(|event| format!("{event:?}").contains("what a follower saw")).await;
    house.stop().await.unwrap();
    world.followed.wait_for(|followed| followed.now == 0).await;

    let house = House::open(&dir, &world).await;
    world.followed.wait_for(|followed| followed.now == 1).await;
    let stop = SessionInput::Stop { by: "ann".into(), why: String::new() };
    house.handle.ask(Input::Session { session, input: stop }).await.unwrap();
    house.until_event(|event| format!("{event:?}").contains("Ended")).await;
    // It is left the time for last words, and then it is over.
    tokio::time::pause();
    world.followed.wait_for(|followed| followed.now == 0).await;
    assert_eq!(world.followed.begun(), 2);
    tokio::time::resume();
    house.stop().await.unwrap();
}

#[tokio::test]
async fn a_follower_that_has_read_to_the_end_is_not_begun_again() {
    let (_keep, dir) = temp();
    let world = Arc::new(World::default());
    world.short_sighted.store(true, Ordering::Relaxed);
    let house = House::open(&dir, &world).await;
    house.with_project().await;
    let session = house.spawn("1").await.unwrap();
    world.followed.wait_for(|followed| followed.begun == 1 && followed.now == 0).await;
    // Something happens to the session, and what it wants is looked at again.
    house
        .handle
        .ask(Input::Session { session, input: SessionInput::Pause { by: "ann".into() } })
        .await
        .unwrap();
    house
        .until_event(|event| matches!(event, Event::Session(..)) && format!("{event:?}").contains("Held"))
        .await;
    house.handle.view(|_| ()).await.unwrap();
    assert_eq!(world.followed.begun(), 1);
    house.stop().await.unwrap();
}
