//! Implementation of the SCM port.

use std::sync::Arc;

use ao_core::pull::{AuthorFacts, PullFacts};
use ao_core::{Commit, ProjectId, PullId};
use ao_ports::{
    BaseView, CheckOrder, CheckRun, HintReceiver, LogPart, LookHint, MergeOrder, MergeOutcome, MovedBase,
    NewComment, NewPull, NewReview, PullDetail, PullEdit, PullFilter, PullRow, Quota, RunFilter, Scm,
    ScmAbilities, ScmError, TestOrder, TestOutcome, ThreadReply, TidyOrder, TrackerError, Webhook,
};
use async_trait::async_trait;

use super::{LocalError, LocalScm};

#[async_trait]
impl Scm for LocalScm {
    fn abilities(&self) -> ScmAbilities {
        ScmAbilities {
            pushes: true,
            drafts: true,
            threads: true,
            pinned_merge: true,
            reruns: true,
            reviews: true,
            checks: true,
        }
    }

    async fn open(&self, new: &NewPull) -> Result<PullId, TrackerError> {
        if new.project != self.options.project {
            return Err(TrackerError::not_found(format!("the project `{}`", new.project)));
        }
        Ok(self.open_pull(new).await?)
    }

    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, TrackerError> {
        self.up_to_date().await?;
        let mut found = Vec::with_capacity(pulls.len());
        for pull in pulls {
            match self.entry(pull).await {
                Ok(entry) => found.push((pull.clone(), self.facts(&entry).await?)),
                Err(LocalError::Forge(TrackerError::NotFound { .. })) => {}
                Err(err) => return Err(err.into()),
            }
        }
        Ok(found)
    }

    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, TrackerError> {
        if *project != self.options.project {
            return Ok(vec![]);
        }
        self.up_to_date().await?;
        Ok(self.pulls.open().iter().map(|entry| self.id(entry.pull.number)).collect())
    }

    async fn base(&self, project: &ProjectId) -> Result<Option<BaseView>, TrackerError> {
        match *project == self.options.project {
            true => Ok(self.base_view().await?),
            false => Ok(None),
        }
    }

    async fn confirm_repository(&self, project: &ProjectId) -> Result<Vec<MovedBase>, TrackerError> {
        match *project == self.options.project {
            true => Ok(self.confirm().await?),
            false => Err(TrackerError::not_found(format!("the project `{project}`"))),
        }
    }

    async fn test(&self, order: &TestOrder) -> Result<TestOutcome, ScmError> {
        self.test_merge(order).await.inspect_err(|_| self.merge_cache.forget())
    }

    async fn merge(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError> {
        self.merge_pull(order).await.inspect_err(|_| self.merge_cache.forget())
    }

    async fn rerun(&self, pull: &PullId, head: &Commit, check: &str) -> Result<(), TrackerError> {
        Ok(self.rerun_check(pull, head, check).await?)
    }

    async fn reply(&self, reply: &ThreadReply) -> Result<(), TrackerError> {
        Ok(self.answer(reply).await?)
    }

    async fn list(&self, project: &ProjectId, filter: &PullFilter) -> Result<Vec<PullRow>, TrackerError> {
        match *project == self.options.project {
            true => Ok(self.rows(filter).await?),
            false => Ok(vec![]),
        }
    }

    async fn show(&self, pull: &PullId) -> Result<PullDetail, TrackerError> {
        Ok(self.detail(pull).await?)
    }

    async fn words(&self, pull: &PullId) -> Result<String, TrackerError> {
        Ok(self.words_of(pull).await?)
    }

    async fn tidy(&self, _project: &ProjectId, order: &TidyOrder) -> Result<usize, TrackerError> {
        Ok(self.tidy_merged(order).await?)
    }

    async fn diff(&self, pull: &PullId, limit: usize) -> Result<String, TrackerError> {
        Ok(self.diff_of(pull, limit).await?)
    }

    async fn diff_at(
        &self,
        pull: &PullId,
        head: &Commit,
        base: &Commit,
        limit: usize,
    ) -> Result<String, TrackerError> {
        Ok(self.diff_of_commits(pull, head, base, limit).await?)
    }

    async fn edit(&self, pull: &PullId, edit: &PullEdit) -> Result<(), TrackerError> {
        Ok(self.edit_pull(pull, edit).await?)
    }

    async fn comment(&self, comment: &NewComment) -> Result<String, TrackerError> {
        Ok(self.say(comment).await?)
    }

    async fn edit_comment(
        &self,
        pull: &PullId,
        comment: &str,
        by: &AuthorFacts,
        body: &str,
    ) -> Result<(), TrackerError> {
        Ok(self.reword(pull, comment, by, body).await?)
    }

    async fn review(&self, review: &NewReview) -> Result<String, TrackerError> {
        Ok(self.give_review(review).await?)
    }

    async fn resolve(
        &self,
        pull: &PullId,
        thread: &str,
        by: &AuthorFacts,
        resolved: bool,
    ) -> Result<(), TrackerError> {
        Ok(self.settle_thread(pull, thread, by, resolved).await?)
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<CheckRun>, TrackerError> {
        self.checks.runs(&self.options.project, filter).await
    }

    async fn run(&self, run: &str) -> Result<CheckRun, TrackerError> {
        // One runner has the runs of all projects.
        let known = self.checks.get(run).await?.filter(|known| known.project == self.options.project);
        known.ok_or_else(|| TrackerError::not_found(format!("the run `{run}`")))
    }

    async fn check(&self, order: &CheckOrder) -> Result<Vec<CheckRun>, TrackerError> {
        if order.project != self.options.project {
            return Err(TrackerError::not_found(format!("the project `{}`", order.project)));
        }
        Ok(self.run_checks(order).await?)
    }

    async fn check_log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, TrackerError> {
        self.checks.log(run, from, limit, wait).await
    }

    async fn watch(&self, hints: Arc<dyn HintReceiver>) {
        self.follow_refs(hints).await;
    }

    async fn webhook(&self, _: &Webhook) -> Result<Vec<LookHint>, TrackerError> {
        Err(TrackerError::BadWebhook { why: "the forge in the box has none".to_owned() })
    }

    fn quota(&self) -> Option<Quota> {
        None
    }
}
