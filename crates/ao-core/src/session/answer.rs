//! Answers of people to asks. One is given at a time and the others wait, so each reaches its own ask.
//!
//! ```text
//!  answer ─► Answering ─► (the agent is given it) ─┬─► Answered: the ask is closed
//!            durable       again after a restart   └─► NotAnswered: nothing was written; a person is informed
//! ```

use serde::{Deserialize, Serialize};

use super::{DialogState, Session, SessionEvent};
use crate::ask::{AskKind, OpenAsk};
use crate::refusal::Refusal;
use crate::text::beginning;
use crate::{AskId, Timestamp};

/// The number of closed asks that are remembered, to inform a person who answers too late.
const CLOSED_KEPT: usize = 32;
/// The longest answer that is remembered with a closed ask.
const ANSWER_MOST: usize = 200;

/// An answer of a person to a dialog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialogAnswer {
    pub number: u32,
    pub by: String,
    /// The ask, if the agent has reported it by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskId>,
    /// The question that was read. An answer to one question must not reach the next.
    pub question: String,
    /// The number of the question.
    pub to: u32,
    /// The id of the option that was chosen, if the ask has options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub option: Option<String>,
    pub text: String,
}

/// An ask that is not open any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedAsk {
    pub number: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<AskId>,
    pub at: Timestamp,
    pub end: AskEnd,
}

/// The end of an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskEnd {
    /// A person's answer was given.
    Answered { by: String, answer: String },
    /// The agent has withdrawn it, or its turn has ended.
    Withdrawn {},
}

/// Takes an answer to the ask with that number only: the question that the person read may have been replaced since.
pub(super) fn answer(
    session: &Session,
    now: Timestamp,
    by: String,
    question: u32,
    text: String,
) -> Result<Vec<SessionEvent>, Refusal> {
    let name = session.spec.name.clone();
    if let Some(first) = session.dialogs.answers_under_way().find(|answer| answer.to == question) {
        let (by, answer) = (first.by.clone(), first.shown());
        return Err(Refusal::AskAnswered { name, question, by, answer, at: None });
    }
    let open = session.open_asks();
    let Some(OpenAsk { ask, number: to, .. }) = open.iter().find(|open| open.number == question) else {
        return Err(not_open(session, now, question, &open));
    };
    let option = ask.option(&text).map(|option| option.id.clone());
    if option.is_none() && ask.kind != AskKind::Text {
        return Err(Refusal::NoSuchOption { name, question, options: ask.options_shown() });
    }
    let reported = session.evidence.open_ask(&ask.id).map(|open| open.ask.id.clone());
    let answer = DialogAnswer {
        number: session.dialogs.answers.saturating_add(1),
        by,
        // The words to look for: those on the screen, if it is one dialog of several sources.
        question: session.dialogs.screen_words().filter(|_| reported.is_none()).unwrap_or(&ask.title).clone(),
        ask: reported,
        to: *to,
        option,
        text,
    };
    Ok(vec![SessionEvent::Answering { answer }])
}

impl Session {
    /// Returns the number of the ask that a person means: by its number, by the agent's id, or by a unique beginning of that.
    /// One that is closed is found too, so that the person learns how.
    pub fn ask_meant(&self, meant: &str) -> Result<u32, Refusal> {
        let meant = meant.trim();
        let open = self.open_asks();
        let closed = self.dialogs.closed.iter().rev();
        let mut ids = open.iter().map(|open| (&open.ask.id, open.number));
        let mut ended = closed.filter_map(|closed| Some((closed.ask.as_ref()?, closed.number)));
        let is_it = |(id, _): &(&AskId, u32)| id.as_str() == meant;
        if let Some((_, number)) = ids.clone().find(is_it) {
            return Ok(number);
        }
        // The number of a question that there never was is refused by the answer.
        if let Ok(number) = meant.parse() {
            return Ok(number);
        }
        let mut begin = ids.by_ref().filter(|(id, _)| !meant.is_empty() && id.as_str().starts_with(meant));
        match (begin.next(), begin.next(), ended.find(is_it)) {
            (Some((_, number)), None, _) | (None, _, Some((_, number))) => Ok(number),
            _ => {
                let open = open.iter().map(|open| format!("{} (`{}`)", open.number, open.ask.id)).collect();
                Err(Refusal::UnknownAsk { name: self.spec.name.clone(), meant: beginning(meant, 100), open })
            }
        }
    }

