//! Effects that are wanted now, read off the state. Asked after every step and, the same way, after every start.

use crate::PullId;
use crate::effect::Effect;
use crate::event::Scope;
use crate::order::{MergeOrder, TestOrder};
use crate::project::Project;
use crate::queue::{MergeQueue, MergeRequest, QueueWork};
use crate::session;
use crate::state::State;

/// Returns the effects that one scope wants.
pub fn wants(state: &State, scope: &Scope) -> Vec<Effect> {
    let mut wanted = Vec::new();
    match scope {
        Scope::Host => wanted.extend(state.strays.iter().map(|(session, attempt, runtime)| {
            Effect::EndStray { session: *session, attempt: *attempt, runtime: runtime.clone() }
        })),
        Scope::Session(id) => {
            if let Some(session) = state.sessions.get(id) {
                session::wants(state, session, &mut wanted);
            }
        }
        Scope::Project(id) => {
            let Some(project) = state.projects.get(id) else { return wanted };
            let work = project.queues().flat_map(MergeQueue::work);
            wanted.extend(work.map(|work| merge_effect(project, work)));
        }
        Scope::Notice(id) => wanted.extend(state.notices.get(id).into_iter().flat_map(|notice| {
            let ready = notice.ready().into_iter();
            ready.map(|channel| Effect::Notify { notice: Box::new(notice.clone()), channel })
        })),
        Scope::Job(id) => wanted.extend(
            state
                .jobs
                .get(id)
                .filter(|job| job.again_at.is_none())
                .map(|job| Effect::RunJob { job: Box::new(job.clone()) }),
        ),
    }
    wanted
}

/// Returns the effect of a step of the merge queue. A request overrules the configured way to land.
fn merge_effect(project: &Project, work: QueueWork) -> Effect {
    let request = |pull: &PullId| project.queued(pull).and_then(|entry| entry.request.clone());
    let landing = project.config.landing;
    match work {
        QueueWork::Test { pull, head, base, ahead, tries } => {
            let request = request(&pull);
            let strategy = request.as_ref().and_then(|it| it.strategy).unwrap_or(landing.strategy);
            let checks = request.as_ref().is_none_or(MergeRequest::runs_checks);
            let required = project.policy.required_checks.clone();
            let order = TestOrder { pull, head, base, ahead, strategy, required, checks };
            Effect::TestMerge { order, tries }
        }
        QueueWork::Land { pull, head, base, with, tree, tries } => {
            let request = request(&pull);
            let asked = request.as_ref();
            let strategy = asked.and_then(|it| it.strategy).unwrap_or(landing.strategy);
            let delete_branch = asked.and_then(|it| it.delete_branch).unwrap_or(landing.delete_branch);
            let by = request.map(|it| it.by);
            let order = MergeOrder { pull, head, base, with, tree, strategy, by, delete_branch };
            Effect::Merge { order, tries }
        }
    }
}

/// Returns everything that may want an effect, for the reconciler.
pub fn scopes(state: &State) -> Vec<Scope> {
    let ended = state.sessions.values().filter(|session| !session.is_live());
    let ended_with_tree = ended.filter(|session| session.workspace.may_exist()).map(|session| session.id);
    let sessions = state.live().map(|session| session.id).chain(ended_with_tree).map(Scope::Session);
    std::iter::once(Scope::Host)
        .chain(sessions)
        .chain(state.projects.keys().cloned().map(Scope::Project))
        .chain(state.notices.keys().copied().map(Scope::Notice))
        .chain(state.jobs.keys().copied().map(Scope::Job))
        .collect()
}

/// Returns the runtimes that have, or should have, processes of ours.
pub fn runtimes(state: &State) -> Vec<String> {
    let mut runtimes: Vec<String> = state.live().map(|session| session.spec.runtime.clone()).collect();
    runtimes.sort();
    runtimes.dedup();
    runtimes
}
