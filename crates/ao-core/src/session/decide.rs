//! Decides what an input means for a session. One match shows the whole behaviour; what needs more than a few lines has a name
//! below it.

use std::time::Duration;

use super::answer::{answer, is_answering};
use super::due::{due, go_on};
use super::holds::{cut_turn, halt, hold, release, resume, spent};
use super::launch::{has_ended, launch, may_go_on, may_restore, requeued, restored, wake};
use super::lease::PortLeases;
use super::outbox::backoff;
use super::report::{ReportOrigin, reported};
use super::say::{flush, is_writing, send, task_message};
use super::{AfterStop, HoldKind, MessageKind, Phase, Session, SessionEvent, SessionInput, SessionOutcome};
use crate::effect::EffectKey;
use crate::evidence::{AgentActivity, Reading, Signal, SignalSource, SignalWeight, judge};
use crate::incident::IncidentKind;
use crate::refusal::Refusal;
use crate::setup::Origin;
use crate::state::State;
use crate::workspace::{KeepReason, WorkspaceState};
use crate::{ConversationId, Moment, Timestamp};

type SessionDecision = Result<Vec<SessionEvent>, Refusal>;

const NOTHING: SessionDecision = Ok(Vec::new());

/// The assumed length of a provider's limit without an end. If the limit persists, the next assumption is twice as
/// long, up to four times.
const LIMIT_WITHOUT_END: Duration = Duration::from_secs(15 * 60);

/// The reason for the end of a process that the provider refused more work.
const LIMITED: &str = "the provider's limit ended its turn";

