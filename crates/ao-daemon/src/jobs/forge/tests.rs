//! Jobs at a forge that plays a part.

use std::sync::Mutex;

use ao_core::Timestamp;
use ao_core::job::JobOrder;
use ao_core::pull::{AuthorFacts, PullFacts};
use ao_core::{Commit, ProjectId, PullId};
use ao_ports::{
    BaseView, FailureReport, LogPart, NewComment, NewPull, NewReview, PullDetail, PullEdit, PullFilter,
    PullRow, RunFilter, ScmChecks, ScmError, ScmReviews,
};
use ao_testkit::pull_facts;
use async_trait::async_trait;
use std::sync::Arc;

use super::*;
use crate::jobs::spawn::refused;

/// A forge whose one pull request has this head, and whose check ends like this after a while.
struct Played {
    head: &'static str,
    ends: RunState,
    /// The reason why its log cannot be read, if so.
    no_log: Option<ScmError>,
    asked: Mutex<Vec<String>>,
}

impl Played {
    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }

    fn run_in(&self, state: RunState) -> CheckRun {
        CheckRun {
            id: "run_1".into(),
            project: ProjectId::new("app"),
            pull: None,
            check: "test".into(),
            command: "make test".into(),
            required: true,
            head: Commit::new("b1"),
            base: None,
            tree: "t1".into(),
            ahead: vec![],
            state,
            why: Some("no disk".into()),
            exit_code: None,
            queued_at: Timestamp(0),
            began_at: None,
            ended_at: None,
            tries: 1,
            same_as: None,
            log: None,
            failure: (state == RunState::Failed).then(|| FailureReport {
                signature: "s1".into(),
                excerpt: "assertion failed".into(),
                ..FailureReport::default()
            }),
        }
    }
}

#[async_trait]
impl Scm for Played {
    fn reviews(&self) -> Option<&dyn ScmReviews> {
        Some(self)
    }

    fn checks(&self) -> Option<&dyn ScmChecks> {
        Some(self)
    }

    async fn open(&self, _: &NewPull) -> Result<PullId, ScmError> {
        Err(ScmError::Failed("not played".into()))
    }

    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError> {
        let facts = PullFacts { head: Commit::new(self.head), ..pull_facts("x") };
        Ok(pulls.iter().map(|pull| (pull.clone(), facts.clone())).collect())
    }

    async fn open_pulls(&self, _: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        Ok(vec![])
    }

    async fn base(&self, _: &ProjectId) -> Result<BaseView, ScmError> {
        Ok(BaseView::default())
    }

    async fn file_at(
        &self,
        _: &ProjectId,
        _: &Commit,
        _: &str,
        _: usize,
    ) -> Result<Option<Vec<u8>>, ScmError> {
        Ok(None)
    }
}

#[async_trait]
impl ScmReviews for Played {
    async fn reply(&self, reply: &ThreadReply) -> Result<(), ScmError> {
        self.note(format!("reply {} {} {} {}", reply.thread, reply.text, reply.resolve, reply.key));
        Ok(())
    }

    async fn list(&self, _: &ProjectId, _: &PullFilter) -> Result<Vec<PullRow>, ScmError> {
        unreachable!("no job does that")
    }

    async fn show(&self, _: &PullId) -> Result<PullDetail, ScmError> {
        unreachable!("no job does that")
    }

    async fn diff(&self, _: &PullId, _: usize) -> Result<String, ScmError> {
        unreachable!("no job does that")
    }

    async fn diff_at(&self, _: &PullId, _: &Commit, _: &Commit, _: usize) -> Result<String, ScmError> {
        unreachable!("no job does that")
    }

    async fn edit(&self, _: &PullId, _: &PullEdit) -> Result<(), ScmError> {
        unreachable!("no job does that")
    }

    async fn comment(&self, _: &NewComment) -> Result<String, ScmError> {
        unreachable!("no job does that")
    }

    async fn edit_comment(&self, _: &PullId, _: &str, _: &AuthorFacts, _: &str) -> Result<(), ScmError> {
        unreachable!("no job does that")
    }

    async fn review(&self, _: &NewReview) -> Result<String, ScmError> {
        unreachable!("no job does that")
    }

    async fn resolve(&self, _: &PullId, _: &str, _: &AuthorFacts, _: bool) -> Result<(), ScmError> {
        unreachable!("no job does that")
    }
}

#[async_trait]
impl ScmChecks for Played {
    async fn rerun(&self, pull: &PullId, head: &Commit, check: &str) -> Result<(), ScmError> {
        self.note(format!("rerun {pull} {head} {check}"));
        Ok(())
    }

    async fn check(&self, order: &CheckOrder) -> Result<Vec<CheckRun>, ScmError> {
        self.note(format!("check {:?} {:?} again {}", order.what, order.checks, order.again));
        Ok(vec![self.run_in(RunState::Queued)])
    }

