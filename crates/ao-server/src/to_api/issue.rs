//! Converts issues to wire types.

use ao_api::OpenState;
use ao_core::State;
use ao_ports::TaskSeen;

use super::pull::author;
use super::time;

pub(crate) fn issue(state: &State, seen: &TaskSeen) -> ao_api::Issue {
    let works = state.live_session_of(&seen.task).and_then(|id| state.sessions.get(&id));
    ao_api::Issue {
        id: seen.task.to_string(),
        project_id: seen.task.project.to_string(),
        key: seen.task.key.clone(),
        title: seen.facts.title.clone(),
        body: seen.body.clone(),
        state: if seen.facts.closed { OpenState::Closed } else { OpenState::Open },
        labels: seen.facts.labels.iter().cloned().collect(),
        priority: seen.facts.priority,
        blocked_by: seen.facts.blocked_by.iter().map(ToString::to_string).collect(),
        assignee: seen.assignee.clone(),
        author: seen.author.as_ref().map(author),
        created_at: time(seen.created),
        updated_at: time(seen.updated),
        url: seen.url.clone(),
        session: works.map(|session| session.spec.name.clone()),
        comments: seen
            .comments
            .iter()
            .map(|comment| ao_api::IssueComment {
                id: comment.id.clone(),
                author: author(&comment.author),
                body: comment.body.clone(),
                at: time(comment.at),
            })
            .collect(),
    }
}