pub(crate) fn decide(
    state: &State,
    session: &Session,
    moment: &Moment,
    input: SessionInput,
) -> SessionDecision {
    use SessionEvent as E;
    use SessionInput as I;
    let settings = &state.settings;
    let now = moment.at;
    let moved_to = match &input {
        I::RestoreIn { runtime } => Some(runtime.clone()),
        _ => None,
    };
    match (&session.phase, input) {
        // ── making the workspace ──
        (
            Phase::Preparing { attempt, then_stop },
            I::WorkspaceReady { attempt: of, path, base, as_found },
        ) if of == *attempt => {
            if let Some(owner) = state.owner_of_path(&path)
                && owner != session.id
            {
                return Ok(vec![E::WorkspaceFailed {
                    why: format!("the workspace `{path}` belongs to the session `{}`", state.name_of(owner)),
                    again_at: None,
                }]);
            }
            // Nothing is installed in a tree that is only to be read.
            let read = matches!(session.spec.origin, Origin::Read { .. });
            let set_up = as_found || read || setup_is_empty(state, session);
            let mut events = vec![E::WorkspaceReady { path, base, set_up }];
            match then_stop {
                Some(outcome) => events.extend(ended(session, outcome.clone())),
                None if set_up => events.extend(prepared(session, moment)),
                None => {}
            }
            Ok(events)
        }
        (Phase::Preparing { attempt, .. }, I::SetUp { attempt: of })
            if of == *attempt && session.is_setting_up() =>
        {
            let mut events = vec![E::WorkspaceSetUp {}];
            events.extend(prepared(session, moment));
            Ok(events)
        }
        (Phase::Preparing { attempt, .. }, I::SetupFailed { attempt: of, why })
            if of == *attempt && session.is_setting_up() =>
        {
            Ok(vec![E::SetupFailed { why }])
        }
        (Phase::Preparing { then_stop: Some(outcome), .. }, I::Failed { effect, why })
            if is_creation(session, &effect) =>
        {
            let mut events = vec![E::WorkspaceFailed { why, again_at: None }];
            events.extend(ended(session, outcome.clone()));
            // Remains of the failed creation are removed, as for any other.
            let removal = E::RemovalWanted { discard: false };
            if events.last() != Some(&removal) {
                events.push(removal);
            }
            Ok(events)
        }
        (Phase::Preparing { .. }, I::Failed { effect, why })
            if is_creation(session, &effect) || is_set_up(session, &effect) =>
        {
            let tries = session.workspace.tries + 1;
            let again_at = (tries < settings.setup_tries).then(|| now + backoff(tries));
            Ok(vec![E::WorkspaceFailed { why, again_at }])
        }

        // ── starting the process ──
        (Phase::Starting { attempt, then_stop, .. }, I::Launched { attempt: of, process, conversation })
            if of == *attempt =>
        {
            let mut events = vec![E::Launched { process }];
            events.extend(conversation_seen(state, session, conversation));
            if let Some(delivery) = &session.outbox.current
                && delivery.with_launch == Some(of)
            {
                events.push(E::Written { delivery: delivery.no, proof_by: now + settings.proof_wait });
            }
            if let Some(outcome) = then_stop {
                events.push(E::Stopping { then: AfterStop::End { outcome: outcome.clone() } });
            }
            Ok(events)
        }
        (_, I::ConversationGone { attempt: of }) if of == session.attempt => {
            Ok(conversation_gone(state, session, now))
        }
        (Phase::Starting { attempt, tries, then_stop, .. }, I::Failed { effect, why })
            if effect == (EffectKey::Launch { session: session.id, attempt: *attempt, tries: *tries }) =>
        {
            Ok(vec![if let Some(outcome) = then_stop {
                E::Stopping { then: AfterStop::End { outcome: outcome.clone() } }
            } else if tries + 1 < settings.setup_tries {
                E::LaunchFailed { why, again_at: now + backoff(*tries) }
            } else {
                let why = format!("its process could not be started: {why}");
                E::Stopping { then: AfterStop::Rest { code: None, why } }
            }])
        }

        (Phase::Starting { attempt, then_stop, .. }, I::TreeGone { attempt: of, path }) if of == *attempt => {
            // Nothing was started in it. It is created again from its branch; uncommitted changes are lost.
            Ok(vec![match then_stop {
                Some(outcome) => E::Stopping { then: AfterStop::End { outcome: outcome.clone() } },
                None => E::TreeLost { path },
            }])
        }
        (Phase::Starting { attempt, then_stop: None, .. }, I::PortTaken { attempt: of, port })
            if of == *attempt =>
        {
            let mut lease = session.ports.clone();
            lease.refused.insert(port);
            Ok(match PortLeases::new(state).take(session, &lease) {
                Some(ports) => vec![E::PortsLeased { ports, refused: port }],
                None => {
                    let why =
                        format!("the port {port} is in use by another program, and no other is free for it");
                    vec![E::Stopping { then: AfterStop::Rest { code: None, why } }]
                }
            })
        }
        (Phase::Starting { attempt, then_stop: Some(outcome), .. }, I::PortTaken { attempt: of, .. })
            if of == *attempt =>
        {
            Ok(vec![E::Stopping { then: AfterStop::End { outcome: outcome.clone() } }])
        }

        // ── seeing what it does ──
        (_, I::Signal(signal)) => signalled(state, session, now, signal),
        (_, I::Reported { attempt, source, at, report }) => {
            let origin = ReportOrigin { attempt, source, at };
            Ok(reported(state, session, now, origin, report))
        }
        (phase, I::ConversationNamed { attempt, conversation })
            if attempt == session.attempt && !matches!(phase, Phase::Ended { .. }) =>
        {
            Ok(conversation_seen(state, session, Some(conversation)))
        }
        (Phase::Running { attempt, .. }, I::Looked { attempt: of, signals }) if of == *attempt => {
            let mut events = Vec::new();
            for signal in signals {
                if signal.attempt == of && !session_leaves(&events) {
                    events.extend(see(state, session, now, signal));
                }
            }
            if session.watch.wanted && !session_leaves(&events) {
                events.push(E::Looked {});
            }
            Ok(events)
        }
        (Phase::Running { attempt, .. }, I::Failed { effect: EffectKey::Look { attempt: of, .. }, why })
            if of == *attempt =>
        {
            let reading = Reading::Unreadable { why: why.clone() };
            let blind = Signal::certain(of, SignalSource::Process, now, reading);
            let mut events = see(state, session, now, blind);
            events.push(E::LookFailed { why });
            Ok(events)
        }

        (Phase::Running { attempt, .. }, I::Drift { attempt: of, drift }) if of == *attempt => {
            Ok(match drift {
                Some(what) if session.watch.drift.as_ref() != Some(&what) => vec![E::Drifted { what }],
                None if session.watch.drift.is_some() => vec![E::DriftEnded {}],
                _ => vec![],
            })
        }

        (phase, I::CheckedOut { checked_out }) if !matches!(phase, Phase::Ended { .. }) => {
            Ok(if session.watch.checked_out == checked_out {
                vec![]
            } else {
                vec![E::CheckoutChanged { checked_out }]
            })
        }

        // ── answers ──
        (Phase::Running { .. }, I::Answer { by, question, text }) => answer(session, now, by, question, text),
        (Phase::Running { attempt, .. }, I::Answered { attempt: of, number })
            if of == *attempt && is_answering(session, number) =>
        {
            // No signal may report that the dialog has closed.
            let look = (!session.watch.wanted).then_some(E::LookWanted {});
            Ok([E::Answered { number }].into_iter().chain(look).collect())
        }
        (Phase::Running { attempt, .. }, I::NotAnswered { attempt: of, number, why })
            if of == *attempt && is_answering(session, number) =>
        {
            Ok(vec![E::NotAnswered { number, why }])
        }
        (Phase::Running { .. }, I::Failed { effect: EffectKey::Answer { number, attempt: of, .. }, why })
            if of == session.attempt && is_answering(session, number) =>
        {
            Ok(vec![E::NotAnswered { number, why }])
        }

        // ── cancelling a turn ──
        (Phase::Running { attempt, .. }, I::TurnCancelled { attempt: of, number, cut })
            if of == *attempt && session.is_cancelling(number) =>
        {
            let mut events = vec![E::TurnCancelled { number, cut }];
            if cut {
                events.extend(cut_turn(session, now));
            } else if !session.watch.wanted {
                events.push(E::LookWanted {});
            }
            Ok(events)
        }
        // Its process is ended instead.
        (Phase::Running { attempt, .. }, I::Failed { effect: EffectKey::CancelTurn { number, .. }, .. })
            if session.attempt == *attempt && session.is_cancelling(number) =>
        {
            Ok(cut_turn(session, now))
        }

        // ── messages ──
        (_, I::Send(new)) => send(state, session, now, new),
        // It is being woken for exactly this news.
        (Phase::Queued { .. } | Phase::Preparing { .. }, I::Withdraw { incident })
            if incident.kind == IncidentKind::AgentIdle =>
        {
            NOTHING
        }
        (_, I::Withdraw { incident }) => Ok(session
            .outbox
            .waiting
            .iter()
            .filter(|message| message.kind == MessageKind::News { incident: incident.clone() })
            .map(|message| E::MessageWithdrawn { no: message.no, incident: Some(incident.clone()) })
            .collect()),
        (Phase::Running { attempt, .. }, I::Written { attempt: of, delivery, tries })
            if of == *attempt && is_writing(session, delivery, tries) =>
        {
            Ok(vec![E::Written { delivery, proof_by: now + settings.proof_wait }])
        }
        (Phase::Running { attempt, .. }, I::NotWritten { attempt: of, delivery, tries, why })
            if of == *attempt && is_writing(session, delivery, tries) =>
        {
            let pauses = session.outbox.current.as_ref().map_or(0, |current| current.pauses);
            let until = now + backoff(pauses);
            let mut events = vec![E::DeliveryPaused { delivery, until, counts: false, why }];
            // The evidence called for it but the screen did not show it: a signal is missing.
            if !session.watch.wanted {
                events.push(E::LookWanted {});
            }
            Ok(events)
        }
        (
            Phase::Running { attempt, .. },
            I::Failed { effect: EffectKey::Deliver { attempt: of, delivery, tries, .. }, why },
        ) if of == *attempt && is_writing(session, delivery, tries) => {
            Ok(vec![if tries < settings.delivery_tries {
                E::DeliveryPaused { delivery, until: now + backoff(tries), counts: true, why }
            } else {
                E::DeliveryFailed { delivery, why: format!("not accepted: {why}") }
            }])
        }
        (Phase::Running { .. }, I::Flush) => Ok(flush(state, session, now)),
        (Phase::Exited { .. } | Phase::Resting { .. }, I::Flush) => Ok(wake(state, session, now)),

        // ── the end of a process ──
        (Phase::Stopping { attempt, then, .. }, I::ProcessEnded { attempt: of }) if of == *attempt => {
            let mut events = Vec::new();
            match then {
                AfterStop::End { outcome } => events.extend(ended(session, outcome.clone())),
                other => events.push(other.event()),
            }
            Ok(events)
        }
        (Phase::Stopping { attempt, tries, .. }, I::Failed { effect, why })
            if effect == (EffectKey::End { session: session.id, attempt: *attempt, tries: *tries }) =>
        {
            // Not bounded: a process that may still run never counts as ended. From the third try on it is an
            // incident, so a person knows.
            Ok(vec![E::StopFailed { why, again_at: now + backoff(*tries) }])
        }
        (Phase::Ended { .. }, I::Stop { .. } | I::Merged { .. }) => NOTHING,
        (_, I::Stop { by, why }) => Ok(stop(state, session, SessionOutcome::Stopped { by, why })),
        (_, I::Merged { pull }) => Ok(stop(state, session, SessionOutcome::Merged { pull })),

        // ── waking it again ──
        (Phase::SetupFailed { .. }, I::Retry | I::Restore | I::RestoreIn { .. }) => {
            may_restore(state, session, now)?;
            Ok(vec![requeued(session, "tried again", moved_to)])
        }
        (Phase::Exited { .. } | Phase::Resting { .. }, I::Retry | I::Restore | I::RestoreIn { .. })
        | (Phase::Ended { .. }, I::Restore | I::RestoreIn { .. }) => {
            may_restore(state, session, now)?;
            Ok(restored(session, now, moved_to))
        }

        // ── holds and budgets ──
        (Phase::Ended { .. }, I::Hold { .. } | I::Release { .. }) => NOTHING,
        (_, I::Pause { by }) if session.is_live() => {
            Ok(hold(session, HoldKind::Person, format!("paused by {by}")))
        }
        // It may have been admitted, or stopped, while the hook was asked.
        (Phase::Queued { .. }, I::Clear) if !session.cleared => Ok(vec![E::Cleared {}]),
        (phase, I::Hold { kind: HoldKind::Hook, .. }) if !matches!(phase, Phase::Queued { .. }) => NOTHING,
        (_, I::Hold { kind, why }) => Ok(hold(session, kind, why)),
        (_, I::Release { kind }) => Ok(release(session, kind)),
        (_, I::Resume { limits }) => resume(state, session, now, limits),
        (_, I::LimitOver { after, within })
            if session.holds.contains_key(&HoldKind::Account) && session.resume.at.is_none() =>
        {
            // It waits for a person from now on, and a change of the setting meanwhile does not let it overtake the
            // others.
            if !state.resumes_by_itself(session) {
                return Ok(go_on(state, session, now));
            }
            let within = u64::try_from(within.as_millis()).unwrap_or(u64::MAX).max(1);
            // Never at this very moment: one step at a time.
            let jitter = Duration::from_millis(1 + crate::mix(moment.seed, session.id.0) % within);
            Ok(vec![E::ResumePlanned { at: now + after + jitter }])
        }
        (Phase::Running { .. }, I::Halt { why }) if session.judgement.activity == AgentActivity::Working => {
            Ok(halt(session, now, why))
        }
        (_, I::Count) if session.is_live() => Ok(spent(session, session.counted(now))),

        // ── what it leaves behind ──
        (_, I::PullUnlinked { pull }) if session.pulls.contains(&pull) => Ok(vec![E::PullUnlinked { pull }]),
        (_, I::PullLinked { pull }) if !session.pulls.contains(&pull) => Ok(vec![E::PullLinked { pull }]),
        (Phase::Ended { .. }, wish @ (I::Cleanup | I::Discard)) => match &session.workspace.state {
            WorkspaceState::Ready | WorkspaceState::Kept { .. } | WorkspaceState::Doubtful => {
                Ok(vec![E::RemovalWanted { discard: wish == I::Discard }])
            }
            // Already gone or being removed: the request is fulfilled.
            WorkspaceState::None | WorkspaceState::Removed | WorkspaceState::Removing => NOTHING,
        },
        (_, I::WorkspaceRemoved { tries, rescue }) if is_removing(session, tries) => {
            Ok(vec![E::WorkspaceRemoved { rescue }])
        }
        (_, I::WorkspaceKept { tries, reasons }) if is_removing(session, tries) => {
            Ok(vec![E::WorkspaceKept { reasons }])
        }
        (_, I::Failed { effect: EffectKey::RemoveWorkspace { tries, .. }, why })
            if is_removing(session, tries) =>
        {
            Ok(vec![if tries + 1 < settings.setup_tries {
                E::RemovalFailed { why, again_at: now + backoff(tries) }
            } else {
                E::WorkspaceKept { reasons: vec![KeepReason::RemovalFailed(why)] }
            }])
        }

        (_, I::Due) => Ok(due(state, session, moment)),

        // Stale results: of a replaced attempt, of a try already counted, of a delivery already proven.
        (
            _,
            I::WorkspaceReady { .. }
            | I::SetUp { .. }
            | I::SetupFailed { .. }
            | I::PortTaken { .. }
            | I::TreeGone { .. }
            | I::Drift { .. }
            | I::CheckedOut { .. }
            | I::Answered { .. }
            | I::NotAnswered { .. }
            | I::TurnCancelled { .. }
            | I::Launched { .. }
            | I::ConversationGone { .. }
            | I::ConversationNamed { .. }
            | I::Written { .. }
            | I::NotWritten { .. }
            | I::Looked { .. }
            | I::ProcessEnded { .. }
            | I::WorkspaceRemoved { .. }
            | I::WorkspaceKept { .. }
            | I::Failed { .. }
            | I::PullLinked { .. }
            | I::PullUnlinked { .. }
            | I::Clear
            | I::LimitOver { .. }
            | I::Halt { .. }
            | I::Flooding { .. }
            | I::Flush
            | I::Count,
        ) => NOTHING,
        (_, I::Retry | I::Restore | I::RestoreIn { .. }) => {
            Err(Refusal::not_now(session, now, "restored", "it is not at rest"))
        }
        (_, I::Answer { .. }) => Err(Refusal::not_now(session, now, "answered", "it has no process")),
        (_, I::Cleanup | I::Discard) => Err(Refusal::not_now(session, now, "cleaned up", "stop it first")),
        (_, I::Pause { .. }) => Err(has_ended(state, session, now)),
    }
}

