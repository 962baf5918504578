//! The edge of the forges and trackers, where secrets are masked in the texts of people and agents: before a text is
//! handed to one, and so before it is stored there, and as soon as one returns a text, which may come from a commit,
//! a file of the repository or another service.
//!
//! Returned as they are, and stored nowhere: diffs in which policies look for secrets ([`ScmReviews::diff_at`]), texts
//! that are only searched for names of issues ([`ScmReviews::words`]), and policies ([`Scm::file_at`]).

use std::sync::Arc;

use ao_core::pull::{AuthorFacts, PullFacts};
use ao_core::{Commit, ProjectId, PullId, TaskId, Timestamp};
use ao_ports::{
    BaseView, CheckOrder, CheckRun, HintReceiver, LogPart, MergeAbilities, MergeOrder, MergeOutcome,
    MovedBase, NewComment, NewPull, NewReview, NewTask, PullDetail, PullEdit, PullFilter, PullRow, RunFilter,
    Scm, ScmChecks, ScmError, ScmReviews, ServiceError, TaskEdit, TaskFilter, TaskPage, TaskSeen, TestOrder,
    TestOutcome, ThreadReply, TidyOrder, Tracker, TrackerError,
};
use ao_process::Secrets;
use async_trait::async_trait;

use crate::secrets::known;

/// A forge or a tracker that neither gets nor returns secrets.
pub(super) struct MaskedPort<T: ?Sized>(pub(super) Arc<T>);

/// A value with texts of others in it.
trait MaskTexts {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String));

    fn masked(mut self) -> Self
    where
        Self: Sized,
    {
        let secrets: Secrets = known();
        if !secrets.is_empty() {
            self.each(&mut |text| {
                secrets.mask_in(text);
            });
        }
        self
    }
}

impl MaskTexts for String {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        pass(self);
    }
}

impl<T: MaskTexts> MaskTexts for Vec<T> {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        self.iter_mut().for_each(|one| one.each(pass));
    }
}

impl<T: MaskTexts> MaskTexts for Option<T> {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        self.iter_mut().for_each(|one| one.each(pass));
    }
}

impl<T: MaskTexts, E: MaskTexts> MaskTexts for Result<T, E> {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        match self {
            Ok(told) => told.each(pass),
            Err(err) => err.each(pass),
        }
    }
}

impl MaskTexts for usize {
    fn each(&mut self, _: &mut dyn FnMut(&mut String)) {}
}

impl MaskTexts for () {
    fn each(&mut self, _: &mut dyn FnMut(&mut String)) {}
}

impl MaskTexts for ServiceError {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        match self {
            ServiceError::NotFound { what: text }
            | ServiceError::Refused { why: text }
            | ServiceError::Unsupported { what: text }
            | ServiceError::Denied { what: text }
            | ServiceError::Failed(text) => pass(text),
            ServiceError::Limited { .. } => {}
        }
    }
}

impl MaskTexts for TaskSeen {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        pass(&mut self.facts.title);
        pass(&mut self.body);
        self.branch.each(pass);
        self.comments.iter_mut().for_each(|comment| pass(&mut comment.body));
    }
}

impl MaskTexts for TaskPage {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        self.tasks.each(pass);
    }
}

impl MaskTexts for NewTask {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        pass(&mut self.title);
        pass(&mut self.body);
    }
}

impl MaskTexts for TaskEdit {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        self.title.each(pass);
        self.body.each(pass);
    }
}

impl MaskTexts for NewPull {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        pass(&mut self.title);
        pass(&mut self.body);
    }
}

impl MaskTexts for PullEdit {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        self.title.each(pass);
        self.body.each(pass);
    }
}

impl MaskTexts for NewComment {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        pass(&mut self.body);
    }
}

impl MaskTexts for NewReview {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        pass(&mut self.body);
        self.comments.iter_mut().for_each(|comment| pass(&mut comment.body));
    }
}

