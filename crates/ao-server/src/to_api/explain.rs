//! Explains the state of a session: every rule, every signal, and which of them decided.

use ao_api::{
    EvidenceRule, EvidenceSource, Explanation, Incident, IncidentLevel, Queue, Rule, SessionPhase,
    SessionState, Signal, SignalConfidence, SignalReading,
};
use ao_core::evidence::{Confidence, Evidence, Judgement, JudgementRule, Reading, SignalSource, judge};
use ao_core::incident::{EscalationLevel, Subject};
use ao_core::schedule::{Obstacle, obstacle};
use ao_core::session::{Phase, Session, StatusWord};
use ao_core::{State, Timestamp};

use super::session::{holds, status_of};
use super::{messages, time};

/// The rules in the order in which they are tried, each with the state that it yields. The last rule counts them.
const RULES: [(JudgementRule, EvidenceRule, SessionState); JudgementRule::NoEvidence as usize + 1] = [
    (JudgementRule::ExitSeen, EvidenceRule::ExitSeen, SessionState::Exited),
    (JudgementRule::DialogOpen, EvidenceRule::DialogOpen, SessionState::NeedsInput),
    (JudgementRule::SaidBlocked, EvidenceRule::SaidBlocked, SessionState::Blocked),
    (JudgementRule::LoggedOut, EvidenceRule::LoggedOut, SessionState::Blocked),
    (JudgementRule::LimitInForce, EvidenceRule::LimitInForce, SessionState::RateLimited),
    (JudgementRule::ProbeFailed, EvidenceRule::ProbeFailed, SessionState::Unknown),
    (JudgementRule::LimitOver, EvidenceRule::LimitOver, SessionState::Idle),
    (JudgementRule::TurnEnded, EvidenceRule::TurnEnded, SessionState::Idle),
    (JudgementRule::TurnRunning, EvidenceRule::TurnRunning, SessionState::Working),
    (JudgementRule::BusyButQuiet, EvidenceRule::BusyButQuiet, SessionState::Working),
    (JudgementRule::WorkUnconfirmed, EvidenceRule::WorkUnconfirmed, SessionState::Unknown),
    (JudgementRule::JustStarted, EvidenceRule::JustStarted, SessionState::Starting),
    (JudgementRule::NoEvidence, EvidenceRule::NoEvidence, SessionState::Unknown),
];

pub(crate) fn explanation(state: &State, session: &Session, now: Timestamp) -> Explanation {
    let judgement = judge(&session.evidence, now);
    // In other phases, and while it is held, evidence does not decide.
    let decides = matches!(session.phase, Phase::Running { .. }) && session.holds.is_empty();
    Explanation {
        id: session.id.to_string(),
        name: session.spec.name.clone(),
        status: status_of(state, session, now),
        phase: same_name!(
            session.phase, Phase => SessionPhase: Queued, Preparing, SetupFailed, Starting, Running, Stopping,
            Retrying, Exited, Resting, Ended
        ),
        rules: RULES
            .iter()
            .map(|&(rule, name, says)| Rule {
                rule: name,
                meaning: rule.to_string(),
                says,
                won: decides && rule == judgement.rule,
            })
            .collect(),
        signals: signals(&session.evidence, decides.then_some(&judgement), now),
        queue: queue(state, session),
        holds: holds(session),
        incidents: incidents(state, session),
        messages: messages(state, session, now).messages,
        drift: session.watch.drift.clone(),
        next: next(state, session, now),
    }
}

/// Returns the signals, the newest first.
fn signals(evidence: &Evidence, decided: Option<&Judgement>, now: Timestamp) -> Vec<Signal> {
    let mut signals: Vec<(Timestamp, Signal)> = evidence
        .latest()
        .map(|signal| {
            let (reading, detail) = read(&signal.reading, now);
            let told = Signal {
                source: same_name!(
                    signal.source, SignalSource => EvidenceSource: Protocol, Hook, Transcript, Terminal, Process
                ),
                reading,
                detail,
                confidence: same_name!(signal.confidence, Confidence => SignalConfidence: Low, Medium, High),
                at: time(signal.at),
                age_seconds: now.since(signal.at).as_secs(),
                decided: decided
                    .is_some_and(|decided| decided.source == Some(signal.source) && decided.at == signal.at),
            };
            (signal.at, told)
        })
        .collect();
    if let Some(typed) = evidence.human_typed {
        let told = Signal {
            source: EvidenceSource::Person,
            reading: SignalReading::Typed,
            detail: "a person typed into the terminal".into(),
            confidence: SignalConfidence::High,
            at: time(typed),
            age_seconds: now.since(typed).as_secs(),
            // Typing is no evidence of what the agent does.
            decided: false,
        };
        signals.push((typed, told));
    }
    signals.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    signals.into_iter().map(|(_, told)| told).collect()
}

fn read(reading: &Reading, now: Timestamp) -> (SignalReading, String) {
    match reading {
        Reading::Started => (SignalReading::Started, "the agent has started".into()),
        Reading::Working { doing } => (SignalReading::Working, doing.clone()),
        Reading::Idle => (SignalReading::Idle, "the agent is at its prompt".into()),
        Reading::Asking { question } => (SignalReading::Asking, question.clone()),
        Reading::Blocked { on } => (SignalReading::Blocked, on.clone()),
        Reading::LoggedOut => (SignalReading::LoggedOut, "the agent has to be logged in again".into()),
        Reading::Limited { until: Some(until) } => {
            (SignalReading::Limited, format!("for {} s more", until.since(now).as_secs()))
        }
        Reading::Limited { until: None } => (SignalReading::Limited, "no end was named".into()),
        Reading::Alive { busy: true } => (SignalReading::Alive, "a process of the agent is busy".into()),
        Reading::Alive { busy: false } => (SignalReading::Alive, "the process lives and is at rest".into()),
        Reading::Exited { code: Some(code) } => (SignalReading::Exited, format!("exit code {code}")),
        Reading::Exited { code: None } => (SignalReading::Exited, "ended by a signal".into()),
        Reading::HumanTyped => (SignalReading::Typed, "a person typed into the terminal".into()),
        Reading::Unreadable { why } => (SignalReading::Unreadable, why.clone()),
        Reading::Unheld => (SignalReading::Unheld, "the process that held it is gone".into()),
    }
}