// ── workspaces ──

fn is_creation(session: &Session, effect: &EffectKey) -> bool {
    *effect
        == EffectKey::CreateWorkspace {
            session: session.id,
            attempt: session.attempt,
            tries: session.workspace.tries,
        }
}

fn is_set_up(session: &Session, effect: &EffectKey) -> bool {
    session.is_setting_up()
        && *effect
            == EffectKey::SetUp {
                session: session.id,
                attempt: session.attempt,
                tries: session.workspace.tries,
            }
}

fn setup_is_empty(state: &State, session: &Session) -> bool {
    state.projects.get(&session.spec.project).is_none_or(|project| project.config.setup.is_empty())
}

/// Returns the events that follow once its workspace is ready.
fn prepared(session: &Session, moment: &Moment) -> Vec<SessionEvent> {
    if session.holds.is_empty() {
        launch(session, moment, session.attempt)
    } else {
        // A launch can be a turn. It gives its slot back and waits in line, with its workspace ready.
        vec![SessionEvent::Requeued { why: "held while its workspace was made".into(), runtime: None }]
    }
}

fn is_removing(session: &Session, tries: u32) -> bool {
    session.workspace.state == WorkspaceState::Removing && session.workspace.tries == tries
}

// ── seeing ──

/// Takes a signal of a session in any phase.
pub(super) fn signalled(state: &State, session: &Session, now: Timestamp, signal: Signal) -> SessionDecision {
    use SessionEvent as E;
    match &session.phase {
        Phase::Running { attempt, .. } | Phase::Starting { attempt, .. } => {
            if signal.attempt != *attempt {
                return Err(Refusal::Stale {
                    session: session.id,
                    attempt: signal.attempt,
                    current: *attempt,
                });
            }
            Ok(see(state, session, now, signal))
        }
        // The agent named the reason for its exit, and the exit was seen before that was read.
        Phase::Stopping { then: AfterStop::Retry { .. } | AfterStop::Rest { .. }, .. }
        | Phase::Retrying { .. }
        | Phase::Exited { .. }
            if signal.attempt == session.attempt && matches!(signal.reading, Reading::Limited { .. }) =>
        {
            let mut events = see(state, session, now, signal);
            let why = LIMITED.to_owned();
            match &session.phase {
                Phase::Stopping { .. } => {
                    events.push(E::Stopping { then: AfterStop::Rest { code: None, why } });
                }
                Phase::Retrying { .. } => events.push(E::Exited { code: None, why }),
                _ => {}
            }
            Ok(events)
        }
        _ => Err(Refusal::NotRunning { session: session.id, attempt: signal.attempt }),
    }
}

