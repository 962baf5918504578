//! Runs effects on their ports, and returns the results as inputs.

use std::path::Path;
use std::sync::Arc;

use ao_core::agent_report::{AgentReport, TurnCause};
use ao_core::effect::{Effect, WorkspaceLocation};
use ao_core::evidence::SignalSource;
use ao_core::input::{Census, CountedProcess};
use ao_core::job::JobInput;
use ao_core::notice::NoticeInput;
use ao_core::queue::{HeadBranch, QueueInput};
use ao_core::session::{CheckedOut, SessionInput};
use ao_core::setup::Environment;
use ao_core::{EffectKey, Input, SessionId, Timestamp};
use ao_ports::{
    AnswerOrder, AnswerOutcome, CancelOrder, Cancelled, CensusEntry, CreatedWorkspace, DeliverOrder,
    DeliveryOutcome, EndOrder, JobError, LaunchPreparation, MergeOrder, MergeOutcome, ProcessRef,
    RemovalOutcome, Reporter, RuntimeError, StartSpec, TestOrder, TreeRef, WorkspaceDrift, WorkspaceError,
};

use crate::notify;
use crate::set_up::set_up_elsewhere;
use crate::slots::AdapterSet;

/// The reason of a failure; the effect's key identifies what failed.
struct Failure(String);

impl<E: std::error::Error> From<E> for Failure {
    fn from(err: E) -> Failure {
        Failure(err.to_string())
    }
}

/// Runs an effect and returns its results.
pub(crate) async fn run(
    effect: Effect,
    slots: &AdapterSet,
    now: Timestamp,
    reporter: Arc<dyn Reporter>,
) -> Vec<Input> {
    let key = effect.key();
    match perform(effect, slots, now, reporter).await {
        Ok(inputs) => inputs,
        Err(Failure(why)) => failed(key, why),
    }
}

/// Returns the inputs that a failed effect leads to.
pub(crate) fn failed(key: EffectKey, why: String) -> Vec<Input> {
    tracing::warn!(effect = %key, why, "effect failed");
    if let Some(session) = key.session() {
        return vec![Input::Session { session, input: SessionInput::Failed { effect: key, why } }];
    }
    match key {
        EffectKey::RunJob { job, tries } => {
            let input = JobInput::Failed { tries, why, again: true };
            vec![Input::Job { job, input }]
        }
        EffectKey::Notify { notice, channel, tries } => {
            vec![Input::Notice { notice, input: NoticeInput::Failed { channel, tries, why, wait: None } }]
        }
        EffectKey::TestMerge { pull, head, base, ahead, tries, .. }
        | EffectKey::Merge { pull, head, base, with: ahead, tries } => {
            vec![Input::Queue {
                project: pull.project.clone(),
                input: QueueInput::EffectFailed { pull, head, base, ahead, tries, why },
            }]
        }
        // The reconciler asks again.
        _ => vec![],
    }
}

