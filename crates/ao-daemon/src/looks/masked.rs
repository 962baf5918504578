//! The edge of the forges and trackers, of the configured and of the embedded ones.
//!
//! Secrets are masked here in the texts of people and agents: before a text is handed to a service, and so before it is
//! stored there, and as soon as a service returns a text or an error, which may come from a commit, a file of the
//! repository or another service. Returned as they are, and stored nowhere: diffs in which policies look for secrets
//! ([`ScmReviews::diff_at`]), texts that are only searched for names of issues ([`ScmReviews::words`]), and policies
//! ([`Scm::file_at`]).
//!
//! A rate limit is kept here too: whatever call met it, no call reaches the service before its time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ao_core::pull::{AuthorFacts, PullFacts};
use ao_core::task::TaskFacts;
use ao_core::{Commit, ProjectId, PullId, TaskId, Timestamp};
use ao_ports::{
    BaseView, CheckOrder, CheckRun, CommitSeen, FailureItem, FailureReport, HintReceiver, LogPart,
    MergeAbilities, MergeOrder, MergeOutcome, MovedBase, NewComment, NewPull, NewReview, NewTask, PullDetail,
    PullEdit, PullFilter, PullRow, ReviewComment, RunFilter, Scm, ScmChecks, ScmError, ScmReviews,
    ServiceError, TaskComment, TaskEdit, TaskFilter, TaskPage, TaskSeen, TestOrder, TestOutcome,
    ThreadDetail, ThreadReply, TidyOrder, Tracker, TrackerError,
};
use ao_process::{Redactor, Secrets};
use async_trait::async_trait;
use tokio::time::Instant;

use crate::secrets::known;

/// A forge or a tracker that neither gets nor returns secrets, and that gets no call while it is limited.
pub(super) struct MaskedPort<T: ?Sized> {
    port: Arc<T>,
    /// The time before which it takes no call. Held for a few instructions only.
    limited: Mutex<Option<Instant>>,
}

impl<T: ?Sized> MaskedPort<T> {
    pub(super) fn new(port: Arc<T>) -> MaskedPort<T> {
        MaskedPort { port, limited: Mutex::default() }
    }

    /// Makes a call, and masks its result.
    async fn ask<R: MaskTexts>(
        &self,
        call: impl Future<Output = Result<R, ServiceError>> + Send,
    ) -> Result<R, ServiceError> {
        self.ask_plain(call).await.masked()
    }

    /// Makes a call unless the service is limited, and masks its error only.
    async fn ask_plain<R>(
        &self,
        call: impl Future<Output = Result<R, ServiceError>> + Send,
    ) -> Result<R, ServiceError> {
        let left = self.limited().map(|until| until.saturating_duration_since(Instant::now()));
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            return Err(ServiceError::Limited { after: left });
        }
        call.await.map_err(|err| self.noted(err.masked()))
    }

    /// Notes the time of a limit, as far as it is believed.
    fn noted(&self, err: ServiceError) -> ServiceError {
        let Some(after) = err.limited_for() else { return err };
        tracing::warn!(?after, "the quota of a forge or a tracker is used up; it is left alone");
        let until = Some(Instant::now() + after);
        let mut limited = self.limited.lock().unwrap_or_else(PoisonError::into_inner);
        // Of two calls at the same time, the longer limit counts.
        *limited = until.max(*limited);
        ServiceError::Limited { after }
    }

    fn limited(&self) -> Option<Instant> {
        *self.limited.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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

macro_rules! without_texts {
    ($($kind:ty),*) => {
        $(impl MaskTexts for $kind {
            fn each(&mut self, _: &mut dyn FnMut(&mut String)) {}
        })*
    };
}

without_texts!((), usize, PullId, TaskId);

impl MaskTexts for ServiceError {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        match self {
            ServiceError::NotFound { what: text }
            | ServiceError::Refused { why: text }
            | ServiceError::Unsupported { what: text }
            | ServiceError::Denied { what: text }
            | ServiceError::Failed(text) => pass(text),
            ServiceError::Limited { after: _ } => {}
        }
    }
}

impl<K, T: MaskTexts> MaskTexts for BTreeMap<K, T> {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        self.values_mut().for_each(|one| one.each(pass));
    }
}

impl MaskTexts for PullFacts {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        self.each_text(pass);
    }
}

impl MaskTexts for (PullId, PullFacts) {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        self.1.each(pass);
    }
}

/// Lists all fields of each type: those with texts of others, and the rest. A new field does not compile before it is
/// in one of the lists.
macro_rules! mask_fields {
    ($($kind:ident { $($text:ident)* } else { $($plain:ident)* })*) => {
        $(impl MaskTexts for $kind {
            fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
                let $kind { $($text,)* $($plain: _,)* } = self;
                $($text.each(pass);)*
            }
        })*
    };
}