/// Returns the events of a signal: perhaps none, perhaps the end of the process.
fn see(state: &State, session: &Session, now: Timestamp, mut signal: Signal) -> Vec<SessionEvent> {
    // A source whose clock runs ahead must not outrank everything that comes after it.
    signal.at = signal.at.min(now);
    // Idle, with a message taken since the last idle signal: that is the end of another turn.
    let rests_again = signal.reading == Reading::Idle && session.is_at_it();
    match session.evidence.weigh(&signal) {
        SignalWeight::News => {}
        SignalWeight::Repeat if rests_again => {}
        SignalWeight::Repeat | SignalWeight::Late => return vec![],
    }
    if let Reading::Limited { until } = &mut signal.reading {
        let account = session.account();
        let in_force = state.accounts.get(account).filter(|until| **until > now);
        let blind = LIMIT_WITHOUT_END * (1 << state.limits_in_row(account, now).min(2));
        until.get_or_insert(in_force.copied().unwrap_or(now + blind));
    }
    let mut events = Vec::new();
    if signal.reading == Reading::Unheld {
        // It can neither be read nor written to. It is ended, and resumed where it was.
        let how =
            "the process that held its agent is gone, so that the agent could not be reached".to_owned();
        events.push(SessionEvent::Stopping { then: after_end(state, session, now, None, how) });
    }
    if let Reading::Exited { code } = signal.reading {
        let mut evidence = session.evidence.clone();
        evidence.record(&signal);
        let stands = judge(&evidence, now).activity == AgentActivity::Exited;
        match signal.source {
            SignalSource::Process | SignalSource::Protocol if stands => {
                events.push(SessionEvent::Stopping { then: after_exit(state, session, now, code) });
            }
            // Not from the process itself: a look has to confirm whether it is gone.
            _ if !session.watch.wanted && matches!(session.phase, Phase::Running { .. }) => {
                events.push(SessionEvent::LookWanted {});
            }
            _ => {}
        }
    }
    events.insert(0, SessionEvent::SignalSeen { signal });
    events
}

