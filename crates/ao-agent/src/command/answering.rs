//! Answering the dialog that is open, and no other.

use ao_core::evidence::{Reading, same_question};
use ao_core::text::sanitise;
use ao_ports::{AgentError, AnswerOrder, Answered, FollowOrder};

use super::agent::{CommandAgent, failed};
use super::{ANSWERS, WELCOMES};

impl CommandAgent {
    /// Gives an answer by the terminal.
    pub(super) async fn press_answer(&self, order: &AnswerOrder) -> Result<Answered, AgentError> {
        let desk = self.desk(order.session, order.attempt);
        let mut memory = desk.memory().await.map_err(failed)?;
        let screen = self.runtime.screen(&order.process).await.map_err(failed)?;
        let open = match self.reads(&screen) {
            Reading::Asking { question } => Some(question),
            _ => None,
        };
        let is_open = open.as_ref().is_some_and(|question| is_meant(order, question));
        let before = memory.answered(order.number);
        match open {
            // It was given in an earlier call, and the dialog has gone for it.
            _ if before && !is_open => return Ok(Answered::Given),
            // Given, and it still stands there. A runtime that does not remember would press the keys again.
            _ if before && !self.runtime.abilities().remembers_writes => return Ok(Answered::Given),
            Some(other) if !is_open => {
                return Ok(Answered::NotAsked { why: format!("another question is open: {other}") });
            }
            None => return Ok(Answered::NotAsked { why: "no question is open on its screen".into() }),
            Some(_) => {}
        }
        if !before {
            memory.answer(order.number).map_err(failed)?;
        }
        let number = ANSWERS | u64::from(order.number) << 8;
        self.press(&order.process, number, &self.keys_for(&order.text)).await?;
        Ok(Answered::Given)
    }

    /// Answers a question of a first launch whose answer is known. Returns whether it did, so that it is nobody's any more;
    /// one that stands there after its answer is.
    pub(super) async fn welcomes(&self, order: &FollowOrder, question: &str) -> Result<bool, AgentError> {
        let Some(place) = self.patterns.welcome(question) else { return Ok(false) };
        let desk = self.desk(order.session, order.attempt);
        let mut memory = desk.memory().await.map_err(failed)?;
        if memory.is_settled() || memory.welcomed(place) {
            return Ok(false);
        }
        memory.welcome(place).map_err(failed)?;
        let keys = self.keys_for(&self.options.first_launch[place].answer);
        tracing::info!(session = %order.session, question, "a question of a first launch is answered");
        self.press(&order.process, WELCOMES | (place as u64) << 8, &keys).await?;
        Ok(true)
    }

    /// What is pressed for an answer.
    fn keys_for(&self, answer: &str) -> String {
        let text = sanitise(answer);
        let text = text.trim();
        match self.options.keys.answers.get(&text.to_lowercase()) {
            Some(keys) => keys.clone(),
            // Numbered choices are taken at once, and Enter would go to whatever comes next.
            None if text.len() == 1 && text.as_bytes()[0].is_ascii_digit() => text.to_owned(),
            None => text.split_whitespace().collect::<Vec<_>>().join(" ") + &self.options.keys.submit,
        }
    }
}

/// Returns whether the dialog on the screen is the one that was answered: its words are those that the person has read, and no
/// others. Where a hook was read, they had the name of a tool before them.
fn is_meant(order: &AnswerOrder, shown: &str) -> bool {
    same_question(&order.question, shown)
}
