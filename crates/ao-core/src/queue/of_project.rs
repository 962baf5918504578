//! Decides inputs for the queues of a project, by its policy and its pull requests.

use super::{MergeAbilities, MergeQueue, MergeRequest, QueueContext, QueueInput, decide};
use crate::event::Event;
use crate::outside::one_line;
use crate::policy::{POLICY_FILE, RuleVerdict};
use crate::project::Project;
use crate::pull::ChecksVerdict;
use crate::refusal::Refusal;
use crate::state::State;
use crate::{Commit, Moment, ProjectId, PullId};

/// Decides an input for the queues of a project that it concerns.
pub(crate) fn decide_in_project(
    state: &State,
    moment: &Moment,
    id: ProjectId,
    input: &QueueInput,
) -> Result<Vec<Event>, Refusal> {
    let Some(project) = state.projects.get(&id) else { return Err(Refusal::UnknownProject(id)) };
    let base_branch = |pull: &PullId| state.pulls.get(pull).map(|known| known.facts.base_branch.clone());
    let mut events = vec![];
    for queue in project.queues_for(input, base_branch) {
        let decided = decide_in_queue(state, moment, (&id, project), &queue, input)?;
        events.extend(decided.into_iter().map(|event| Event::Queue(id.clone(), event)));
    }
    Ok(events)
}

fn decide_in_queue(
    state: &State,
    moment: &Moment,
    (id, project): (&ProjectId, &Project),
    queue: &MergeQueue,
    input: &QueueInput,
) -> Result<Vec<super::QueueEvent>, Refusal> {
    let merges = project.config.merge_limits.unwrap_or(MergeAbilities::ALL);
    let branch = queue.branch.as_ref().unwrap_or(&project.config.default_branch);
    let judged = |pull: &PullId, head: &Commit, request: Option<&MergeRequest>, tested: bool| {
        let known = match state.pulls.get(pull) {
            Some(known) if known.facts.head != *head => {
                return Err(format!("its head is {}, not {head}", known.facts.head));
            }
            Some(known) if known.facts.base_branch != *branch => {
                let into = one_line(&known.facts.base_branch);
                return Err(format!("it is to be merged into `{into}`, and the queue is for `{branch}`"));
            }
            Some(known) => known,
            None => return Err("it is not known".into()),
        };
        if let Some(why) = merges.objection(request.is_none_or(MergeRequest::runs_checks)) {
            return Err(why.to_owned());
        }
        // A landing ahead of it moves its base, and its checks start again, although the merge result was already
        // tested.
        let waits = tested && matches!(known.green(), ChecksVerdict::Waiting { .. });
        let counts = |it: &RuleVerdict| !(waits && it.rule.is_about_checks());
        let against: Vec<String> = match request {
            Some(request) => {
                let blockers = state.blockers(known, &request.over, moment.at);
                blockers.into_iter().filter(counts).map(|it| it.blocker()).collect()
            }
            None => {
                let verdict = state.verdict(known, moment.at);
                let against = verdict.against().filter(|it| counts(it));
                against.map(ToString::to_string).collect()
            }
        };
        if against.is_empty() { Ok(()) } else { Err(against.join("; ")) }
    };
    let over = |pull: &PullId| match state.pulls.get(pull) {
        Some(known) if known.is_merged() => Some("it was merged".to_owned()),
        Some(known) if !known.is_open() => Some("it was closed".to_owned()),
        Some(known) if known.facts.base_branch != *branch => {
            let into = one_line(&known.facts.base_branch);
            Some(format!("it is to be merged into `{into}` now"))
        }
        Some(_) => None,
        None => Some("it is over".to_owned()),
    };
    let changes_policy = |pull: &PullId| {
        let known = state.pulls.get(pull).filter(|_| queue.branch.is_none());
        known.is_some_and(|known| known.facts.size.files.iter().any(|file| file == POLICY_FILE))
    };
    let mut rules = project.config.merge_queue.clone().unwrap_or_default();
    if !merges.batches {
        rules.batch = 1;
    }
    let context = QueueContext {
        rules,
        asks: state.asks_before_merge(id),
        allowed: &|pull, head, request| judged(pull, head, request, false),
        still_allowed: &|pull, head, request| judged(pull, head, request, true),
        base_of: &|pull| state.pulls.get(pull).map(|known| known.facts.base.clone()),
        over: &over,
        clash: &|a, b| state.may_clash(a, b),
        changes_policy: &changes_policy,
    };
    decide(queue, moment, input, &context).map_err(|refusal| Refusal::Invalid { what: refusal.to_string() })
}