impl MaskTexts for ThreadReply {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        pass(&mut self.text);
    }
}

impl MaskTexts for PullRow {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        pass(&mut self.title);
    }
}

impl MaskTexts for (PullId, PullFacts) {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        self.1.each_text(pass);
    }
}

impl MaskTexts for CheckRun {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        pass(&mut self.command);
        self.why.each(pass);
        if let Some(failure) = &mut self.failure {
            pass(&mut failure.signature);
            failure.step.each(pass);
            pass(&mut failure.excerpt);
            failure.items.iter_mut().for_each(|item| pass(&mut item.message));
        }
    }
}

impl MaskTexts for PullDetail {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        self.facts.each_text(pass);
        pass(&mut self.body);
        self.commits.iter_mut().for_each(|commit| pass(&mut commit.title));
        self.threads.values_mut().for_each(|thread| thread.context.each(pass));
        self.checks.each(pass);
    }
}

impl MaskTexts for TestOutcome {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        if let TestOutcome::Red { output, between } = self {
            pass(output);
            pass(between);
        }
    }
}

impl MaskTexts for MergeOutcome {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        if let MergeOutcome::Refused { why, .. } = self {
            pass(why);
        }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods, reason = "a default would hide what the tracker can do")]
impl Tracker for MaskedPort<dyn Tracker> {
    async fn changed(
        &self,
        project: &ProjectId,
        since: Timestamp,
        page: Option<&str>,
    ) -> Result<TaskPage, TrackerError> {
        self.0.changed(project, since, page).await.masked()
    }

    async fn task(&self, task: &TaskId) -> Result<TaskSeen, TrackerError> {
        self.0.task(task).await.masked()
    }

    async fn list(&self, project: &ProjectId, filter: &TaskFilter) -> Result<Vec<TaskSeen>, TrackerError> {
        self.0.list(project, filter).await.masked()
    }

    async fn create(&self, new: &NewTask) -> Result<TaskId, TrackerError> {
        self.0.create(&new.clone().masked()).await
    }

    async fn find(&self, project: &ProjectId, key: &str) -> Result<Option<TaskId>, TrackerError> {
        self.0.find(project, key).await
    }

    async fn edit(&self, task: &TaskId, edit: &TaskEdit) -> Result<(), TrackerError> {
        self.0.edit(task, &edit.clone().masked()).await
    }

    async fn comment(
        &self,
        task: &TaskId,
        by: &AuthorFacts,
        key: &str,
        text: &str,
    ) -> Result<(), TrackerError> {
        self.0.comment(task, by, key, &known().mask(text)).await
    }

    async fn close(&self, task: &TaskId) -> Result<(), TrackerError> {
        self.0.close(task).await
    }

    async fn warnings(&self) -> Result<Vec<String>, TrackerError> {
        self.0.warnings().await.masked()
    }

    async fn watch(&self, hints: Arc<dyn HintReceiver>) {
        self.0.watch(hints).await;
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods, reason = "a default would hide what the forge can do")]
impl Scm for MaskedPort<dyn Scm> {
    fn merge_abilities(&self) -> MergeAbilities {
        self.0.merge_abilities()
    }

    fn reviews(&self) -> Option<&dyn ScmReviews> {
        self.0.reviews().map(|_| self as &dyn ScmReviews)
    }

    fn checks(&self) -> Option<&dyn ScmChecks> {
        self.0.checks().map(|_| self as &dyn ScmChecks)
    }