    /// Returns the answer to an open ask that holds for later asks too, see [`Ask::lasting_option`](crate::ask::Ask). One to
    /// an ask that is not open is returned as it is, to be refused with the reason.
    pub fn lasting_answer(&self, question: u32, answer: Option<&str>) -> Result<String, Refusal> {
        let Some(open) = self.open_asks().into_iter().find(|open| open.number == question) else {
            return Ok(answer.unwrap_or_default().to_owned());
        };
        match open.ask.lasting_option(answer) {
            Some(option) => Ok(option.id.clone()),
            None => Err(Refusal::NoLastingOption {
                name: self.spec.name.clone(),
                question,
                options: open.ask.options_shown(),
            }),
        }
    }
}

/// Returns the reason why an ask cannot be answered any more.
fn not_open(session: &Session, now: Timestamp, question: u32, open: &[OpenAsk]) -> Refusal {
    let name = session.spec.name.clone();
    let closed = session.dialogs.closed.iter().rev().find(|closed| closed.number == question);
    match (closed, open.last()) {
        (Some(ClosedAsk { end: AskEnd::Answered { by, answer }, at, .. }), _) => {
            let (by, answer) = (by.clone(), answer.clone());
            Refusal::AskAnswered { name, question, by, answer, at: Some(*at) }
        }
        (_, Some(latest)) => Refusal::OtherQuestion {
            name,
            meant: question,
            open: latest.number,
            question: latest.ask.title.clone(),
        },
        (Some(_), None) => Refusal::not_now(
            session,
            now,
            "answered",
            "the agent has withdrawn the question, or its turn is over",
        ),
        (None, None) => Refusal::not_now(session, now, "answered", "it asks nothing"),
    }
}

/// Returns true if this answer is the one that is being given.
pub(super) fn is_answering(session: &Session, number: u32) -> bool {
    session.dialogs.answer.as_ref().is_some_and(|answer| answer.number == number)
}

impl DialogAnswer {
    /// Returns the answer as it is shown to people.
    pub fn shown(&self) -> String {
        beginning(self.option.as_ref().unwrap_or(&self.text), ANSWER_MOST)
    }
}

impl DialogState {
    /// Returns the answers that are not given yet, in order.
    pub fn answers_under_way(&self) -> impl Iterator<Item = &DialogAnswer> {
        self.answer.iter().chain(&self.waiting)
    }

    /// Begins to give an answer, after those before it.
    pub(super) fn begin_answer(&mut self, answer: &DialogAnswer) {
        self.answers = answer.number;
        match self.answer {
            Some(_) => self.waiting.push_back(answer.clone()),
            None => self.answer = Some(answer.clone()),
        }
    }

    /// Takes note that the present answer was given, and returns it.
    pub(super) fn end_answer(&mut self, at: Timestamp) -> Option<DialogAnswer> {
        let answer = self.answer.take()?;
        self.answer = self.waiting.pop_front();
        let end = AskEnd::Answered { by: answer.by.clone(), answer: answer.shown() };
        self.remember(ClosedAsk { number: answer.to, ask: answer.ask.clone(), at, end });
        self.close_dialog(&answer, at);
        Some(answer)
    }

    /// Gives the present answer up.
    pub(super) fn fail_answer(&mut self) {
        self.answer = self.waiting.pop_front();
    }

    /// Drops all answers, because no process waits for them.
    pub(super) fn drop_answers(&mut self) {
        self.answer = None;
        self.waiting.clear();
    }

    /// Takes note that the agent does not ask this any more. If an answer to it is being given, its result decides.
    pub(super) fn withdrawn(&mut self, open: &OpenAsk, at: Timestamp) {
        if !self.answers_under_way().any(|answer| answer.to == open.number) {
            let (number, ask) = (open.number, Some(open.ask.id.clone()));
            self.remember(ClosedAsk { number, ask, at, end: AskEnd::Withdrawn {} });
        }
    }

    fn remember(&mut self, closed: ClosedAsk) {
        self.closed.retain(|known| known.number != closed.number);
        self.closed.push_back(closed);
        if self.closed.len() > CLOSED_KEPT {
            self.closed.pop_front();
        }
    }
}