/// Records the conversation that the agent names, if it differs from the known one.
fn conversation_seen(state: &State, session: &Session, seen: Option<ConversationId>) -> Vec<SessionEvent> {
    let new = seen.filter(|seen| session.launch.conversation.as_ref() != Some(seen));
    // The agent's claim does not entitle it to another session's conversation.
    let own = new.filter(|seen| state.owner_of_conversation(seen).is_none_or(|owner| owner == session.id));
    own.map(|conversation| SessionEvent::ConversationSeen { conversation }).into_iter().collect()
}

/// Starts once afresh with the original task, which may still be in the outbox if it was never accepted.
fn conversation_gone(state: &State, session: &Session, now: Timestamp) -> Vec<SessionEvent> {
    let settings = &state.settings;
    let why = "the conversation to resume is gone; starts afresh with the task".to_owned();
    let fresh = match session.launch.restarts {
        restarts if restarts < settings.restarts => AfterStop::Retry { restarts: restarts + 1, at: now, why },
        _ => AfterStop::Rest { code: None, why },
    };
    let then = match &session.phase {
        Phase::Starting { then_stop: Some(outcome), .. } => Some(AfterStop::End { outcome: outcome.clone() }),
        Phase::Starting { .. } | Phase::Running { .. } => Some(fresh),
        Phase::Stopping { then: AfterStop::Retry { .. } | AfterStop::Rest { .. }, .. } => Some(fresh),
        // It starts again automatically, or on request.
        Phase::Retrying { .. } | Phase::Exited { .. } => None,
        _ => return vec![],
    };
    let mut events = vec![SessionEvent::ConversationGone { attempt: session.attempt }];
    if !session.outbox.waits_for_task() {
        events.push(SessionEvent::MessageQueued { message: task_message(session, now), replaces: None });
    }
    events.extend(then.map(|then| SessionEvent::Stopping { then }));
    events
}

