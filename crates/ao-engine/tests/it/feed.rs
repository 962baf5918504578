//! Watchers: from any point of the past, in order, without gaps, and without holding anybody up.

use std::sync::Arc;

use ao_core::task::TaskFacts;
use ao_core::{Input, TaskId, Timestamp};
use ao_ports::EventStore;

use crate::house::{House, World, app, temp};

fn task(n: usize) -> Input {
    let facts = TaskFacts {
        observed: Timestamp(n as i64 + 1),
        title: format!("task {n}"),
        labels: Default::default(),
        priority: 0,
        blocked_by: Default::default(),
        closed: false,
        trusted: true,
        branch: None,
        author: None,
    };
    Input::Task { task: TaskId { project: app(), key: n.to_string() }, facts: Box::new(facts) }
}

#[tokio::test]
async fn a_late_watcher_reads_the_past_and_goes_on_into_the_present_without_a_gap() {
    let (_keep, dir) = temp();
    let house = House::open(&dir, &Arc::new(World::default())).await;
    house.with_project().await;
    for n in 0..600 {
        house.handle.ask(task(n)).await.unwrap();
    }
    let mut watcher = house.handle.subscribe(100);
    let handle = house.handle.clone();
    let more = tokio::spawn(async move {
        for n in 600..1200 {
            handle.ask(task(n)).await.unwrap();
        }
    });
    let last = 1201;
    for expected in 101..=last {
        let published = watcher.next().await.unwrap().expect("there is more");
        assert_eq!(published.seq, expected);
    }
    more.await.unwrap();
    assert_eq!(house.store.last_seq().await.unwrap(), last);
    house.stop().await.unwrap();
    assert_eq!(watcher.next().await.unwrap(), None);
}

#[tokio::test]
async fn a_watcher_that_sleeps_holds_nobody_up_and_misses_nothing() {
    let (_keep, dir) = temp();
    let house = House::open(&dir, &Arc::new(World::default())).await;
    house.with_project().await;
    let mut sleeper = house.handle.subscribe(0);
    assert_eq!(sleeper.next().await.unwrap().unwrap().seq, 1);
    // Far more than is kept in memory for it.
    for n in 0..3000 {
        house.handle.ask(task(n)).await.unwrap();
    }
    for expected in 2..=3001 {
        assert_eq!(sleeper.next().await.unwrap().unwrap().seq, expected);
    }
    house.stop().await.unwrap();
}
