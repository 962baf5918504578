//! The next step of a session: that of its pull request, unless its agent needs something itself.

use super::{NextStep, PullWork, WorkStage, WorkTurn};
use crate::Timestamp;
use crate::evidence::{JudgementRule, judge};
use crate::incident::{EscalationLevel, IncidentKind, Subject};
use crate::outside::{cut, one_line};
use crate::session::{HoldKind, Phase, Session, SessionRole, StatusReport, StatusWord};
use crate::state::State;

/// The number of bytes of a reason that are shown.
const SAID: usize = 200;

/// Returns the next step of a session, and who takes it.
pub(super) fn step(state: &State, session: &Session, pull: Option<&PullWork>, now: Timestamp) -> NextStep {
    let status = session.status(now);
    let open = pull.filter(|pull| pull.step.turn != WorkTurn::Done);
    let own = own(state, session, &status, now);
    match open {
        // A step for its agent needs an agent that can act.
        Some(pull) if pull.step.turn == WorkTurn::Agent => match own.turn {
            WorkTurn::You | WorkTurn::Wait => own,
            WorkTurn::Agent if own.stage == WorkStage::Working || own.stage == WorkStage::Starting => {
                NextStep { stage: own.stage, says: format!("{}; {}", own.says, of_pull(pull)), ..own }
            }
            _ => about(pull),
        },
        // An open question and a spent budget take precedence over the pull request.
        Some(_) if matches!(own.stage, WorkStage::Question | WorkStage::Budget) => own,
        // An agent that is gone cannot take its pending messages; the review is mentioned beside that.
        Some(pull)
            if own.stage == WorkStage::Stuck && own.turn == WorkTurn::You && !session.outbox.is_empty() =>
        {
            NextStep { says: format!("{}; {}", own.says, of_pull(pull)), ..own }
        }
        Some(pull) => about(pull),
        None => own,
    }
}

/// The step of a pull request as that of its session.
fn about(pull: &PullWork) -> NextStep {
    NextStep { says: of_pull(pull), ..pull.step.clone() }
}

fn of_pull(pull: &PullWork) -> String {
    format!("!{} {}", pull.id.number, pull.step.says)
}

/// Returns the next step of the session itself, without its pull request.
fn own(state: &State, session: &Session, status: &StatusReport, now: Timestamp) -> NextStep {
    use StatusWord as S;
    let name = &session.spec.name;
    let says = one_line(&cut(&status.reason, SAID));
    let step = |turn, stage| NextStep {
        turn,
        stage,
        says: says.clone(),
        since: status.since,
        command: None,
        then: None,
    };
    let you = |stage, command: &str| NextStep {
        command: Some(format!("ao {command} {name}")),
        ..step(WorkTurn::You, stage)
    };
    match status.word {
        S::Queued => step(WorkTurn::Wait, WorkStage::Queued),
        S::SettingUp | S::Starting | S::Retrying => step(WorkTurn::Agent, WorkStage::Starting),
        S::Working => step(WorkTurn::Agent, WorkStage::Working),
        S::Idle => idle(state, session, step(WorkTurn::Agent, WorkStage::Idle)),
        S::NeedsInput => {
            let judged = judge(&session.evidence, now);
            let asked =
                (judged.rule == JudgementRule::DialogOpen).then(|| one_line(&cut(&judged.detail, SAID)));
            let says = match asked.filter(|asked| !asked.is_empty()) {
                Some(asked) => format!("asks: {asked}"),
                None => "asks something".to_owned(),
            };
            NextStep { says, ..you(WorkStage::Question, "attach") }
        }
        S::Blocked => you(WorkStage::Stuck, "explain"),
        // The agent has given no signals for a while, as while a model thinks. A person is asked once it counts as
        // stuck.
        S::Unknown if !is_stuck(state, session) => step(WorkTurn::Agent, WorkStage::Quiet),
        S::Unknown => you(WorkStage::Stuck, "explain"),
        S::SetupFailed => {
            let step = you(WorkStage::Stuck, "logs --setup");
            NextStep { then: Some(format!("ao retry {name}")), ..step }
        }
        // A turn that ended well is no failure, even if its process is gone.
        S::Exited if matches!(session.phase, Phase::Exited { code: Some(0), .. }) => {
            idle(state, session, step(WorkTurn::Agent, WorkStage::Idle))
        }
        S::Exited => match state.may_restore(session, now) {
            Ok(()) => you(WorkStage::Stuck, "session restore"),
            Err(_) => you(WorkStage::Stuck, "explain"),
        },
        S::Capped => you(WorkStage::Budget, "resume"),
        S::RateLimited => step(WorkTurn::Wait, WorkStage::Limit),
        // A session paused by a person resumes on that person's request; the others need an answer.
        S::Paused if session.holds.keys().any(|kind| matches!(kind, HoldKind::Consent | HoldKind::Hook)) => {
            you(WorkStage::Paused, "resume")
        }
        S::Paused => step(WorkTurn::Wait, WorkStage::Paused),
        S::Stopping => step(WorkTurn::Agent, WorkStage::Stopping),
        S::Stopped => step(WorkTurn::Done, WorkStage::Stopped),
        S::Merged => step(WorkTurn::Done, WorkStage::Merged),
    }
}

/// An idle agent without a change: it is reminded, and if that does not help a person is asked.
fn idle(state: &State, session: &Session, step: NextStep) -> NextStep {
    let subject = Subject::Session(session.id);
    let given_up = state.incidents_of(&subject).any(|incident| {
        incident.key.kind == IncidentKind::AgentIdle
            && incident.absent.is_none()
            && matches!(incident.level, EscalationLevel::Person | EscalationLevel::None)
    });
    match (session.spec.role, given_up) {
        (SessionRole::Worker, true) => NextStep {
            turn: WorkTurn::You,
            says: "has stopped without a pull request".into(),
            command: Some(format!("ao logs {}", session.spec.name)),
            ..step
        },
        (SessionRole::Worker, false) => {
            NextStep { says: format!("{}; no pull request yet", step.says), ..step }
        }
        _ => step,
    }
}

/// Returns whether its agent counts as stuck.
fn is_stuck(state: &State, session: &Session) -> bool {
    let subject = Subject::Session(session.id);
    let mut incidents = state.incidents_of(&subject);
    incidents.any(|incident| incident.key.kind == IncidentKind::AgentStuck && incident.absent.is_none())
}
