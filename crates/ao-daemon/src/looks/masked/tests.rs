//! The edge, in front of a tracker that plays a part.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use ao_ports::TrackerError;

use super::*;

/// A tracker that answers every call like this, and counts them.
pub(in super::super) struct Played {
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
pub(in super::super) fn edge(answer: ServiceError) -> (Arc<Played>, MaskedPort<dyn Tracker>) {
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

/// A forge that has the secret in everything it returns.
struct Leaky;

/// The value of a secret, and its name as the edge writes it.
const LEAK: &str = "hunter2-at-the-edge";
const HIDDEN: &str = "[secret EDGE]";

fn leak<T>() -> Result<T, ScmError> {
    Err(ScmError::Failed(LEAK.into()))
}

#[async_trait]
impl Scm for Leaky {
    fn reviews(&self) -> Option<&dyn ScmReviews> {
        Some(self)
    }

    fn checks(&self) -> Option<&dyn ScmChecks> {
        Some(self)
    }

    async fn open(&self, _: &NewPull) -> Result<PullId, ScmError> {
        leak()
    }

    async fn pulls(&self, _: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError> {
        leak()
    }

    async fn open_pulls(&self, _: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        leak()
    }

    async fn base(&self, _: &ProjectId) -> Result<BaseView, ScmError> {
        let held =
            MovedBase { what: LEAK.into(), from: None, to: None, at_work: vec![], detail: LEAK.into() };
        Ok(BaseView { held: vec![held], programs: vec![("core.editor".into(), LEAK.into())], tip: None })
    }

    async fn file_at(
        &self,
        _: &ProjectId,
        _: &Commit,
        _: &str,
        _: usize,
    ) -> Result<Option<Vec<u8>>, ScmError> {
        leak()
    }
}

#[async_trait]
impl ScmReviews for Leaky {
    async fn list(&self, _: &ProjectId, _: &PullFilter) -> Result<Vec<PullRow>, ScmError> {
        leak()
    }

    async fn show(&self, _: &PullId) -> Result<PullDetail, ScmError> {
        leak()
    }

    async fn diff(&self, _: &PullId, _: usize) -> Result<String, ScmError> {
        Ok(LEAK.into())
    }

    async fn diff_at(&self, _: &PullId, _: &Commit, _: &Commit, _: usize) -> Result<String, ScmError> {
        Ok(LEAK.into())
    }

    async fn edit(&self, _: &PullId, _: &PullEdit) -> Result<(), ScmError> {
        leak()
    }

    async fn comment(&self, _: &NewComment) -> Result<String, ScmError> {
        leak()
    }

    async fn edit_comment(&self, _: &PullId, _: &str, _: &AuthorFacts, _: &str) -> Result<(), ScmError> {
        leak()
    }

    async fn reply(&self, _: &ThreadReply) -> Result<(), ScmError> {
        leak()
    }

    async fn review(&self, _: &NewReview) -> Result<String, ScmError> {
        leak()
    }

    async fn resolve(&self, _: &PullId, _: &str, _: &AuthorFacts, _: bool) -> Result<(), ScmError> {
        leak()
    }
}

#[async_trait]
impl ScmChecks for Leaky {
    async fn rerun(&self, _: &PullId, _: &Commit, _: &str) -> Result<(), ScmError> {
        leak()
    }

    async fn runs(&self, _: &RunFilter) -> Result<Vec<CheckRun>, ScmError> {
        leak()
    }

    async fn check(&self, _: &CheckOrder) -> Result<Vec<CheckRun>, ScmError> {
        leak()
    }

    async fn check_log(&self, _: &str, _: u64, _: u32, _: bool) -> Result<LogPart, ScmError> {
        Ok(LogPart { bytes: format!("a {LEAK} b").into_bytes(), next: 23, ended: true })
    }
}

/// acceptance: X5
#[tokio::test]
async fn results_and_errors_of_a_forge_are_masked() {
    crate::secrets::learn([("EDGE".to_owned(), LEAK.as_bytes().to_vec())]);
    let edge: MaskedPort<dyn Scm> = MaskedPort::new(Arc::new(Leaky));
    let (project, head) = (ProjectId::new("app"), Commit::new("c1"));
    let pull = PullId { project: project.clone(), number: 7 };
    let by = AuthorFacts { login: "ann".into(), standing: ao_core::pull::AuthorStanding::Owner };
    let reviews = Scm::reviews(&edge).unwrap();
    let checks = Scm::checks(&edge).unwrap();
    let answers = [
        format!("{:?}", edge.open_pulls(&project).await),
        format!("{:?}", edge.base(&project).await),
        format!("{:?}", edge.file_at(&project, &head, "x", 9).await),
        format!("{:?}", reviews.words(&pull).await),
        format!("{:?}", reviews.diff(&pull, 99).await),
        format!("{:?}", reviews.edit(&pull, &PullEdit::default()).await),
        format!("{:?}", reviews.edit_comment(&pull, "c1", &by, "x").await),
        format!("{:?}", reviews.resolve(&pull, "t1", &by, true).await),
        format!("{:?}", checks.rerun(&pull, &head, "test").await),
    ];
    for answer in answers {
        assert!(answer.contains(HIDDEN) && !answer.contains(LEAK), "{answer}");
    }
    let log = checks.check_log("run_1", 0, 99, false).await.unwrap();
    assert_eq!(String::from_utf8(log.bytes).unwrap(), format!("a {HIDDEN} b"));
    let diff = reviews.diff_at(&pull, &head, &head, 99).await;
    assert_eq!(diff.as_deref(), Ok(LEAK), "policies look for secrets in it");
    let commit = Commit::new("c1");
    let merged =
        MergeOutcome::Merged { tip: commit.clone(), commit, branch_left: Some(LEAK.into()), with: vec![] };
    assert!(!format!("{:?}", merged.masked()).contains(LEAK));
    let conflict = TestOutcome::Conflict { files: vec![LEAK.into()], pull: None };
    assert!(!format!("{:?}", conflict.masked()).contains(LEAK));
}