mask_fields! {
    TaskSeen { facts body branch url comments } else { task author assignee created updated }
    TaskFacts { title branch } else { observed labels priority blocked_by closed trusted author }
    TaskComment { body } else { id author at }
    TaskPage { tasks } else { next }
    NewTask { title body } else { project labels priority blocked_by assignee by key closed }
    TaskEdit { title body } else {
        add_labels remove_labels priority add_blocked_by remove_blocked_by assignee closed
    }
    NewPull { title body } else { project session head_branch base_branch draft labels by }
    PullEdit { title body } else { base_branch draft add_labels remove_labels closed }
    PullRow { title } else {
        pull state draft head_branch base_branch head author labels created_at updated_at
    }
    PullDetail { facts body commits threads checks } else {
        pull created_at updated_at stacked_on stacked reviewed_at reworded_at merged_by
    }
    CommitSeen { title } else { commit author at }
    ThreadDetail { context } else { side commit begun_line outdated resolved_by at edited }
    NewComment { body } else { pull by at key }
    NewReview { body comments } else { pull by verdict head key }
    ReviewComment { body } else { path line side }
    ThreadReply { text } else { pull thread resolve key }
    CheckRun { command why failure } else {
        id project pull check required head base tree ahead state exit_code queued_at began_at ended_at tries same_as
        log
    }
    FailureReport { signature step excerpt items } else { count }
    FailureItem { name message path } else { kind line }
    MovedBase { what detail } else { from to at_work }
}

impl MaskTexts for BaseView {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        let BaseView { tip: _, held, programs } = self;
        held.each(pass);
        programs.iter_mut().for_each(|(_, program)| pass(program));
    }
}

impl MaskTexts for TestOutcome {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        match self {
            TestOutcome::Red { output, between } => {
                pass(output);
                pass(between);
            }
            TestOutcome::Conflict { files, pull: _ } => files.each(pass),
            TestOutcome::Green { tree: _ } => {}
        }
    }
}

impl MaskTexts for MergeOutcome {
    fn each(&mut self, pass: &mut dyn FnMut(&mut String)) {
        match self {
            MergeOutcome::Merged { commit: _, tip: _, branch_left, with: _ } => branch_left.each(pass),
            MergeOutcome::Refused { tip: _, why, in_the_way: _ } => pass(why),
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
        self.ask(self.port.changed(project, since, page)).await
    }

    async fn task(&self, task: &TaskId) -> Result<TaskSeen, TrackerError> {
        self.ask(self.port.task(task)).await
    }

    async fn list(&self, project: &ProjectId, filter: &TaskFilter) -> Result<Vec<TaskSeen>, TrackerError> {
        self.ask(self.port.list(project, filter)).await
    }

    async fn create(&self, new: &NewTask) -> Result<TaskId, TrackerError> {
        self.ask(self.port.create(&new.clone().masked())).await
    }

    async fn find(&self, project: &ProjectId, key: &str) -> Result<Option<TaskId>, TrackerError> {
        self.ask(self.port.find(project, key)).await
    }

    async fn edit(&self, task: &TaskId, edit: &TaskEdit) -> Result<(), TrackerError> {
        self.ask(self.port.edit(task, &edit.clone().masked())).await
    }

    async fn comment(
        &self,
        task: &TaskId,
        by: &AuthorFacts,
        key: &str,
        text: &str,
    ) -> Result<(), TrackerError> {
        self.ask(self.port.comment(task, by, key, &known().mask(text))).await
    }

    async fn close(&self, task: &TaskId) -> Result<(), TrackerError> {
        self.ask(self.port.close(task)).await
    }

    async fn warnings(&self) -> Result<Vec<String>, TrackerError> {
        self.ask(self.port.warnings()).await
    }

    async fn watch(&self, hints: Arc<dyn HintReceiver>) {
        self.port.watch(hints).await;
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods, reason = "a default would hide what the forge can do")]
impl Scm for MaskedPort<dyn Scm> {
    fn merge_abilities(&self) -> MergeAbilities {
        self.port.merge_abilities()
    }

    fn reviews(&self) -> Option<&dyn ScmReviews> {
        self.port.reviews().map(|_| self as &dyn ScmReviews)
    }

    fn checks(&self) -> Option<&dyn ScmChecks> {
        self.port.checks().map(|_| self as &dyn ScmChecks)
    }

    async fn open(&self, new: &NewPull) -> Result<PullId, ScmError> {
        self.ask(self.port.open(&new.clone().masked())).await
    }

    async fn pulls(&self, pulls: &[PullId]) -> Result<Vec<(PullId, PullFacts)>, ScmError> {
        self.ask(self.port.pulls(pulls)).await
    }

    async fn open_pulls(&self, project: &ProjectId) -> Result<Vec<PullId>, ScmError> {
        self.ask(self.port.open_pulls(project)).await
    }

