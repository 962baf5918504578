//! Effects that a session wants, read off its state. The same after a restart as before it.

use super::{AfterStop, DeliveryStage, Phase, Session};
use crate::Attempt;
use crate::effect::{Effect, LaunchPlan, SetUpPlan, WorkspaceLocation, WorkspacePlan};
use crate::order::{AnswerOrder, CancelOrder, DeliverOrder};
use crate::setup::{Environment, Setup};
use crate::state::State;
use crate::workspace::WorkspaceState;

pub(crate) fn wants(state: &State, session: &Session, wanted: &mut Vec<Effect>) {
    match &session.phase {
        Phase::Preparing { attempt, .. }
            if session.is_setting_up() && session.workspace.again_at.is_none() =>
        {
            wanted.push(Effect::SetUp {
                session: session.id,
                attempt: *attempt,
                tries: session.workspace.tries,
                plan: set_up_plan(state, session),
            });
        }
        Phase::Preparing { attempt, .. } if session.workspace.again_at.is_none() => {
            wanted.push(Effect::CreateWorkspace {
                session: session.id,
                attempt: *attempt,
                tries: session.workspace.tries,
                plan: workspace_plan(state, session),
            });
        }
        // A hold prevents everything that leads to a turn.
        Phase::Starting { attempt, tries, again_at: None, .. } if session.holds.is_empty() => {
            wanted.extend(launch_plan(state, session).map(|plan| Effect::Launch {
                session: session.id,
                attempt: *attempt,
                tries: *tries,
                plan,
            }));
        }
        Phase::Running { attempt, .. } => {
            wanted.extend(follow(session, *attempt));
            if session.watch.wanted {
                wanted.push(Effect::Look {
                    session: session.id,
                    attempt: *attempt,
                    process: session.process.clone(),
                    agent: session.spec.agent.clone(),
                    conversation: session.launch.conversation.clone(),
                    runtime: session.spec.runtime.clone(),
                    place: place(state, session),
                });
            }
            if let Some(answer) = &session.dialogs.answer
                && let Some(process) = &session.process
            {
                let order = AnswerOrder {
                    session: session.id,
                    attempt: *attempt,
                    process: process.clone(),
                    number: answer.number,
                    ask: answer.ask.clone(),
                    question: answer.question.clone(),
                    option: answer.option.clone(),
                    text: answer.text.clone(),
                };
                wanted.push(Effect::Answer { agent: session.spec.agent.clone(), order });
            }
            if let Some(cancel) = &session.cancels.current
                && let Some(process) = &session.process
            {
                let order = CancelOrder {
                    session: session.id,
                    attempt: *attempt,
                    process: process.clone(),
                    conversation: session.launch.conversation.clone(),
                    number: cancel.number,
                };
                wanted.push(Effect::CancelTurn { agent: session.spec.agent.clone(), order });
            }
            if let Some(delivery) = &session.outbox.current
                && delivery.stage == DeliveryStage::Writing
                && delivery.with_launch.is_none()
                // A write that has begun is finished; after a restart it does not begin again until the hold is gone.
                && session.holds.is_empty()
            {
                let order = DeliverOrder {
                    session: session.id,
                    attempt: *attempt,
                    process: session.process.clone(),
                    conversation: session.launch.conversation.clone(),
                    delivery: delivery.no,
                    tries: delivery.tries,
                    text: delivery.text.clone(),
                    interrupt: delivery.interrupt,
                };
                wanted.push(Effect::Deliver { agent: session.spec.agent.clone(), order });
            }
        }
        Phase::Stopping { attempt, tries, again_at: None, then } => {
            wanted.push(Effect::End {
                session: session.id,
                attempt: *attempt,
                tries: *tries,
                process: session.process.clone(),
                runtime: session.spec.runtime.clone(),
                place: matches!(then, AfterStop::End { .. }).then(|| place(state, session)),
            });
        }
        _ => {}
    }
    // Its last output is read while it is being ended.
    if let Phase::Stopping { attempt, .. } = session.phase {
        wanted.extend(follow(session, attempt));
    }
    let workspace = &session.workspace;
    if workspace.state == WorkspaceState::Removing && workspace.again_at.is_none() {
        let setup = setup(state, session);
        wanted.push(Effect::RemoveWorkspace {
            session: session.id,
            tries: workspace.tries,
            project: session.spec.project.clone(),
            repository: repository(state, session),
            kind: session.spec.workspace.clone(),
            tree: workspace.tree.clone(),
            branch: session.spec.branch.clone(),
            teardown: setup.teardown,
            environment: environment(state, session),
            timeout: setup.timeout,
            discard: workspace.discard,
        });
    }
}

