//! References, which only the runtime makes.

use ao_core::Attempt;
use ao_ports::{EndOrder, ProcessRef};

use super::story::{RuntimeBench, Story};

pub async fn a_reference_is_the_same_wherever_it_comes_from<B: RuntimeBench>(mut story: Story<B>) {
    let session = story.session(0);
    let unknown = story.runtime().reference(session, Attempt(1)).await.expect("an answer");
    assert_eq!(unknown, None, "nothing was started");
    let process = story.start("sleep 600").await;
    assert_eq!(process.runtime, story.runtime().name());
    for _ in 0..2 {
        let known = story.runtime().reference(session, Attempt(1)).await.expect("an answer");
        assert_eq!(known.as_ref(), Some(&process));
        let census = story.runtime().census().await.expect("a census");
        assert_eq!(census.iter().map(|entry| &entry.process).collect::<Vec<_>>(), [&process]);
        story.restart().await;
    }
    assert_eq!(story.runtime().reference(session, Attempt(2)).await.expect("an answer"), None);
    story.end().await;
    let ended = story.runtime().reference(session, Attempt(1)).await.expect("an answer");
    assert_eq!(ended, Some(process), "the output of an ended process is found by it");
}

pub async fn a_reference_of_another_runtime_is_refused<B: RuntimeBench>(story: Story<B>) {
    let process = story.start("sleep 600").await;
    let foreign = ProcessRef { runtime: "another".into(), ..process };
    assert!(story.runtime().output(&foreign, 0, 10, std::time::Duration::ZERO).await.is_err());
    assert_eq!(story.runtime().folder(&foreign).await, None);
    let order = EndOrder { session: story.session(0), attempt: Attempt(1), process: None };
    story.runtime().end(&order).await.expect("it ends");
}