    async fn base(&self, project: &ProjectId) -> Result<BaseView, ScmError> {
        self.ask(self.port.base(project)).await
    }

    async fn file_at(
        &self,
        project: &ProjectId,
        commit: &Commit,
        path: &str,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, ScmError> {
        self.ask_plain(self.port.file_at(project, commit, path, limit)).await
    }

    async fn confirm_repository(&self, project: &ProjectId) -> Result<Vec<MovedBase>, ScmError> {
        self.ask(self.port.confirm_repository(project)).await
    }

    async fn tidy(&self, project: &ProjectId, order: &TidyOrder) -> Result<usize, ScmError> {
        self.ask(self.port.tidy(project, order)).await
    }

    async fn test(&self, order: &TestOrder) -> Result<TestOutcome, ScmError> {
        self.ask(self.port.test(order)).await
    }

    async fn merge(&self, order: &MergeOrder) -> Result<MergeOutcome, ScmError> {
        self.ask(self.port.merge(order)).await
    }

    async fn delete_branch(&self, pull: &PullId, head: &Commit) -> Result<Option<String>, ScmError> {
        self.ask(self.port.delete_branch(pull, head)).await
    }

    async fn watch(&self, hints: Arc<dyn HintReceiver>) {
        self.port.watch(hints).await;
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods, reason = "a default would hide what the forge can do")]
impl ScmReviews for MaskedPort<dyn Scm> {
    async fn list(&self, project: &ProjectId, filter: &PullFilter) -> Result<Vec<PullRow>, ScmError> {
        self.ask(self.port.need_reviews()?.list(project, filter)).await
    }

    async fn show(&self, pull: &PullId) -> Result<PullDetail, ScmError> {
        self.ask(self.port.need_reviews()?.show(pull)).await
    }

    async fn words(&self, pull: &PullId) -> Result<String, ScmError> {
        self.ask_plain(self.port.need_reviews()?.words(pull)).await
    }

    async fn diff(&self, pull: &PullId, limit: usize) -> Result<String, ScmError> {
        self.ask(self.port.need_reviews()?.diff(pull, limit)).await
    }

    async fn diff_at(
        &self,
        pull: &PullId,
        head: &Commit,
        base: &Commit,
        limit: usize,
    ) -> Result<String, ScmError> {
        self.ask_plain(self.port.need_reviews()?.diff_at(pull, head, base, limit)).await
    }

    async fn edit(&self, pull: &PullId, edit: &PullEdit) -> Result<(), ScmError> {
        self.ask(self.port.need_reviews()?.edit(pull, &edit.clone().masked())).await
    }

    async fn comment(&self, comment: &NewComment) -> Result<String, ScmError> {
        self.ask(self.port.need_reviews()?.comment(&comment.clone().masked())).await
    }

    async fn edit_comment(
        &self,
        pull: &PullId,
        comment: &str,
        by: &AuthorFacts,
        body: &str,
    ) -> Result<(), ScmError> {
        self.ask(self.port.need_reviews()?.edit_comment(pull, comment, by, &known().mask(body))).await
    }

    async fn reply(&self, reply: &ThreadReply) -> Result<(), ScmError> {
        self.ask(self.port.need_reviews()?.reply(&reply.clone().masked())).await
    }

    async fn review(&self, review: &NewReview) -> Result<String, ScmError> {
        self.ask(self.port.need_reviews()?.review(&review.clone().masked())).await
    }

    async fn resolve(
        &self,
        pull: &PullId,
        thread: &str,
        by: &AuthorFacts,
        resolved: bool,
    ) -> Result<(), ScmError> {
        self.ask(self.port.need_reviews()?.resolve(pull, thread, by, resolved)).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods, reason = "a default would hide what the forge can do")]
impl ScmChecks for MaskedPort<dyn Scm> {
    async fn rerun(&self, pull: &PullId, head: &Commit, check: &str) -> Result<(), ScmError> {
        self.ask(self.port.need_checks()?.rerun(pull, head, check)).await
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<CheckRun>, ScmError> {
        self.ask(self.port.need_checks()?.runs(filter)).await
    }

    async fn run(&self, run: &str) -> Result<CheckRun, ScmError> {
        self.ask(self.port.need_checks()?.run(run)).await
    }

    async fn check(&self, order: &CheckOrder) -> Result<Vec<CheckRun>, ScmError> {
        self.ask(self.port.need_checks()?.check(order)).await
    }

    async fn check_log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, ScmError> {
        let mut part = self.ask_plain(self.port.need_checks()?.check_log(run, from, limit, wait)).await?;
        let mut redactor = Redactor::of_known();
        part.bytes = [redactor.push(&part.bytes), redactor.finish()].concat();
        Ok(part)
    }
}

#[cfg(test)]
pub(super) mod tests;
