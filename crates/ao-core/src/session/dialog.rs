//! Asks and dialogs of an agent: which are open, when they count as the same one, and the answers.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Phase, Session, SessionEvent};
use crate::ask::{Ask, AskKind, OpenAsk};
use crate::evidence::{AgentActivity, Reading, Signal, SignalSource, same_question};
use crate::refusal::Refusal;
use crate::text::same_words;
use crate::{AskId, Timestamp};

/// A report that was late or overtook another hides a dialog for at most this long.
const HIDDEN: Duration = Duration::from_secs(3);
/// The same dialog is not taken for a new one for this long after an answer.
const JUST_ANSWERED: Duration = Duration::from_secs(3);

/// The questions and answers of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DialogState {
    /// The answer that is being given to the open dialog.
    pub answer: Option<DialogAnswer>,
    /// Time at which the open dialog began. It is the same one until the agent is seen to do something else.
    pub open: Option<Timestamp>,
    /// The dialog that was seen last. Reports overtake each other, so for a moment it may seem to be gone.
    pub last: Option<LastDialog>,
    /// Count of the questions; the number of the last one.
    pub questions: u32,
    /// Time of the last answer.
    pub answered: Option<Timestamp>,
    /// Count of the answers; the number of the last one.
    pub answers: u32,
}

/// A dialog as it was last seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastDialog {
    /// Time at which it began.
    pub since: Timestamp,
    pub question: String,
    /// Time at which it was last seen.
    pub seen: Timestamp,
    /// The question in the words of each source.
    pub words: BTreeMap<SignalSource, String>,
}

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

/// Takes an answer to the ask with that number only: the question that the person read may have been replaced since.
pub(super) fn answer(
    session: &Session,
    now: Timestamp,
    by: String,
    question: u32,
    text: String,
) -> Result<Vec<SessionEvent>, Refusal> {
    if session.dialogs.answer.is_some() {
        return Err(Refusal::not_now(session, now, "answered", "an answer is on its way"));
    }
    let open = session.open_asks();
    let Some(latest) = open.last() else {
        return Err(Refusal::not_now(session, now, "answered", "it asks nothing"));
    };
    let Some(OpenAsk { ask, number: to, .. }) = open.iter().find(|open| open.number == question) else {
        return Err(Refusal::OtherQuestion {
            name: session.spec.name.clone(),
            meant: question,
            open: latest.number,
            question: latest.ask.title.clone(),
        });
    };
    let option = ask.option(&text).map(|option| option.id.clone());
    if option.is_none() && ask.kind != AskKind::Text {
        let options: Vec<String> = ask.options.iter().map(|option| format!("`{}`", option.id)).collect();
        let name = session.spec.name.clone();
        return Err(Refusal::NoSuchOption { name, question, options: options.join(", ") });
    }
    let answer = DialogAnswer {
        number: session.dialogs.answers.saturating_add(1),
        by,
        ask: session.evidence.open_ask(&ask.id).map(|open| open.ask.id.clone()),
        question: ask.title.clone(),
        to: *to,
        option,
        text,
    };
    Ok(vec![SessionEvent::Answering { answer }])
}

pub(super) fn is_answering(session: &Session, number: u32) -> bool {
    session.dialogs.answer.as_ref().is_some_and(|answer| answer.number == number)
}

impl Session {
    /// Returns its open asks, in the order of their numbers. A dialog that its agent has not reported by an id is one too.
    pub fn open_asks(&self) -> Vec<OpenAsk> {
        if !matches!(self.phase, Phase::Running { .. }) {
            return vec![];
        }
        let named: Vec<OpenAsk> = self.evidence.open_asks().into_iter().cloned().collect();
        if !named.is_empty() || self.judgement.activity != AgentActivity::NeedsInput {
            return named;
        }
        let number = self.dialogs.questions;
        let ask = Ask::question(AskId::new(&format!("dialog-{number}")), &self.judgement.detail);
        vec![OpenAsk { number, since: self.dialogs.open.unwrap_or(self.activity_since), ask }]
    }
}

impl DialogState {
    /// Begins to give an answer.
    pub(super) fn begin_answer(&mut self, answer: &DialogAnswer) {
        self.answers = answer.number;
        self.answer = Some(answer.clone());
    }

    /// Numbers an ask that the agent has reported by its id. A dialog without one was an earlier sight of it, or is over.
    pub(super) fn number_ask(&mut self) -> u32 {
        self.replace();
        self.questions = self.questions.saturating_add(1);
        self.questions
    }

    /// Closes the dialog, because it was answered, and returns the ask that the answer was for.
    pub(super) fn end_answer(&mut self, at: Timestamp) -> Option<AskId> {
        self.open = None;
        self.answered = Some(at);
        let answer = self.answer.take()?;
        if answer.ask.is_some() {
            // Another source may show the same dialog for a moment longer.
            let (question, words) = (answer.question, BTreeMap::new());
            self.last = Some(LastDialog { since: at, question, seen: at, words });
        }
        answer.ask
    }

    /// Closes the dialog and forgets it, because the agent asks something else.
    pub(super) fn replace(&mut self) {
        self.open = None;
        self.last = None;
    }

    /// Takes note of a question that the agent has open. `typed` is when a person last typed to the agent.
    pub(super) fn see(&mut self, question: &str, typed: Option<Timestamp>, at: Timestamp) {
        if self.open.is_none() && self.was_answered(question, at) {
            return;
        }
        let since = self.open.or_else(|| self.hidden_since(question, typed, at));
        let words = self.last.take().filter(|_| since.is_some()).map(|last| last.words);
        if since.is_none() {
            self.questions = self.questions.saturating_add(1);
        }
        let since = since.unwrap_or(at);
        self.open = Some(since);
        self.last = Some(LastDialog {
            since,
            question: question.to_owned(),
            seen: at,
            words: words.unwrap_or_default(),
        });
    }

    /// Returns true if the dialog has given way to another, with nothing seen in between.
    ///
    /// A source that words it otherwise than before means another dialog, and so does one that words it otherwise than the
    /// other sources. Only hooks word one dialog in several ways, first as a request and then as a reminder, so while the
    /// screen is read, the screen alone decides.
    pub(super) fn is_replaced_by(&self, signal: &Signal) -> bool {
        let Reading::Asking { question } = &signal.reading else { return false };
        let Some(dialog) = &self.last else { return false };
        match dialog.words.get(&signal.source) {
            _ if signal.source == SignalSource::Hook
                && dialog.words.contains_key(&SignalSource::Terminal) =>
            {
                false
            }
            Some(before) => !same_words(before, question),
            None => {
                !dialog.words.is_empty() && !dialog.words.values().any(|known| same_question(known, question))
            }
        }
    }

    /// Returns since when a dialog that has just come up is open, if it was hidden for a moment only. A person who has typed
    /// or answered meanwhile may have closed it, and the question is a new one then.
    fn hidden_since(&self, question: &str, typed: Option<Timestamp>, at: Timestamp) -> Option<Timestamp> {
        let last = self.last.as_ref()?;
        let closed = |then: Option<Timestamp>| then.is_some_and(|then| then >= last.seen);
        let is_hidden = at.since(last.seen) < HIDDEN
            && !closed(typed)
            && !closed(self.answered)
            && same_question(&last.question, question);
        is_hidden.then_some(last.since)
    }

    /// Returns true if the agent only shows for a moment longer what was just answered.
    fn was_answered(&self, question: &str, at: Timestamp) -> bool {
        let just = self.answered.is_some_and(|then| at.since(then) < JUST_ANSWERED);
        just && self.last.as_ref().is_some_and(|last| same_question(&last.question, question))
    }
}