pub(super) fn session_leaves(events: &[SessionEvent]) -> bool {
    events.iter().any(|event| matches!(event, SessionEvent::Stopping { .. }))
}

/// Returns the next phase of a session whose process has ended by itself.
fn after_exit(state: &State, session: &Session, now: Timestamp, code: Option<i32>) -> AfterStop {
    let how = match code {
        Some(code) => format!("the agent exited with code {code}"),
        None => "the agent was ended by a signal".into(),
    };
    after_end(state, session, now, code, how)
}

/// Returns the next phase of a session whose process has ended without being asked to.
fn after_end(state: &State, session: &Session, now: Timestamp, code: Option<i32>, how: String) -> AfterStop {
    if let Phase::Starting { then_stop: Some(outcome), .. } = &session.phase {
        return AfterStop::End { outcome: outcome.clone() };
    }
    let settings = &state.settings;
    let ran = match session.phase {
        Phase::Running { since, .. } => now.since(since),
        _ => Duration::ZERO,
    };
    let restarts = if ran >= settings.stable_run { 0 } else { session.launch.restarts };
    // It resumes when the limit is over, and holds no slot until then. Any exit code: the turn was not completed.
    if session.met_a_limit() {
        return AfterStop::Rest { code: code.filter(|code| *code != 0), why: LIMITED.to_owned() };
    }
    if code == Some(0) {
        return AfterStop::Rest { code, why: how };
    }
    if let Err(refusal) = may_go_on(state, session) {
        return AfterStop::Rest { code, why: format!("{how}; not started again: {refusal}") };
    }
    if restarts >= settings.restarts {
        return AfterStop::Rest { code, why: format!("{how}, and {restarts} restarts did not help") };
    }
    AfterStop::Retry { restarts: restarts + 1, at: now + backoff(restarts), why: how }
}