async fn perform(
    effect: Effect,
    slots: &AdapterSet,
    now: Timestamp,
    reporter: Arc<dyn Reporter>,
) -> Result<Vec<Input>, Failure> {
    match effect {
        Effect::CreateWorkspace { session, attempt, plan, .. } => {
            let workspace = slots.workspace(&plan.kind)?;
            let made = workspace.create(session, attempt, &plan).await?;
            let CreatedWorkspace { path, base, as_found } = made;
            Ok(tell(session, SessionInput::WorkspaceReady { attempt, path, base, as_found }))
        }
        Effect::SetUp { session, attempt, plan, .. } => {
            let workspace = slots.workspace(&plan.kind)?;
            let runtime = slots.runtime(&plan.runtime)?;
            let done = match runtime.abilities().shares_files {
                true => workspace.set_up(session, attempt, &plan).await,
                false => set_up_elsewhere(workspace, runtime, (session, attempt), plan).await,
            };
            Ok(tell(
                session,
                match done {
                    Ok(()) => SessionInput::SetUp { attempt },
                    Err(err @ WorkspaceError::SetupFailed { .. }) => {
                        SessionInput::SetupFailed { attempt, why: err.to_string() }
                    }
                    Err(err) => return Err(err.into()),
                },
            ))
        }
        Effect::Launch { session, attempt, plan, .. } => {
            let agent = slots.agent(&plan.agent.adapter())?;
            let runtime = slots.runtime(&plan.runtime)?;
            match agent.prepare(session, attempt, &plan).await? {
                LaunchPreparation::NothingToResume => {
                    Ok(tell(session, SessionInput::ConversationGone { attempt }))
                }
                LaunchPreparation::Run { mut command, conversation } => {
                    let Environment { pass, set, secrets } = plan.environment;
                    command.pass.extend(pass);
                    command.secrets.extend(secrets);
                    command.env.extend(set);
                    command
                        .env
                        .extend(plan.ports.iter().map(|(name, port)| (name.clone(), port.to_string())));
                    let ports = plan.ports.into_values().collect();
                    let spec =
                        StartSpec { session, attempt, name: plan.name, path: plan.path, command, ports };
                    Ok(tell(
                        session,
                        match runtime.start(&spec).await {
                            Ok(process) => SessionInput::Launched { attempt, process, conversation },
                            Err(RuntimeError::NoFolder { path }) => SessionInput::TreeGone { attempt, path },
                            Err(RuntimeError::PortTaken { port }) => {
                                SessionInput::PortTaken { attempt, port }
                            }
                            Err(err) => return Err(err.into()),
                        },
                    ))
                }
            }
        }
        Effect::Deliver { agent, order } => {
            let agent = slots.agent(&agent.adapter())?;
            let DeliverOrder { session, attempt, delivery, tries, .. } = order;
            let written = SessionInput::Written { attempt, delivery, tries };
            Ok(match agent.deliver(&order).await? {
                DeliveryOutcome::Written => tell(session, written),
                // The proof first; the write itself is then no news.
                DeliveryOutcome::Taken { turn, text } => {
                    let cause = TurnCause::User { text, delivery: Some(delivery) };
                    let report = AgentReport::TurnBegan { turn, cause };
                    let (source, at) = (SignalSource::Protocol, now);
                    let mut inputs = tell(session, SessionInput::Reported { attempt, source, at, report });
                    inputs.extend(tell(session, written));
                    inputs
                }
                DeliveryOutcome::Held { why, signals } => {
                    let mut inputs = tell(session, SessionInput::Looked { attempt, signals });
                    inputs.extend(tell(session, SessionInput::NotWritten { attempt, delivery, tries, why }));
                    inputs
                }
            })
        }
        Effect::Follow { agent, order } => {
            slots.agent(&agent.adapter())?.follow(&order, reporter).await;
            Ok(vec![])
        }
        Effect::Answer { agent, order } => {
            let agent = slots.agent(&agent.adapter())?;
            let AnswerOrder { session, attempt, number, .. } = order;
            Ok(tell(
                session,
                match agent.answer(&order).await? {
                    AnswerOutcome::Given => SessionInput::Answered { attempt, number },
                    AnswerOutcome::Gone { why } => SessionInput::NotAnswered { attempt, number, why },
                },
            ))
        }
        Effect::CancelTurn { agent, order } => {
            let agent = slots.agent(&agent.adapter())?;
            let CancelOrder { session, attempt, number, .. } = order;
            let cut = agent.cancel(&order).await? == Cancelled::Cut;
            Ok(tell(session, SessionInput::TurnCancelled { attempt, number, cut }))
        }
        Effect::Look { agent, runtime, place, order } => {
            let (session, attempt) = (order.session, order.attempt);
            let agent = slots.agent(&agent.adapter())?;
            let (drift, stand) = whereabouts(slots, &runtime, order.process.as_ref(), &place).await;
            let signals = agent.look(&order).await?;
            let seen = [SessionInput::Looked { attempt, signals }, SessionInput::Drift { attempt, drift }];
            let checked_out = stand.map(|checked_out| SessionInput::CheckedOut { checked_out });
            Ok(seen.into_iter().chain(checked_out).map(|input| Input::Session { session, input }).collect())
        }
        Effect::End { session, attempt, process, runtime, place, .. } => {
            slots.runtime(&runtime)?.end(&EndOrder { session, attempt, process }).await?;
            if let Some(WorkspaceLocation { kind, tree: TreeRef { recorded: Some(tree), .. } }) = place {
                slots.workspace(&kind)?.end_programs(session, &tree.path).await?;
            }
            Ok(tell(session, SessionInput::ProcessEnded { attempt }))
        }
        Effect::EndStray { session, attempt, runtime } => {
            let order = EndOrder { session, attempt, process: None };
            slots.runtime(&runtime)?.end(&order).await?;
            Ok(vec![Input::StrayEnded { session, attempt }])
        }
        Effect::RemoveWorkspace { tries, kind, mut order } => {
            // Just before: a process may have been started there since the removal was ordered.
            order.lived_in = slots.runtimes.live_in(&order.tree).await?;
            let input = match slots.workspace(&kind)?.remove(&order).await? {
                RemovalOutcome::Removed { rescue } => SessionInput::WorkspaceRemoved { tries, rescue },
                RemovalOutcome::Kept { reasons } => SessionInput::WorkspaceKept { tries, reasons },
            };
            Ok(tell(order.tree.session, input))
        }
        Effect::Notify { notice, channel } => {
            let input = match channel {
                Some(channel) => notify::tell(&notice, channel, slots).await,
                None => notify::address(&notice, slots),
            };
            Ok(vec![Input::Notice { notice: notice.id, input }])
        }
        Effect::RunJob { job } => {
            let (id, tries) = (job.id, job.tries);
            let told = match &slots.jobs {
                Some(jobs) => jobs.run(&job).await,
                None => Err(JobError::Never("no adapter runs jobs here".into())),
            };
            let input = match told {
                Ok(outcome) => JobInput::Done { tries, outcome },
                Err(JobError::InTheWay(why)) => JobInput::InTheWay { tries, why, after: None },
                Err(JobError::Later(why)) => JobInput::Failed { tries, why, again: true },
                Err(JobError::Limited { why, after }) => {
                    JobInput::InTheWay { tries, why, after: Some(after) }
                }
                Err(JobError::Never(why)) => JobInput::Failed { tries, why, again: false },
            };
            Ok(vec![Input::Job { job: id, input }])
        }
        Effect::TestMerge { order, .. } => {
            let project = order.pull.project.clone();
            let tested = slots.scm(&project)?.test(&order).await;
            let TestOrder { pull, head, base, ahead, checks, .. } = order;
            let input = match tested {
                Err(err) if let Some(after) = err.limited_for() => {
                    QueueInput::TestLimited { pull, head, base, ahead, checks, after }
                }
                tested => QueueInput::Tested { pull, head, base, ahead, checks, result: tested? },
            };
            Ok(vec![Input::Queue { project, input }])
        }
        Effect::Merge { order, .. } => {
            let project = order.pull.project.clone();
            let outcome = slots.scm(&project)?.merge(&order).await;
            let MergeOrder { pull, head, base, delete_branch, .. } = order;
            let input = match outcome {
                Err(err) if let Some(after) = err.limited_for() => {
                    QueueInput::LandLimited { pull, head, base, after }
                }
                Err(err) => return Err(err.into()),
                Ok(MergeOutcome::Merged { commit, tip, branch_left, with }) => {
                    let deleted = branch_left.map_or(HeadBranch::Deleted {}, |why| HeadBranch::Left { why });
                    let head_branch = delete_branch.then_some(deleted);
                    QueueInput::Landed { pull, head, commit, tip, head_branch, with }
                }
                Ok(MergeOutcome::Refused { tip, why, in_the_way }) => {
                    QueueInput::LandRefused { pull, head, base, tip, why, in_the_way }
                }
            };
            Ok(vec![Input::Queue { project, input }])
        }
        Effect::Census { runtime } => {
            let seen = slots.runtime(&runtime)?.census().await?;
            let counted = |entry: CensusEntry| CountedProcess {
                session: entry.session,
                attempt: entry.attempt,
                life: entry.life,
            };
            let seen = seen.into_iter().map(counted).collect();
            Ok(vec![Input::Census(Census { runtime, began: now, seen })])
        }
    }
}

/// Returns how the agent's folder or branch differs from its workspace, if it does. What cannot be determined does
/// not count as a difference.
async fn whereabouts(
    slots: &AdapterSet,
    runtime: &str,
    process: Option<&ProcessRef>,
    place: &WorkspaceLocation,
) -> (Option<String>, Option<CheckedOut>) {
    let (Some(recorded), Ok(workspace)) = (&place.tree.recorded, slots.workspace(&place.kind)) else {
        return (None, None);
    };
    let WorkspaceDrift { stand, mut wrong } = workspace.whereabouts(&place.tree).await;
    if let Some(process) = process
        && let Ok(runtime) = slots.runtime(runtime)
        // Otherwise it names a folder of a container, which the workspace knows nothing of.
        && runtime.abilities().shares_files
        && let Some(folder) = runtime.folder(process).await
        && !Path::new(&folder).starts_with(&recorded.path)
    {
        wrong.push(format!("it works in `{folder}`"));
    }
    ((!wrong.is_empty()).then(|| wrong.join("; ")), stand)
}

fn tell(session: SessionId, input: SessionInput) -> Vec<Input> {
    vec![Input::Session { session, input }]
}