    async fn open(&self, new: &NewPull) -> Result<PullId, ScmError> {
        self.0.open(&new.clone().masked()).await
    }

    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError> {
        self.0.pulls(pulls).await.masked()
    }

    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        self.0.open_pulls(project).await
    }

    async fn base(&self, project: &ProjectId) -> Result<BaseView, ScmError> {
        self.0.base(project).await
    }

    async fn file_at(
        &self,
        project: &ProjectId,
        commit: &Commit,
        path: &str,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, ScmError> {
        self.0.file_at(project, commit, path, limit).await
    }

    async fn confirm_repository(&self, project: &ProjectId) -> Result<Vec<MovedBase>, ScmError> {
        self.0.confirm_repository(project).await
    }

    async fn tidy(&self, project: &ProjectId, order: &TidyOrder) -> Result<usize, ScmError> {
        self.0.tidy(project, order).await.masked()
    }

    async fn test(&self, order: &TestOrder) -> Result<TestOutcome, ScmError> {
        self.0.test(order).await.masked()
    }

    async fn merge(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError> {
        self.0.merge(order).await.masked()
    }

    async fn watch(&self, hints: Arc<dyn HintReceiver>) {
        self.0.watch(hints).await;
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods, reason = "a default would hide what the forge can do")]
impl ScmReviews for MaskedPort<dyn Scm> {
    async fn list(&self, project: &ProjectId, filter: &PullFilter) -> Result<Vec<PullRow>, ScmError> {
        self.0.need_reviews()?.list(project, filter).await.masked()
    }

    async fn show(&self, pull: &PullId) -> Result<PullDetail, ScmError> {
        self.0.need_reviews()?.show(pull).await.masked()
    }

    async fn words(&self, pull: &PullId) -> Result<String, ScmError> {
        self.0.need_reviews()?.words(pull).await
    }

    async fn diff(&self, pull: &PullId, limit: usize) -> Result<String, ScmError> {
        self.0.need_reviews()?.diff(pull, limit).await.masked()
    }

    async fn diff_at(
        &self,
        pull: &PullId,
        head: &Commit,
        base: &Commit,
        limit: usize,
    ) -> Result<String, ScmError> {
        self.0.need_reviews()?.diff_at(pull, head, base, limit).await
    }

    async fn edit(&self, pull: &PullId, edit: &PullEdit) -> Result<(), ScmError> {
        self.0.need_reviews()?.edit(pull, &edit.clone().masked()).await.masked()
    }

    async fn comment(&self, comment: &NewComment) -> Result<String, ScmError> {
        self.0.need_reviews()?.comment(&comment.clone().masked()).await
    }

    async fn edit_comment(
        &self,
        pull: &PullId,
        comment: &str,
        by: &AuthorFacts,
        body: &str,
    ) -> Result<(), ScmError> {
        self.0.need_reviews()?.edit_comment(pull, comment, by, &known().mask(body)).await
    }

    async fn reply(&self, reply: &ThreadReply) -> Result<(), ScmError> {
        self.0.need_reviews()?.reply(&reply.clone().masked()).await
    }

    async fn review(&self, review: &NewReview) -> Result<String, ScmError> {
        self.0.need_reviews()?.review(&review.clone().masked()).await
    }

    async fn resolve(
        &self,
        pull: &PullId,
        thread: &str,
        by: &AuthorFacts,
        resolved: bool,
    ) -> Result<(), ScmError> {
        self.0.need_reviews()?.resolve(pull, thread, by, resolved).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods, reason = "a default would hide what the forge can do")]
impl ScmChecks for MaskedPort<dyn Scm> {
    async fn rerun(&self, pull: &PullId, head: &Commit, check: &str) -> Result<(), ScmError> {
        self.0.need_checks()?.rerun(pull, head, check).await
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<CheckRun>, ScmError> {
        self.0.need_checks()?.runs(filter).await.masked()
    }

    async fn run(&self, run: &str) -> Result<CheckRun, ScmError> {
        self.0.need_checks()?.run(run).await.masked()
    }

    async fn check(&self, order: &CheckOrder) -> Result<Vec<CheckRun>, ScmError> {
        self.0.need_checks()?.check(order).await.masked()
    }

    async fn check_log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, ScmError> {
        self.0.need_checks()?.check_log(run, from, limit, wait).await
    }
}