fn repository(state: &State, session: &Session) -> String {
    state.projects.get(&session.spec.project).map(|project| project.config.path.clone()).unwrap_or_default()
}

fn follow(session: &Session, attempt: Attempt) -> Option<Effect> {
    let unproven = session.outbox.current.as_ref().filter(|delivery| delivery.with_launch == Some(attempt));
    Some(Effect::Follow {
        session: session.id,
        attempt,
        process: session.process.clone()?,
        conversation: session.launch.conversation.clone(),
        agent: session.spec.agent.clone(),
        with_launch: unproven.map(|delivery| delivery.text.clone()),
    })
}

fn place(state: &State, session: &Session) -> WorkspaceLocation {
    WorkspaceLocation {
        project: session.spec.project.clone(),
        repository: repository(state, session),
        kind: session.spec.workspace.clone(),
        tree: session.workspace.tree.clone(),
        branch: session.spec.branch.clone(),
    }
}

fn set_up_plan(state: &State, session: &Session) -> SetUpPlan {
    SetUpPlan {
        project: session.spec.project.clone(),
        repository: repository(state, session),
        kind: session.spec.workspace.clone(),
        name: session.spec.name.clone(),
        path: session.workspace.path().unwrap_or_default().to_owned(),
        setup: setup(state, session),
        environment: environment(state, session),
        ports: session.ports.held.clone(),
        runtime: session.spec.runtime.clone(),
    }
}

fn setup(state: &State, session: &Session) -> Setup {
    state.projects.get(&session.spec.project).map(|project| project.config.setup.clone()).unwrap_or_default()
}

fn environment(state: &State, session: &Session) -> Environment {
    state
        .projects
        .get(&session.spec.project)
        .map(|project| project.config.environment.clone())
        .unwrap_or_default()
}

fn workspace_plan(state: &State, session: &Session) -> WorkspacePlan {
    let project = state.projects.get(&session.spec.project);
    WorkspacePlan {
        project: session.spec.project.clone(),
        repository: repository(state, session),
        kind: session.spec.workspace.clone(),
        name: session.spec.name.clone(),
        branch: session.spec.branch.clone(),
        base_branch: project.map(|project| project.config.default_branch.clone()).unwrap_or_default(),
        origin: session.spec.origin.clone(),
        rescue: session.workspace.rescue.clone(),
    }
}

/// Returns the plan of its launch; nothing while its conversation is being given up, which the same step ends.
fn launch_plan(state: &State, session: &Session) -> Option<LaunchPlan> {
    let conversation = session.launch.conversation.clone()?;
    let with_launch =
        session.outbox.current.as_ref().filter(|delivery| delivery.with_launch == Some(session.attempt));
    Some(LaunchPlan {
        project: session.spec.project.clone(),
        name: session.spec.name.clone(),
        role: session.spec.role,
        agent: session.spec.agent.clone(),
        runtime: session.spec.runtime.clone(),
        path: session.workspace.path().unwrap_or_default().to_owned(),
        conversation,
        resume: session.launch.begun,
        prompt: with_launch.map(|delivery| delivery.text.clone()),
        environment: environment(state, session),
        ports: session.ports.held.clone(),
    })
}
