//! Consequences of a policy's change: everything that it allows or forbids is judged again.

use std::collections::VecDeque;

use crate::incident::Subject;
use crate::input::Input;
use crate::notice::NoticeLevel;
use crate::policy::POLICY_FILE;
use crate::project::ProjectEvent;
use crate::queue::QueueInput;
use crate::state::State;
use crate::{ProjectId, PullId};

pub(super) fn follow(state: &State, id: &ProjectId, event: &ProjectEvent, then: &mut VecDeque<Input>) {
    if let ProjectEvent::PolicyBroken { why } = event {
        // The same error after a fix is reported again only if its text differs.
        let text = format!(
            "the policy of {id} on its base branch cannot be read, so nothing is merged by it until \
             {POLICY_FILE} is fixed:\n{why}"
        );
        let (subject, key) = (Subject::Project(id.clone()), format!("policy {id} {why}"));
        then.push_back(Input::notify(NoticeLevel::Action, subject, key, text));
    }
    then.push_back(Input::Queue { project: id.clone(), input: QueueInput::Look {} });
    let first = PullId { project: id.clone(), number: 0 };
    let pulls = state.pulls.range(first..).take_while(|(pull, _)| pull.project == *id);
    let open = pulls.filter(|(_, pull)| pull.is_open());
    then.extend(open.map(|(pull, _)| Input::Review(Subject::Pull(pull.clone()))));
}
