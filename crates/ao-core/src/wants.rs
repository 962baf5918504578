//! Effects that the state wants. Computed after every step and, the same way, after every start.

use crate::PullId;
use crate::effect::Effect;
use crate::event::Scope;
use crate::queue::{MergeQueue, Work};
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
            let request = |pull: &PullId| project.queued(pull).and_then(|entry| entry.request.clone());
            wanted.extend(project.queues().flat_map(MergeQueue::work).map(|work| match work {
                Work::Test { pull, head, base, ahead, tries } => {
                    let (required, request) = (project.policy.required_checks.clone(), request(&pull));
                    Effect::TestMerge {
                        project: id.clone(),
                        pull,
                        head,
                        base,
                        ahead,
                        required,
                        request,
                        tries,
                    }
                }
                Work::Land { pull, head, base, with, tree, tries } => {
                    let request = request(&pull);
                    Effect::Merge { project: id.clone(), pull, head, base, with, tree, request, tries }
                }
            }));
        }
        Scope::Notice(id) => wanted.extend(state.notices.get(id).into_iter().flat_map(|notice| {
            let ready = notice.ready().into_iter();
            ready.map(|channel| Effect::Notify { notice: Box::new(notice.clone()), channel })
        })),
        Scope::Errand(id) => wanted.extend(
            state
                .errands
                .get(id)
                .filter(|errand| errand.again_at.is_none())
                .map(|errand| Effect::RunErrand { errand: Box::new(errand.clone()) }),
        ),
    }
    wanted
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
        .chain(state.errands.keys().copied().map(Scope::Errand))
        .collect()
}

/// Returns the runtimes that have, or should have, processes of ours.
pub fn runtimes(state: &State) -> Vec<String> {
    let mut runtimes: Vec<String> = state.live().map(|session| session.spec.runtime.clone()).collect();
    runtimes.sort();
    runtimes.dedup();
    runtimes
}