    async fn run(&self, _: &str) -> Result<CheckRun, ScmError> {
        Ok(self.run_in(self.ends))
    }

    async fn check_log(&self, _: &str, from: u64, _: u32, _: bool) -> Result<LogPart, ScmError> {
        self.no_log.clone().map_or(Ok(()), Err)?;
        // Two pieces, and then its end.
        let next = (from + 10).min(20);
        Ok(LogPart { bytes: vec![], next, ended: from == next })
    }

    async fn runs(&self, _: &RunFilter) -> Result<Vec<CheckRun>, ScmError> {
        unreachable!("no job does that")
    }
}

async fn outcome(
    head: &'static str,
    ends: RunState,
    order: JobOrder,
) -> (Result<JobOutcome, JobError>, Vec<String>) {
    let played = Arc::new(Played { head, ends, no_log: None, asked: Mutex::default() });
    let outcome = match order {
        JobOrder::Rerun { pull, check, commit, .. } => rerun(&*played, &pull, &check, &commit).await,
        JobOrder::CheckBase { project, commit, check, .. } => {
            check_base(&*played, &project, &commit, &check).await
        }
        JobOrder::Reply(answer) => reply(&*played, answer).await,
        other => panic!("no job of a forge: {other:?}"),
    };
    let asked = played.asked.lock().unwrap().clone();
    (outcome, asked)
}

fn pull() -> PullId {
    PullId { project: ProjectId::new("app"), number: 7 }
}

#[tokio::test]
async fn a_check_is_run_again_on_the_head_that_it_failed_on_and_on_no_other() {
    let order =
        || JobOrder::Rerun { pull: pull(), check: "test".into(), commit: Commit::new("h1"), number: 1 };
    let (done, asked) = outcome("h1", RunState::Passed, order()).await;
    assert_eq!(done, Ok(JobOutcome::Done { said: "`test` runs again".into() }));
    assert_eq!(asked, ["rerun app!7 h1 test"]);
    let (done, asked) = outcome("h2", RunState::Passed, order()).await;
    assert_eq!(done, Ok(JobOutcome::Done { said: "the head has moved".into() }));
    assert_eq!(asked, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_check_of_the_base_is_waited_for_and_its_result_told() {
    let order = || JobOrder::CheckBase {
        project: ProjectId::new("app"),
        branch: "main".into(),
        commit: Commit::new("b1"),
        check: "test".into(),
    };
    let (green, asked) = outcome("h1", RunState::Passed, order()).await;
    assert_eq!(green, Ok(JobOutcome::BaseGreen {}));
    assert_eq!(asked, ["check Revision(\"b1\") [\"test\"] again false"]);
    let (red, _) = outcome("h1", RunState::Failed, order()).await;
    let expected = JobOutcome::BaseRed { signature: "s1".into(), excerpt: "assertion failed".into() };
    assert_eq!(red, Ok(expected));
    let (broken, _) = outcome("h1", RunState::Broken, order()).await;
    assert!(matches!(&broken, Err(JobError::Later(why)) if why.contains("no disk")), "{broken:?}");
}

#[tokio::test(start_paused = true)]
async fn a_limit_ends_the_wait_for_a_check_of_the_base() {
    let after = Duration::from_secs(900);
    let no_log = Some(ScmError::Limited { after });
    let played = Played { head: "h1", ends: RunState::Running, no_log, asked: Mutex::default() };
    let waited = check_base(&played, &ProjectId::new("app"), &Commit::new("b1"), "test").await;
    assert!(matches!(waited, Err(JobError::Limited { after: delay, .. }) if delay == after), "{waited:?}");
}

#[tokio::test]
async fn an_answer_is_given_under_its_key() {
    let order = JobOrder::Reply(ThreadReply {
        pull: pull(),
        thread: "t1".into(),
        text: "Done in c9.".into(),
        resolve: true,
        key: "t1 c9".into(),
    });
    let (done, asked) = outcome("h1", RunState::Passed, order).await;
    assert!(matches!(done, Ok(JobOutcome::Done { .. })), "{done:?}");
    assert_eq!(asked, ["reply t1 Done in c9. true t1 c9"]);
}

#[test]
fn a_limit_of_a_service_delays_a_job_and_other_failures_are_retried_or_not() {
    let after = Duration::from_secs(900);
    assert!(
        matches!(fault(ScmError::Limited { after }), JobError::Limited { after: delay, .. } if delay == after)
    );
    let order = refused(ScmError::Limited { after }.into());
    assert!(matches!(order, JobError::Limited { after: delay, .. } if delay == after), "{order:?}");
    assert!(matches!(fault(ScmError::Failed("no network".into())), JobError::Later(_)));
    assert!(matches!(fault(ScmError::not_found("it")), JobError::Never(_)));
}
