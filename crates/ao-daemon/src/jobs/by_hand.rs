//! Hooks for people: those that are configured, their logs, and those that are run by hand.

use std::sync::Arc;

use ao_core::hook::{Hook, HookLanding, HookPoint, HookSubject, document};
use ao_core::{ProjectId, SessionId};

use super::{BY_HAND, DaemonJobs, HookLog, HookQuestion, HookRan};
use crate::error::{DaemonError, ErrorKind};
use crate::on_disk;

/// The results of hooks that were run by hand.
#[derive(Debug)]
pub struct HookTrial {
    pub results: Vec<HookRan>,
    /// The document that they were given.
    pub document: String,
}

impl DaemonJobs {
    /// Returns the hooks of one project, or of all, in the order in which they run.
    pub async fn hooks(&self, project: Option<&ProjectId>) -> Result<Vec<(ProjectId, Hook)>, DaemonError> {
        let only = project.cloned();
        let hooks = self.deps.handle.view(move |state| {
            let mut hooks = Vec::new();
            for (id, project) in
                state.projects.iter().filter(|(id, _)| only.as_ref().is_none_or(|only| only == *id))
            {
                let mut own = project.config.hooks.clone();
                own.sort_by_key(|hook| hook.point);
                hooks.extend(own.into_iter().map(|hook| (id.clone(), hook)));
            }
            hooks
        });
        Ok(hooks.await?)
    }

    /// Returns the logs of hooks, the newest first, without their text.
    pub async fn hook_logs(self: &Arc<Self>) -> Result<Vec<HookLog>, DaemonError> {
        let jobs = self.clone();
        on_disk(move || jobs.logs.list()).await?.map_err(unreadable)
    }

    /// Returns one log by its id, or any part of it that only one has, with its text.
    pub async fn hook_log(self: &Arc<Self>, id: &str) -> Result<(HookLog, String), DaemonError> {
        let (jobs, meant) = (self.clone(), id.to_owned());
        on_disk(move || jobs.logs.read(&meant)).await?.map_err(unreadable)?.ok_or_else(|| {
            let shown: String = ao_core::text::sanitise(id).chars().take(100).collect();
            DaemonError::new(ErrorKind::UnknownLog, format!("there is no one log `{shown}` of a hook"))
                .hint("`ao hooks logs` lists them")
        })
    }

    /// Runs the hooks of a point with a document as they would get it.
    pub async fn try_hooks(
        &self,
        project: &ProjectId,
        point: HookPoint,
        session: Option<SessionId>,
    ) -> Result<HookTrial, DaemonError> {
        let (of, at) = (project.clone(), self.deps.clock.now());
        let asked = self.deps.handle.view(move |state| {
            let hooks = state.hooks(&of, point);
            let pulls =
                session.and_then(|session| state.sessions.get(&session)).map(|session| session.pulls.clone());
            let pull = pulls.iter().flatten().next_back();
            let known = pull.and_then(|pull| state.pulls.get(pull));
            let merge = known.filter(|_| matches!(point, HookPoint::BeforeMerge | HookPoint::Merged));
            let merge = merge.map(|pull| HookLanding {
                head: &pull.facts.head,
                base: Some(&pull.facts.base),
                commit: None,
            });
            let review = known.and_then(|pull| pull.facts.reviews.last());
            let review = review.filter(|_| point == HookPoint::ReviewReceived);
            let about = HookSubject { session, pull, review, merge };
            let document = document(state, &of, point, at, &format!("{point}/test/{at}"), about);
            HookQuestion { project: of, session, point, hooks, document }
        });
        let asked = asked.await?;
        Ok(HookTrial { results: self.ask_by_hand(&asked).await?, document: asked.document })
    }

    async fn ask_by_hand(&self, asked: &HookQuestion) -> Result<Vec<HookRan>, DaemonError> {
        let id = format!("{BY_HAND}{:08x}", fastrand::u32(..));
        self.ask(asked, &id).await.map_err(|err| {
            DaemonError::new(
                ErrorKind::HookNotRun,
                format!("the hook `{}` could not be run: {err}", asked.point),
            )
        })
    }
}

fn unreadable(err: std::io::Error) -> DaemonError {
    DaemonError::new(ErrorKind::UnreadableOutput, format!("the logs of hooks cannot be read: {err}"))
}
