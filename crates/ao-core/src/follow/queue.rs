//! Consequences of the events of the merge queue.

use std::collections::VecDeque;

use super::bounded;
use crate::decide::agent_of;
use crate::incident::Subject;
use crate::input::Input;
use crate::job::{JobOrder, Requester};
use crate::notice::NoticeLevel;
use crate::outside::{QuotedKind, fenced, one_line};
use crate::pull::{Mergeable, Pull, PullFacts, PullInput, PullState, TEXT_LIMIT};
use crate::queue::{BranchUpdate, QueueEvent, QueueRejection};
use crate::session::{NewMessage, SessionInput};
use crate::state::State;
use crate::{Commit, ProjectId, PullId};

/// Bytes of a message about the commits that landed in between.
const BETWEEN: usize = TEXT_LIMIT / 2;

pub(super) fn follow(state: &State, project: &ProjectId, event: &QueueEvent, then: &mut VecDeque<Input>) {
    match event {
        QueueEvent::Rejected { pull, head, reason } => rejected(state, pull, head, reason, then),
        QueueEvent::Landed { pull, head, commit, .. } => {
            let known = state.pulls.get(pull).filter(|known| known.is_open() && known.facts.head == *head);
            then.extend(known.map(|known| {
                let mut facts = known.facts.clone();
                facts.state = PullState::Merged { commit: commit.clone() };
                seen(known, facts)
            }));
        }
        QueueEvent::InTheWay { pull, why, times, .. } if *times > 0 => {
            let base = state.projects.get(project).and_then(|project| project.queue.base.as_ref());
            let base = base.map(Commit::as_str).unwrap_or_default();
            // Once for each tip of the base, regardless of the number of tries and the first entry.
            then.push_back(Input::notify(
                NoticeLevel::Action,
                Subject::Pull(pull.clone()),
                format!("in the way {project} {base} {}", one_line(why)),
                format!(
                    "{pull} is tested and cannot land: {}. It lands by itself once that is settled.",
                    one_line(why)
                ),
            ));
        }
        QueueEvent::BaseMoved { base, branch: None } => then.extend(updates(state, project, base)),
        _ => {}
    }
}

fn rejected(state: &State, id: &PullId, head: &Commit, reason: &QueueRejection, then: &mut VecDeque<Input>) {
    let what = match reason {
        QueueRejection::Red { output, between } => {
            let mut what = format!(
                "The checks failed on what would have landed:\n{}",
                fenced(QuotedKind::Log, output, TEXT_LIMIT)
            );
            if !between.is_empty() {
                what += "This has landed since the branch began, so look there first:\n";
                what += &fenced(QuotedKind::Log, between, BETWEEN);
            }
            what
        }
        QueueRejection::Conflict { files } => {
            // The incident of conflicts has its own message, with the commands that help.
            if let Some(seen) = state.pulls.get(id).and_then(|pull| in_conflict(state, pull, head, files)) {
                return then.push_back(seen);
            }
            let files: Vec<String> = files.iter().map(|file| one_line(file)).collect();
            format!("It no longer merges cleanly:\n{}", files.join("\n"))
        }
        QueueRejection::Broken { why } => format!("It could not be tested: {}", one_line(why)),
        QueueRejection::Vetoed { why } => format!("The hook `before-merge` objects: {}", one_line(why)),
        QueueRejection::Held { why } => {
            format!("It was to be merged at once, and cannot be now: {}", one_line(why))
        }
    };
    let text = format!("{id} at {head} left the merge queue. {what}");
    // The same head may return and fail for another reason, or on another base, which is news.
    let base = state.projects.get(&id.project).and_then(|project| project.queue.base.as_ref());
    let base = base.map(Commit::as_str).unwrap_or_default();
    let key = format!("rejected {id} {head} {base} {}", kind(reason));
    let subject = Subject::Pull(id.clone());
    let owner = agent_of(state, &subject).filter(|owner| owner.is_live());
    match (owner, reason) {
        // The change is at fault, and its agent can fix it.
        (Some(owner), QueueRejection::Red { .. } | QueueRejection::Conflict { .. }) => {
            then.push_back(Input::Session {
                session: owner.id,
                input: SessionInput::Send(NewMessage::of_daemon(bounded(text), key)),
            });
        }
        _ => then.push_back(Input::notify(NoticeLevel::Action, subject, key, text)),
    }
}

fn kind(reason: &QueueRejection) -> &'static str {
    match reason {
        QueueRejection::Red { .. } => "red",
        QueueRejection::Conflict { .. } => "conflict",
        QueueRejection::Broken { .. } => "broken",
        QueueRejection::Vetoed { .. } => "vetoed",
        QueueRejection::Held { .. } => "held",
    }
}

/// Returns the facts for a conflict that only the queue has seen yet.
fn in_conflict(state: &State, pull: &Pull, head: &Commit, files: &[String]) -> Option<Input> {
    let project = state.projects.get(&pull.id.project)?;
    let base = match pull.facts.base_branch == project.config.default_branch {
        true => project.queue.base.clone()?,
        false => pull.facts.base.clone(),
    };
    if !pull.is_open() || pull.facts.head != *head {
        return None;
    }
    let mut facts = pull.facts.clone();
    (facts.base, facts.mergeable) = (base, Mergeable::Conflict { files: files.to_vec() });
    Some(seen(pull, facts))
}

/// Returns facts that the queue knows better than the last look, as if that had shown them.
fn seen(pull: &Pull, facts: PullFacts) -> Input {
    Input::Pull { pull: pull.id.clone(), input: PullInput::Seen(Box::new(facts)) }
}

/// Returns the jobs that update branches that are behind and merge cleanly, if the project wants that: those of idle
/// agents. Queue entries are left alone, because another head would need another request. The job itself checks
/// whether a branch is behind: one that is up to date stays as it is.
fn updates(state: &State, id: &ProjectId, base: &Commit) -> Vec<Input> {
    let Some(project) = state.projects.get(id) else { return vec![] };
    if project.config.merge_queue.as_ref().is_none_or(|rules| rules.update == BranchUpdate::None) {
        return vec![];
    }
    let behind = state.pulls.values().filter(|pull| {
        pull.id.project == *id
            && pull.is_open()
            && pull.facts.base_branch == project.config.default_branch
            && pull.facts.mergeable == Mergeable::Clean
            && pull.conflict.is_none()
            // Another head would have to be approved again.
            && pull.approvals().is_empty()
            && project.queued(&pull.id).is_none()
            && agent_of(state, &Subject::Pull(pull.id.clone()))
                .is_some_and(|agent| agent.is_live() && !agent.is_at_it())
    });
    behind
        .map(|pull| {
            let (pull, head) = (pull.id.clone(), pull.facts.head.clone());
            Input::Order {
                key: format!("update {pull} {head} {base}"),
                requester: Requester::Update(pull.clone()),
                order: Box::new(JobOrder::Rebase { pull, head, base: base.clone() }),
            }
        })
        .collect()
}