// ── ending ──

fn stop(state: &State, session: &Session, outcome: SessionOutcome) -> Vec<SessionEvent> {
    match &session.phase {
        // Nothing is running while a retry waits for its time.
        Phase::Preparing { .. } if session.workspace.again_at.is_some() => ended(session, outcome),
        // A project's own commands may run for long; they are ended like an agent.
        Phase::Preparing { .. } if session.is_setting_up() => {
            vec![SessionEvent::Stopping { then: AfterStop::End { outcome } }]
        }
        Phase::Preparing { .. } => vec![SessionEvent::StopWanted { outcome }],
        Phase::Starting { again_at: None, .. } if session.holds.is_empty() => {
            vec![SessionEvent::StopWanted { outcome }]
        }
        Phase::Stopping { then: AfterStop::End { .. }, .. } => vec![],
        Phase::Starting { .. } | Phase::Running { .. } | Phase::Stopping { .. } => {
            vec![SessionEvent::Stopping { then: AfterStop::End { outcome } }]
        }
        // No agent runs, but processes of its set-up may.
        Phase::Queued { .. }
        | Phase::SetupFailed { .. }
        | Phase::Retrying { .. }
        | Phase::Exited { .. }
        | Phase::Resting { .. } => {
            match session.workspace.path().is_some() && !setup_is_empty(state, session) {
                true => vec![SessionEvent::Stopping { then: AfterStop::End { outcome } }],
                false => ended(session, outcome),
            }
        }
        Phase::Ended { .. } => vec![],
    }
}

fn ended(session: &Session, outcome: SessionOutcome) -> Vec<SessionEvent> {
    let mut events = Vec::new();
    if !session.outbox.is_empty() {
        events.push(SessionEvent::MessagesDropped { why: format!("the session ended: {outcome}") });
    }
    events.extend(session.holds.keys().map(|kind| SessionEvent::Released { kind: *kind }));
    events.push(SessionEvent::Ended { outcome });
    // No agent has worked in it, and its existence is uncertain: it is removed at once, through the gate.
    if session.workspace.state == WorkspaceState::Doubtful {
        events.push(SessionEvent::RemovalWanted { discard: false });
    }
    events
}
