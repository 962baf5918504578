//! Asks and dialogs of an agent: which are open, and when they count as the same one.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ClosedAsk, DialogAnswer, Phase, Session};
use crate::ask::{Ask, AskDetail, OpenAsk, choices};
use crate::evidence::{AgentActivity, Reading, Signal, SignalSource, is_generic, same_question};
use crate::text::same_words;
use crate::{AskId, Timestamp};

/// A report that was late or overtook another hides a dialog for at most this long.
const HIDDEN: Duration = Duration::from_secs(3);
/// The same dialog is not taken for a new one for this long after an answer.
const JUST_ANSWERED: Duration = Duration::from_secs(3);

/// The questions and answers of a session.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DialogState {
    /// The answer that is being given.
    pub answer: Option<DialogAnswer>,
    /// The answers to other asks that wait for it, in order.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub waiting: VecDeque<DialogAnswer>,
    /// The asks that were closed last.
    #[serde(default, skip_serializing_if = "VecDeque::is_empty")]
    pub closed: VecDeque<ClosedAsk>,
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
    /// The subject of the last dialog that a hook has reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described: Option<DialogSubject>,
}

/// The exact subject of a dialog, as a hook has reported it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DialogSubject {
    /// The question in the words of the hook.
    pub question: String,
    pub details: Vec<AskDetail>,
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

impl Session {
    /// Returns its open asks, in the order of their numbers. A dialog that its agent has not reported by an id is one too.
    pub fn open_asks(&self) -> Vec<OpenAsk> {
        if !matches!(self.phase, Phase::Running { .. }) {
            return vec![];
        }
        let named: Vec<OpenAsk> = self.evidence.open_asks().into_iter().cloned().collect();
        let is_dialog = named.is_empty() && self.judgement.activity == AgentActivity::NeedsInput;
        if !is_dialog || self.dialogs.is_shown_longer() {
            return named;
        }
        let number = self.dialogs.questions;
        let id = AskId::new(&format!("dialog-{number}"));
        let title = self.judgement.detail.clone();
        let screen = self.dialogs.screen_words().unwrap_or(&title);
        let mut ask = Ask { options: choices(screen), ..Ask::question(id, &title) };
        if let Some(described) = &self.dialogs.described
            && same_question(&described.question, &title)
        {
            ask.details.clone_from(&described.details);
        }
        let since = self.dialogs.open.unwrap_or(self.activity_since);
        vec![OpenAsk { number, since, ask, whole: None }]
    }

    /// Returns the number and the beginning of a dialog that was an earlier sight of this ask: seen in the same turn, with the
    /// same content, by a source that does not know its id.
    pub(super) fn sighted(&self, ask: &Ask) -> Option<(u32, Timestamp)> {
        let is_open =
            self.evidence.open_asks().is_empty() && self.judgement.activity == AgentActivity::NeedsInput;
        let since = self.dialogs.open.filter(|_| is_open)?;
        let last = self.dialogs.last.as_ref()?;
        let mut words = last.words.values().chain([&last.question]);
        let is_it = words.all(|words| is_generic(words) || ask.is_worded(words));
        is_it.then_some((self.dialogs.questions, since))
    }
}

impl DialogState {
    /// Numbers an ask that the agent has reported by its id. A dialog without one was an earlier sight of it, or is over.
    pub(super) fn number_ask(&mut self, number: u32) {
        self.replace();
        self.questions = self.questions.max(number);
    }

    /// Closes the dialog that an answer was for.
    pub(super) fn close_dialog(&mut self, answer: &DialogAnswer, at: Timestamp) {
        self.open = None;
        self.answered = Some(at);
        if answer.ask.is_some() {
            // Another source may show the same dialog for a moment longer.
            let (question, words) = (answer.question.clone(), BTreeMap::new());
            self.last = Some(LastDialog { since: at, question, seen: at, words });
        }
    }

    /// Returns true if another source only shows for a moment longer what was reported by its id, and is closed.
    fn is_shown_longer(&self) -> bool {
        let was_last = |closed: &ClosedAsk| closed.number == self.questions && closed.ask.is_some();
        self.open.is_none() && self.closed.iter().any(was_last)
    }

    /// Returns the words of the open dialog on the screen, if they are known.
    pub(super) fn screen_words(&self) -> Option<&String> {
        self.last.as_ref().filter(|_| self.open.is_some())?.words.get(&SignalSource::Terminal)
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

    /// Returns true if the dialog has given way to another, with nothing seen in between. `typed` is when a person last typed
    /// to the agent.
    ///
    /// A source that words it otherwise than before means another dialog, and so does one that words it otherwise than the
    /// other sources. Only hooks word one dialog in several ways, first as a request and then as a reminder, so while the
    /// screen shows its subject, the screen alone decides. Words without a subject, such as "Do you want to proceed?", fit
    /// every dialog, so they never make one of what another source has reported; unless a person may have closed that one.
    pub(super) fn is_replaced_by(&self, signal: &Signal, typed: Option<Timestamp>) -> bool {
        let Reading::Asking { question } = &signal.reading else { return false };
        let Some(dialog) = &self.last else { return false };
        let is_screen = signal.source == SignalSource::Terminal;
        let screen = dialog.words.get(&SignalSource::Terminal);
        let shows_subject = screen.is_some_and(|words| !is_generic(words));
        match dialog.words.get(&signal.source) {
            _ if signal.source == SignalSource::Hook && shows_subject => false,
            _ if is_generic(question) && !is_screen => false,
            Some(before) => !same_words(before, question),
            None if is_generic(question) => typed.is_some_and(|typed| typed >= dialog.since),
            None => {
                let fits = |known: &String| same_question(known, question) || is_generic(known);
                !dialog.words.is_empty() && !dialog.words.values().any(fits)
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
        let is_it = |last: &LastDialog| same_question(&last.question, question) || is_generic(question);
        just && self.last.as_ref().is_some_and(is_it)
    }
}
