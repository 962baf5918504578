//! The edge of the forges and trackers, of the configured and of the embedded ones.
//!
//! Secrets are masked here in the texts of people and agents: before a text is handed to a service, and so before it is
//! stored there, and as soon as a service returns a text or an error, which may come from a commit, a file of the
//! repository or another service. Returned as they are: diffs in which policies look for secrets
//! ([`ScmReviews::diff_at`]) and texts that are only searched for names of issues ([`ScmReviews::words`]), which are stored
//! nowhere; and policies ([`Scm::file_at`]), which are stored as the rules that they state.
//!
//! A rate limit is kept here too: whatever call met it, no call reaches the service before its time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ao_core::pull::{AuthorFacts, PullFacts};
use ao_core::task::TaskFacts;
use ao_core::{Commit, FreeText as _, ProjectId, PullId, TaskId, Timestamp};
use ao_ports::{
    BaseView, CheckOrder, CheckRun, CommitSeen, FailureItem, FailureReport, HintReceiver, LogPart,
    MergeAbilities, MergeOrder, MergeOutcome, MovedBase, NewComment, NewPull, NewReview, NewTask, PullDetail,
    PullEdit, PullFilter, PullRow, ReviewComment, RunFilter, Scm, ScmChecks, ScmError, ScmReviews,
    ServiceError, TaskComment, TaskEdit, TaskFilter, TaskPage, TaskSeen, TestOrder, TestOutcome,
    ThreadDetail, ThreadReply, TidyOrder, Tracker,
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

/// A port itself, beside its parts `need_reviews` and `need_checks`.
trait WholePort {
    fn whole(&self) -> Result<&Self, ServiceError> {
        Ok(self)
    }
}

impl<T: ?Sized> WholePort for T {}

/// Implements a port by a table of its calls. `ask` masks the result and `ask_plain` only the error; the argument behind
/// `masks` is masked before the call. The methods in `and` are implemented by hand.
macro_rules! pass_on {
    ($port:ident for dyn $whole:ident through $via:ident {
        $($ask:ident $call:ident($($arg:ident: $kind:ty),*) $(masks $masked:ident)? -> $result:ty;)*
    } and { $($by_hand:tt)* }) => {
        #[async_trait]
        #[deny(clippy::missing_trait_methods, reason = "a default would hide what the service can do")]
        impl $port for MaskedPort<dyn $whole> {
            $(async fn $call(&self, $($arg: $kind),*) -> Result<$result, ServiceError> {
                $(let $masked = &$masked.to_owned().masked();)?
                self.$ask(self.port.$via()?.$call($($arg),*)).await
            })*

            $($by_hand)*
        }
    };
}

pass_on! {
    Tracker for dyn Tracker through whole {
        ask changed(project: &ProjectId, since: Timestamp, page: Option<&str>) -> TaskPage;
        ask task(task: &TaskId) -> TaskSeen;
        ask list(project: &ProjectId, filter: &TaskFilter) -> Vec<TaskSeen>;
        ask create(new: &NewTask) masks new -> TaskId;
        ask find(project: &ProjectId, key: &str) -> Option<TaskId>;
        ask edit(task: &TaskId, edit: &TaskEdit) masks edit -> ();
        ask comment(task: &TaskId, by: &AuthorFacts, key: &str, text: &str) masks text -> ();
        ask close(task: &TaskId) -> ();
        ask warnings() -> Vec<String>;
    } and {
        async fn watch(&self, hints: Arc<dyn HintReceiver>) {
            self.port.watch(hints).await;
        }
    }
}

pass_on! {
    Scm for dyn Scm through whole {
        ask open(new: &NewPull) masks new -> PullId;
        ask pulls(pulls: &[PullId]) -> Vec<(PullId, PullFacts)>;
        ask open_pulls(project: &ProjectId) -> Vec<PullId>;
        ask base(project: &ProjectId) -> BaseView;
        ask_plain file_at(project: &ProjectId, commit: &Commit, path: &str, limit: usize) -> Option<Vec<u8>>;
        ask confirm_repository(project: &ProjectId) -> Vec<MovedBase>;
        ask tidy(project: &ProjectId, order: &TidyOrder) -> usize;
        ask test(order: &TestOrder) -> TestOutcome;
        ask merge(order: &MergeOrder) -> MergeOutcome;
        ask delete_branch(pull: &PullId, head: &Commit) -> Option<String>;
    } and {
        fn merge_abilities(&self) -> MergeAbilities {
            self.port.merge_abilities()
        }

        fn reviews(&self) -> Option<&dyn ScmReviews> {
            self.port.reviews().map(|_| self as &dyn ScmReviews)
        }

        fn checks(&self) -> Option<&dyn ScmChecks> {
            self.port.checks().map(|_| self as &dyn ScmChecks)
        }

        async fn watch(&self, hints: Arc<dyn HintReceiver>) {
            self.port.watch(hints).await;
        }
    }
}

pass_on! {
    ScmReviews for dyn Scm through need_reviews {
        ask list(project: &ProjectId, filter: &PullFilter) -> Vec<PullRow>;
        ask show(pull: &PullId) -> PullDetail;
        ask_plain words(pull: &PullId) -> String;
        ask diff(pull: &PullId, limit: usize) -> String;
        ask_plain diff_at(pull: &PullId, head: &Commit, base: &Commit, limit: usize) -> String;
        ask edit(pull: &PullId, edit: &PullEdit) masks edit -> ();
        ask comment(comment: &NewComment) masks comment -> String;
        ask edit_comment(pull: &PullId, comment: &str, by: &AuthorFacts, body: &str) masks body -> ();
        ask reply(reply: &ThreadReply) masks reply -> ();
        ask review(review: &NewReview) masks review -> String;
        ask resolve(pull: &PullId, thread: &str, by: &AuthorFacts, resolved: bool) -> ();
    } and {}
}

pass_on! {
    ScmChecks for dyn Scm through need_checks {
        ask rerun(pull: &PullId, head: &Commit, check: &str) -> ();
        ask runs(filter: &RunFilter) -> Vec<CheckRun>;
        ask run(run: &str) -> CheckRun;
        ask check(order: &CheckOrder) -> Vec<CheckRun>;
    } and {
        async fn check_log(&self, run: &str, from: u64, limit: u32, wait: bool) -> Result<LogPart, ScmError> {
            let mut part = self.ask_plain(self.port.need_checks()?.check_log(run, from, limit, wait)).await?;
            let mut redactor = Redactor::of_known();
            part.bytes = [redactor.push(&part.bytes), redactor.finish()].concat();
            Ok(part)
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
