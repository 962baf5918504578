//! Implementation of the SCM port.

use std::sync::Arc;

use ao_core::pull::{AuthorFacts, PullFacts};
use ao_core::{Commit, ProjectId, PullId};
use ao_git::FileContent;
use ao_ports::{
    BaseView, CheckOrder, CheckRun, HintReceiver, LogPart, MergeAbilities, MergeOrder, MergeOutcome,
    MovedBase, NewComment, NewPull, NewReview, PullDetail, PullEdit, PullFilter, PullRow, RunFilter, Scm,
    ScmChecks, ScmError, ScmReviews, TestOrder, TestOutcome, ThreadReply, TidyOrder,
};
use async_trait::async_trait;

use super::{LocalError, LocalScm};

#[async_trait]
impl Scm for LocalScm {
    fn merge_abilities(&self) -> MergeAbilities {
        MergeAbilities::ALL
    }

    fn reviews(&self) -> Option<&dyn ScmReviews> {
        Some(self)
    }

    fn checks(&self) -> Option<&dyn ScmChecks> {
        Some(self)
    }

    async fn open(&self, new: &NewPull) -> Result<PullId, ScmError> {
        self.of_project(&new.project)?;
        Ok(self.open_pull(new).await?)
    }

    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError> {
        self.up_to_date().await?;
        let mut found = Vec::with_capacity(pulls.len());
        for pull in pulls {
            match self.entry(pull).await {
                Ok(entry) => found.push((pull.clone(), self.facts(&entry).await?)),
                Err(LocalError::Forge(ScmError::NotFound { .. })) => {}
                Err(err) => return Err(err.into()),
            }
        }
        Ok(found)
    }

    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        if *project != self.options.project {
            return Ok(vec![]);
        }
        self.up_to_date().await?;
        Ok(self.pulls.open().iter().map(|entry| self.id(entry.pull.number)).collect())
    }

    async fn base(&self, project: &ProjectId) -> Result<BaseView, ScmError> {
        self.of_project(project)?;
        Ok(self.base_view().await?)
    }

    async fn file_at(
        &self,
        project: &ProjectId,
        commit: &Commit,
        path: &str,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, ScmError> {
        self.of_project(project)?;
        let content = self.repository.git.file_at(commit.as_str(), path, limit).await;
        match content.map_err(LocalError::from)? {
            FileContent::Plain(bytes) => Ok(Some(bytes)),
            FileContent::Missing => Ok(None),
            FileContent::NotPlain => Err(ScmError::refused(format!("{path} is no plain file"))),
        }
    }

    async fn confirm_repository(&self, project: &ProjectId) -> Result<Vec<MovedBase>, ScmError> {
        self.of_project(project)?;
        Ok(self.confirm().await?)
    }

    async fn tidy(&self, _project: &ProjectId, order: &TidyOrder) -> Result<usize, ScmError> {
        Ok(self.tidy_merged(order).await?)
    }

    async fn test(&self, order: &TestOrder) -> Result<TestOutcome, ScmError> {
        self.test_merge(order).await.inspect_err(|_| self.merge_cache.forget())
    }

    async fn merge(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError> {
        self.merge_pull(order).await.inspect_err(|_| self.merge_cache.forget())
    }

    async fn delete_branch(&self, pull: &PullId, head: &Commit) -> Result<Option<String>, ScmError> {
        Ok(self.delete_merged_branch(pull, head).await?)
    }

    async fn watch(&self, hints: Arc<dyn HintReceiver>) {
        self.follow_refs(hints).await;
    }
}

#[async_trait]
impl ScmReviews for LocalScm {
    async fn list(&self, project: &ProjectId, filter: &PullFilter) -> Result<Vec<PullRow>, ScmError> {
        match *project == self.options.project {
            true => Ok(self.rows(filter).await?),
            false => Ok(vec![]),
        }
    }

    async fn show(&self, pull: &PullId) -> Result<PullDetail, ScmError> {
        Ok(self.detail(pull).await?)
    }

    async fn words(&self, pull: &PullId) -> Result<String, ScmError> {
        Ok(self.words_of(pull).await?)
    }

    async fn diff(&self, pull: &PullId, limit: usize) -> Result<String, ScmError> {
        Ok(self.diff_of(pull, limit).await?)
    }

    async fn diff_at(
        &self,
        pull: &PullId,
        head: &Commit,
        base: &Commit,
        limit: usize,
    ) -> Result<String, ScmError> {
        Ok(self.diff_of_commits(pull, head, base, limit).await?)
    }

    async fn edit(&self, pull: &PullId, edit: &PullEdit) -> Result<(), ScmError> {
        Ok(self.edit_pull(pull, edit).await?)
    }

    async fn comment(&self, comment: &NewComment) -> Result<String, ScmError> {
        Ok(self.say(comment).await?)
    }

    async fn edit_comment(
        &self,
        pull: &PullId,
        comment: &str,
        by: &AuthorFacts,
        body: &str,
    ) -> Result<(), ScmError> {
        Ok(self.reword(pull, comment, by, body).await?)
    }

    async fn reply(&self, reply: &ThreadReply) -> Result<(), ScmError> {
        Ok(self.answer(reply).await?)
    }

    async fn review(&self, review: &NewReview) -> Result<String, ScmError> {
        Ok(self.give_review(review).await?)
    }

    async fn resolve(
        &self,
        pull: &PullId,
        thread: &str,
        by: &AuthorFacts,
        resolved: bool,
    ) -> Result<(), ScmError> {
        Ok(self.settle_thread(pull, thread, by, resolved).await?)
    }
}

#[async_trait]
impl ScmChecks for LocalScm {
    async fn rerun(&self, pull: &PullId, head: &Commit, check: &str) -> Result<(), ScmError> {
        Ok(self.rerun_check(pull, head, check).await?)
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<CheckRun>, ScmError> {
        self.checks.runs(&self.options.project, filter).await
    }

    async fn run(&self, run: &str) -> Result<CheckRun, ScmError> {
        // One runner has the runs of all projects.
        let known = self.checks.get(run).await?.filter(|known| known.project == self.options.project);
        known.ok_or_else(|| ScmError::not_found(format!("the run `{run}`")))
    }

    async fn check(&self, order: &CheckOrder) -> Result<Vec<CheckRun>, ScmError> {
        self.of_project(&order.project)?;
        Ok(self.run_checks(order).await?)
    }

    async fn check_log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, ScmError> {
        self.checks.log(run, from, limit, wait).await
    }
}

impl LocalScm {
    /// Refuses projects of other forges.
    fn of_project(&self, project: &ProjectId) -> Result<(), ScmError> {
        match *project == self.options.project {
            true => Ok(()),
            false => Err(ScmError::not_found(format!("the project `{project}`"))),
        }
    }
}
