//! Consequences of results on a project's base: it is checked, compared with its pull requests, and reported when it is red.

use std::collections::VecDeque;

use crate::health::BaseVerdict;
use crate::incident::Subject;
use crate::input::Input;
use crate::job::{JobOrder, Requester};
use crate::project::{ProjectEvent, ProjectInput};
use crate::pull::Pull;
use crate::state::State;
use crate::{ProjectId, PullId};

pub(super) fn follow(state: &State, id: &ProjectId, event: &ProjectEvent, then: &mut VecDeque<Input>) {
    match event {
        ProjectEvent::BaseAsked { branch, check, commit } => then.push_back(Input::Order {
            key: format!("base {id} {branch} {check} {commit}"),
            order: Box::new(JobOrder::CheckBase {
                project: id.clone(),
                branch: branch.clone(),
                commit: commit.clone(),
                check: check.clone(),
            }),
            requester: Requester::Base { project: id.clone(), check: check.clone(), commit: commit.clone() },
        }),
        // Sessions that waited for it continue, or are held from now on.
        ProjectEvent::BaseFound { branch, check, commit, verdict } => {
            // It may have moved while it was checked. The latest look has the newest tip.
            let on_it =
                pulls_of(state, id).filter(|pull| pull.is_open() && pull.facts.base_branch == *branch);
            let newest = on_it.max_by_key(|pull| pull.facts.observed_at).map(|pull| &pull.facts.base);
            if let (BaseVerdict::Red { .. }, Some(tip)) = (verdict, newest.filter(|tip| *tip != commit)) {
                then.push_back(Input::Project {
                    project: id.clone(),
                    input: ProjectInput::AskBase {
                        branch: branch.clone(),
                        check: check.clone(),
                        commit: tip.clone(),
                    },
                });
            }
            let concerned = pulls_of(state, id)
                .filter(|pull| pull.facts.base_branch == *branch && pull.failures.contains_key(check));
            then.extend(concerned.map(|pull| Input::Review(Subject::Pull(pull.id.clone()))));
            then.push_back(Input::Review(Subject::Project(id.clone())));
        }
        _ => {}
    }
}

/// Checks again on a new tip of the base what was red before.
pub(super) fn moved(state: &State, pull: &Pull, then: &mut VecDeque<Input>) {
    let Some(project) = state.projects.get(&pull.id.project).filter(|_| pull.is_open()) else { return };
    then.extend(project.base.red_on(&pull.facts.base_branch).map(|red| Input::Project {
        project: pull.id.project.clone(),
        input: ProjectInput::AskBase {
            branch: red.branch.clone(),
            check: red.check.clone(),
            commit: pull.facts.base.clone(),
        },
    }));
}

fn pulls_of<'a>(state: &'a State, project: &'a ProjectId) -> impl Iterator<Item = &'a Pull> {
    let first = PullId { project: project.clone(), number: 0 };
    state.pulls.range(first..).take_while(move |(id, _)| id.project == *project).map(|(_, pull)| &**pull)
}
