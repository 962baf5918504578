//! The edge, in front of a tracker that plays a part.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A tracker that answers every call like this, and counts them.
struct Played {
    answer: ServiceError,
    calls: AtomicUsize,
}

impl Played {
    fn answer<T>(&self) -> Result<T, TrackerError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Err(self.answer.clone())
    }
}

#[async_trait]
impl Tracker for Played {
    async fn changed(&self, _: &ProjectId, _: Timestamp, _: Option<&str>) -> Result<TaskPage, TrackerError> {
        self.answer()
    }

    async fn task(&self, _: &TaskId) -> Result<TaskSeen, TrackerError> {
        self.answer()
    }

    async fn comment(&self, _: &TaskId, _: &AuthorFacts, _: &str, _: &str) -> Result<(), TrackerError> {
        self.answer()
    }

    async fn close(&self, _: &TaskId) -> Result<(), TrackerError> {
        self.answer()
    }
}

fn task() -> TaskId {
    TaskId { project: ProjectId::new("app"), key: "7".into() }
}

fn limited(seconds: u64) -> ServiceError {
    ServiceError::Limited { after: Duration::from_secs(seconds) }
}

/// Returns a tracker that answers like this, and the edge before it.
fn edge(answer: ServiceError) -> (Arc<Played>, MaskedPort<dyn Tracker>) {
    let played = Arc::new(Played { answer, calls: AtomicUsize::new(0) });
    (played.clone(), MaskedPort::new(played))
}

#[tokio::test(start_paused = true)]
async fn a_limit_that_one_call_meets_keeps_every_call_from_the_service_until_its_time() {
    let (played, edge) = edge(limited(900));
    assert_eq!(edge.task(&task()).await, Err(limited(900)));
    tokio::time::advance(Duration::from_secs(100)).await;
    assert_eq!(edge.close(&task()).await, Err(limited(800)), "the time that is left");
    assert_eq!(edge.changed(&task().project, Timestamp(0), None).await, Err(limited(800)));
    assert_eq!(played.calls.load(Ordering::Relaxed), 1);
    tokio::time::advance(Duration::from_secs(800)).await;
    assert_eq!(edge.close(&task()).await, Err(limited(900)));
    assert_eq!(played.calls.load(Ordering::Relaxed), 2, "it is asked again");
}

#[tokio::test(start_paused = true)]
async fn a_limit_is_believed_for_a_second_at_least_and_a_day_at_most() {
    let day = 24 * 3600;
    for (named, believed) in [(0, 1), (1, 1), (day, day), (u64::MAX, day)] {
        let (_, edge) = edge(limited(named));
        assert_eq!(edge.close(&task()).await, Err(limited(believed)), "{named}");
    }
}
