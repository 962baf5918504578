//! Consequences of policy events: everything that the policy allows or forbids is judged again.

use std::collections::VecDeque;

use crate::incident::Subject;
use crate::input::Input;
use crate::notice::Level;
use crate::policy::POLICY_FILE;
use crate::project::ProjectEvent;
use crate::queue::QueueInput;
use crate::state::State;
use crate::{ProjectId, PullId};

pub(super) fn follow(state: &State, id: &ProjectId, event: &ProjectEvent, then: &mut VecDeque<Input>) {
    if let ProjectEvent::PolicyBroken { why } = event {
        then.push_back(Input::Tell {
            level: Level::Action,
            subject: Subject::Project(id.clone()),
            // The same error after a fix is reported again only if its text differs.
            key: format!("policy {id} {why}"),
            text: format!(
                "the policy of {id} on its base branch cannot be read, so nothing is merged by it until {POLICY_FILE} is \
                 mended:\n{why}"
            ),
            channel: None,
        });
    }
    then.push_back(Input::Queue { project: id.clone(), input: QueueInput::Look {} });
    let first = PullId { project: id.clone(), number: 0 };
    let pulls = state.pulls.range(first..).take_while(|(pull, _)| pull.project == *id);
    let open = pulls.filter(|(_, pull)| pull.is_open());
    then.extend(open.map(|(pull, _)| Input::Review(Subject::Pull(pull.clone()))));
}
