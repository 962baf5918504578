//! Effects that a session wants, read off its state. The same after a restart as before it.

use std::sync::LazyLock;

use super::{AfterStop, DeliveryStage, Phase, Session};
use crate::Attempt;
use crate::effect::{Effect, LaunchPlan, SetUpPlan, WorkspaceLocation, WorkspacePlan};
use crate::order::{AnswerOrder, CancelOrder, DeliverOrder, FollowOrder, LookOrder, RemoveOrder};
use crate::project::ProjectConfig;
use crate::state::State;
use crate::workspace::{TreeRef, WorkspaceState};

pub(crate) fn wants(state: &State, session: &Session, wanted: &mut Vec<Effect>) {
    let config = config(state, session);
    let (id, agent, workspace) = (session.id, &session.spec.agent, &session.workspace);
    match &session.phase {
        Phase::Preparing { attempt, .. } if workspace.again_at.is_none() => {
            let (attempt, tries) = (*attempt, workspace.tries);
            wanted.push(match session.is_setting_up() {
                true => Effect::SetUp { session: id, attempt, tries, plan: set_up_plan(config, session) },
                false => {
                    let plan = workspace_plan(config, session);
                    Effect::CreateWorkspace { session: id, attempt, tries, plan }
                }
            });
        }
        // A hold prevents everything that leads to a turn.
        Phase::Starting { attempt, tries, again_at: None, .. } if session.holds.is_empty() => {
            let (attempt, tries) = (*attempt, *tries);
            let plan = launch_plan(config, session);
            wanted.extend(plan.map(|plan| Effect::Launch { session: id, attempt, tries, plan }));
        }
        Phase::Running { attempt, .. } => {
            wanted.extend(follow(session, *attempt));
            if session.watch.wanted {
                let order = LookOrder {
                    session: id,
                    attempt: *attempt,
                    process: session.process.clone(),
                    conversation: session.launch.conversation.clone(),
                };
                let (runtime, place) = (session.spec.runtime.clone(), place(config, session));
                wanted.push(Effect::Look { agent: agent.clone(), runtime, place, order });
            }
            if let Some(answer) = &session.dialogs.answer
                && let Some(process) = &session.process
            {
                let order = AnswerOrder {
                    session: id,
                    attempt: *attempt,
                    process: process.clone(),
                    number: answer.number,
                    ask: answer.ask.clone(),
                    question: answer.question.clone(),
                    option: answer.option.clone(),
                    text: answer.text.clone(),
                };
                wanted.push(Effect::Answer { agent: agent.clone(), order });
            }
            if let Some(cancel) = &session.cancels.current
                && let Some(process) = &session.process
            {
                let order = CancelOrder {
                    session: id,
                    attempt: *attempt,
                    process: process.clone(),
                    conversation: session.launch.conversation.clone(),
                    number: cancel.number,
                };
                wanted.push(Effect::CancelTurn { agent: agent.clone(), order });
            }
            if let Some(delivery) = &session.outbox.current
                && delivery.stage == DeliveryStage::Writing
                && delivery.with_launch.is_none()
                // A write that has begun is finished; after a restart it does not begin again until the hold is gone.
                && session.holds.is_empty()
            {
                let order = DeliverOrder {
                    session: id,
                    attempt: *attempt,
                    process: session.process.clone(),
                    conversation: session.launch.conversation.clone(),
                    delivery: delivery.no,
                    tries: delivery.tries,
                    text: delivery.text.clone(),
                    interrupt: delivery.interrupt,
                };
                wanted.push(Effect::Deliver { agent: agent.clone(), order });
            }
        }
        Phase::Stopping { attempt, tries, again_at: None, then } => {
            wanted.push(Effect::End {
                session: id,
                attempt: *attempt,
                tries: *tries,
                process: session.process.clone(),
                runtime: session.spec.runtime.clone(),
                place: matches!(then, AfterStop::End { .. }).then(|| place(config, session)),
            });
        }
        _ => {}
    }
    // Its last output is read while it is being ended.
    if let Phase::Stopping { attempt, .. } = session.phase {
        wanted.extend(follow(session, attempt));
    }
    if workspace.state == WorkspaceState::Removing && workspace.again_at.is_none() {
        let order = RemoveOrder {
            tree: tree(config, session),
            teardown: config.setup.teardown.clone(),
            environment: config.environment.clone(),
            timeout: config.setup.timeout,
            lived_in: None,
            discard: workspace.discard,
        };
        let (tries, kind) = (workspace.tries, session.spec.workspace.clone());
        wanted.push(Effect::RemoveWorkspace { tries, kind, order });
    }
}

/// Returns the configuration of its project; an empty one if the project is gone.
fn config<'a>(state: &'a State, session: &Session) -> &'a ProjectConfig {
    static NONE: LazyLock<ProjectConfig> = LazyLock::new(ProjectConfig::default);
    state.projects.get(&session.spec.project).map_or(&NONE, |project| &project.config)
}

fn follow(session: &Session, attempt: Attempt) -> Option<Effect> {
    let unproven = session.outbox.current.as_ref().filter(|delivery| delivery.with_launch == Some(attempt));
    let order = FollowOrder {
        session: session.id,
        attempt,
        process: session.process.clone()?,
        conversation: session.launch.conversation.clone(),
        with_launch: unproven.map(|delivery| delivery.text.clone()),
    };
    Some(Effect::Follow { agent: session.spec.agent.clone(), order })
}

fn place(config: &ProjectConfig, session: &Session) -> WorkspaceLocation {
    WorkspaceLocation { kind: session.spec.workspace.clone(), tree: tree(config, session) }
}

fn tree(config: &ProjectConfig, session: &Session) -> TreeRef {
    TreeRef {
        session: session.id,
        project: session.spec.project.clone(),
        repository: config.path.clone(),
        recorded: session.workspace.tree.clone(),
        branch: session.spec.branch.clone(),
    }
}

fn set_up_plan(config: &ProjectConfig, session: &Session) -> SetUpPlan {
    SetUpPlan {
        project: session.spec.project.clone(),
        repository: config.path.clone(),
        kind: session.spec.workspace.clone(),
        name: session.spec.name.clone(),
        path: session.workspace.path().unwrap_or_default().to_owned(),
        setup: config.setup.clone(),
        environment: config.environment.clone(),
        ports: session.ports.held.clone(),
        runtime: session.spec.runtime.clone(),
    }
}

fn workspace_plan(config: &ProjectConfig, session: &Session) -> WorkspacePlan {
    WorkspacePlan {
        project: session.spec.project.clone(),
        repository: config.path.clone(),
        kind: session.spec.workspace.clone(),
        name: session.spec.name.clone(),
        branch: session.spec.branch.clone(),
        base_branch: config.default_branch.clone(),
        origin: session.spec.origin.clone(),
        rescue: session.workspace.rescue.clone(),
    }
}

/// Returns the plan of its launch; nothing while its conversation is being given up, which the same step ends.
fn launch_plan(config: &ProjectConfig, session: &Session) -> Option<LaunchPlan> {
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
        environment: config.environment.clone(),
        ports: session.ports.held.clone(),
    })
}