fn queue(state: &State, session: &Session) -> Option<Queue> {
    let Phase::Queued { since } = session.phase else { return None };
    let before = state
        .live_in(&session.spec.project)
        .filter(|other| other.id != session.id)
        .filter(|other| match other.phase {
            Phase::Queued { since: theirs } => {
                (std::cmp::Reverse(other.spec.priority), theirs)
                    < (std::cmp::Reverse(session.spec.priority), since)
            }
            _ => false,
        })
        .count();
    let obstacle = obstacle(state, session).map(|obstacle| waits_for(state, &obstacle));
    Some(Queue { before: u32::try_from(before).unwrap_or(u32::MAX), obstacle })
}

/// Describes what a session in the queue waits for.
pub(super) fn waits_for(state: &State, obstacle: &Obstacle) -> String {
    match obstacle {
        Obstacle::Cap { max } => format!("all {max} agent slots are in use"),
        Obstacle::ProjectCap { max } => {
            format!("all {max} agent slots of this project are in use")
        }
        Obstacle::Memory { free_mb } => format!("only {free_mb} MB of memory are free"),
        Obstacle::BlockedBy(task) => format!("it is blocked by {task}, which is open"),
        Obstacle::Held(why) => format!("it is held: {why}"),
        Obstacle::Account(account) => format!("the provider's limit of `{account}` is in force"),
        Obstacle::Ports { holders } => {
            let names: Vec<String> =
                holders.iter().map(|holder| format!("`{}`", state.name_of(*holder))).collect();
            match names.is_empty() {
                true => "all ports of its project are in use".into(),
                false => format!("all ports of its project are in use by {}", names.join(", ")),
            }
        }
        Obstacle::Collides { with, files } => {
            let (with, files) = (state.name_of(*with), files.join(", "));
            format!("its task names files that `{with}` changes just now: {files}")
        }
        Obstacle::Asked => "the hook `before-assign` is asked whether it may start".into(),
        Obstacle::SpecialistCap { id, max } => {
            format!("all {max} slots of `{id}` are in use")
        }
        Obstacle::Untrusted { author } => {
            format!("{author} may not set agents to work, and no trusted person has vouched for it")
        }
        Obstacle::NoSpecialist => "no specialist is for its labels".into(),
        Obstacle::NotAssigned { why } => format!("it could not be given to an agent: {why}"),
        Obstacle::Stopped { by } => {
            format!("{by} has stopped all work of its project; `ao start` lets issues begin again")
        }
        Obstacle::Worked => "it already had a session; `ao spawn` starts another".into(),
        Obstacle::Begun => "its session is being made".into(),
    }
}

fn incidents(state: &State, session: &Session) -> Vec<Incident> {
    let of_pulls = session.pulls.iter().map(|pull| Subject::Pull(pull.clone()));
    std::iter::once(Subject::Session(session.id))
        .chain(of_pulls)
        .flat_map(|subject| {
            let open = state.incidents_of(&subject).map(|incident| Incident {
                kind: incident.key.kind.to_string(),
                problem: incident.key.problem.to_string(),
                detail: incident.detail.clone(),
                opened_at: time(incident.opened),
                acted: incident.acted,
                asked: same_name!(
                    incident.level, EscalationLevel => IncidentLevel: Agent, Orchestrator, Person, None
                ),
                held: incident.doubt.as_ref().map(|doubt| super::reaction::doubted(doubt).to_owned()),
            });
            open.collect::<Vec<_>>()
        })
        .collect()
}

/// Returns commands that help.
fn next(state: &State, session: &Session, now: Timestamp) -> Vec<String> {
    let name = &session.spec.name;
    let commands: &[&str] = match session.status(now).word {
        StatusWord::NeedsInput => &["ao answer NAME yes --ask NUMBER", "ao attach NAME"],
        StatusWord::SetupFailed => &["ao logs NAME --setup", "ao retry NAME"],
        StatusWord::Exited | StatusWord::Stopped if state.may_restore(session, now).is_ok() => {
            &["ao session restore NAME", "ao logs NAME"]
        }
        StatusWord::Exited => &["ao logs NAME", "ao stop NAME"],
        StatusWord::Stopped => &["ao logs NAME"],
        StatusWord::Paused => &["ao resume NAME"],
        StatusWord::Capped => &["ao budget", "ao resume NAME"],
        // Between turns it may have no process, and so no terminal.
        StatusWord::Idle if session.process.is_none() => &["ao logs NAME", "ao send NAME …"],
        StatusWord::Blocked | StatusWord::Unknown | StatusWord::Idle => &["ao attach NAME", "ao send NAME …"],
        StatusWord::Merged => &["ao session cleanup NAME"],
        _ => &[],
    };
    let number = session.open_asks().last().map_or(0, |open| open.number).to_string();
    commands.iter().map(|command| command.replace("NAME", name).replace("NUMBER", &number)).collect()
}
