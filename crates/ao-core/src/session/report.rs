//! The meaning of an agent's reports.

use super::decide::signalled;
use super::denied::denied;
use super::holds::spent;
use super::say::proven;
use super::{DialogSubject, Phase, Session, SessionEvent};
use crate::agent_report::{AgentReport, CallState, TurnCause, TurnEnd};
use crate::ask::{Ask, OpenAsk};
use crate::evidence::{Reading, Signal, SignalSource};
use crate::outside::one_line;
use crate::state::State;
use crate::text::beginning;
use crate::{AskId, Attempt, Timestamp};

/// The longest reply that is recorded. The output of the agent has all of it.
const REPLY_MOST: usize = 2000;
/// The most open asks of a session.
const ASKS_MOST: usize = 32;
/// The most steps of a plan that are recorded.
const STEPS_MOST: usize = 50;
/// The longest text of a step.
const STEP_MOST: usize = 200;

/// The origin of a report.
pub(super) struct ReportOrigin {
    pub(super) attempt: Attempt,
    pub(super) source: SignalSource,
    /// The time of the observation.
    pub(super) at: Timestamp,
}

/// Returns the events of a report. Those of replaced attempts are stale, except for denied tool calls: their hook may be
/// read after the next attempt began.
pub(super) fn reported(
    state: &State,
    session: &Session,
    now: Timestamp,
    origin: ReportOrigin,
    report: AgentReport,
) -> Vec<SessionEvent> {
    use SessionEvent as E;
    let ReportOrigin { attempt, source, at } = origin;
    if let AgentReport::ToolCall(call) = &report
        && call.state == CallState::Denied
    {
        return denied(session, attempt, &call.id, &call.tool);
    }
    if attempt != session.attempt {
        return vec![];
    }
    let runs = matches!(session.phase, Phase::Running { .. } | Phase::Starting { .. });
    let works = |doing: String| {
        let reading = Reading::Working { doing };
        let signal = Signal::certain(attempt, source, at, reading);
        signalled(state, session, now, signal).unwrap_or_default()
    };
    match report {
        AgentReport::TurnBegan { turn, cause: TurnCause::User { text, delivery } } => {
            proven(session, delivery, turn, &text)
        }
        AgentReport::TurnBegan { cause: TurnCause::Agent {}, .. } => works(String::new()),
        AgentReport::ToolCall(call) if call.state == CallState::Running => works(call.summary()),
        AgentReport::ToolCall(_) => works(String::new()),
        _ if matches!(session.phase, Phase::Ended { .. }) => vec![],
        AgentReport::TurnEnded { end } => {
            let end = match end {
                TurnEnd::Failed { why } => TurnEnd::Failed { why: beginning(&why, REPLY_MOST) },
                other => other,
            };
            vec![E::TurnEnded { end }]
        }
        AgentReport::Reply { text } => {
            let text = beginning(text.trim(), REPLY_MOST);
            let is_news = !text.is_empty() && session.last_reply.as_ref() != Some(&text);
            if is_news { vec![E::Replied { text }] } else { vec![] }
        }
        AgentReport::Plan { mut steps } => {
            steps.truncate(STEPS_MOST);
            steps.iter_mut().for_each(|step| step.text = beginning(&one_line(&step.text), STEP_MOST));
            vec![E::PlanChanged { steps }]
        }
        AgentReport::Usage { spend } => spent(session, session.usage.before.plus(spend)),
        AgentReport::Asked { ask } if runs && !session.evidence.is_over(&ask.id, at) => {
            let whole = ask.is_long().then(|| ask.length());
            let ask = ask.bounded();
            let known = session.evidence.open_ask(&ask.id);
            let is_full = known.is_none() && session.evidence.open_asks().len() >= ASKS_MOST;
            if is_full || known.is_some_and(|open| open.ask == ask) {
                return vec![];
            }
            let (number, since) = match known {
                Some(open) => (open.number, open.since),
                None => session
                    .sighted(&ask)
                    .unwrap_or_else(|| (session.dialogs.questions.saturating_add(1), at.min(now))),
            };
            // Reported again by an adapter that has kept only the beginnings.
            let whole = whole.or_else(|| known.filter(|known| known.ask.details == ask.details)?.whole);
            vec![E::Asked { open: OpenAsk { number, since, ask, whole } }]
        }
        AgentReport::AskClosed { ask } if session.evidence.open_ask(&ask).is_some() => {
            vec![E::AskClosed { ask }]
        }
        AgentReport::Dialog { question, details } if runs => {
            let Ask { title: question, details, .. } =
                Ask { details, ..Ask::question(AskId::new("dialog"), &question) }.bounded();
            let subject = DialogSubject { question, details };
            let is_news = session.dialogs.described.as_ref() != Some(&subject);
            if is_news { vec![E::DialogDescribed { subject }] } else { vec![] }
        }
        // No process waits for an answer, or the ask is over.
        AgentReport::Asked { .. } | AgentReport::AskClosed { .. } | AgentReport::Dialog { .. } => vec![],
    }
}
