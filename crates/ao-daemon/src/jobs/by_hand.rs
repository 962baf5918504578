//! Hooks as the API sees them: those that are configured, what they said, and those that are run by hand.

use std::sync::Arc;

use ao_api::{Hook, HookLog, HookResult, HookTested, Hooks, Problem, Timestamp};
use ao_core::hook::{About, HookPoint, Landing, document};
use ao_core::{ProjectId, SessionId};
use ao_ports::ErrandError;

use super::{BY_HAND, HookQuestion, HookRan, JobRunner};
use crate::on_disk;
use crate::problem::stopping;

impl JobRunner {
    /// Returns the hooks of one project, or of all.
    pub async fn hooks(&self, project: Option<&ProjectId>) -> Result<Hooks, Problem> {
        let only = project.cloned();
        let hooks = self.deps.handle.view(move |state| {
            let mut hooks = Vec::new();
            for (id, project) in
                state.projects.iter().filter(|(id, _)| only.as_ref().is_none_or(|only| only == *id))
            {
                let mut own: Vec<_> = project.hooks.iter().collect();
                own.sort_by_key(|hook| hook.point);
                hooks.extend(own.into_iter().map(|hook| Hook {
                    project_id: id.to_string(),
                    point: hook.point.to_string(),
                    command: hook.command.clone(),
                    timeout_seconds: hook.timeout.as_secs(),
                    may_object: hook.point.may_object(),
                }));
            }
            hooks
        });
        Ok(Hooks { hooks: hooks.await.map_err(stopping)? })
    }

    /// Returns the logs of hooks, the newest first, without their text.
    pub async fn hook_logs(self: &Arc<Self>) -> Result<Vec<HookLog>, Problem> {
        let jobs = self.clone();
        let logs = on_disk(move || jobs.logs.list()).await?.map_err(unreadable)?;
        Ok(logs.into_iter().map(|log| told(log, None)).collect())
    }

    /// Returns one log by its id, or any part of it that only one has, with its text.
    pub async fn hook_log(self: &Arc<Self>, id: &str) -> Result<HookLog, Problem> {
        let (jobs, meant) = (self.clone(), id.to_owned());
        match on_disk(move || jobs.logs.read(&meant)).await?.map_err(unreadable)? {
            Some((log, text)) => Ok(told(log, Some(text))),
            None => {
                let shown: String = ao_core::text::sanitise(id).chars().take(100).collect();
                Err(Problem::new(404, "unknown-log", format!("there is no one log `{shown}` of a hook"))
                    .hint("`ao hooks logs` lists them"))
            }
        }
    }

    /// Runs the hooks of a point with a document as they would get it.
    pub async fn try_hooks(
        &self,
        project: &ProjectId,
        point: HookPoint,
        session: Option<SessionId>,
    ) -> Result<HookTested, Problem> {
        let (of, at) = (project.clone(), self.deps.clock.now());
        let asked = self.deps.handle.view(move |state| {
            let hooks = state.hooks(&of, point);
            let pulls =
                session.and_then(|session| state.sessions.get(&session)).map(|session| session.pulls.clone());
            let pull = pulls.iter().flatten().next_back();
            let known = pull.and_then(|pull| state.pulls.get(pull));
            let merge = known.filter(|_| matches!(point, HookPoint::BeforeMerge | HookPoint::Merged));
            let merge = merge.map(|pull| Landing {
                head: &pull.facts.head,
                base: Some(&pull.facts.base),
                commit: None,
            });
            let review = known.and_then(|pull| pull.facts.reviews.last());
            let review = review.filter(|_| point == HookPoint::ReviewReceived);
            let about = About { session, pull, review, merge };
            let document = document(state, &of, point, at, &format!("{point}/test/{at}"), about);
            HookQuestion { project: of, session, point, hooks, document }
        });
        let asked = asked.await.map_err(stopping)?;
        let results = self.ask_by_hand(&asked).await?.into_iter().map(|ran| HookResult {
            command: ran.command,
            exit_code: ran.code,
            objection: ran.objection,
            log: ran.log.to_string(),
        });
        Ok(HookTested { results: results.collect(), document: asked.document })
    }

    async fn ask_by_hand(&self, asked: &HookQuestion) -> Result<Vec<HookRan>, Problem> {
        let id = format!("{}{:08x}", BY_HAND, fastrand::u32(..));
        self.ask(asked, &id).await.map_err(|err| {
            let (ErrandError::InTheWay(why) | ErrandError::Later(why) | ErrandError::Never(why)) = err;
            Problem::new(500, "hook-not-run", format!("the hook `{}` could not be run: {why}", asked.point))
        })
    }
}

fn told(log: super::HookLog, text: Option<String>) -> HookLog {
    HookLog {
        id: log.id,
        at: log.at.and_then(|at| Timestamp::from_millisecond(at.0).ok()),
        what: log.what,
        ended: log.ended,
        path: log.path.to_string(),
        text,
    }
}

fn unreadable(err: std::io::Error) -> Problem {
    Problem::new(500, "unreadable-output", format!("the logs of hooks cannot be read: {err}"))
}
