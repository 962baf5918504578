//! Answering the dialog that is open, and no other.

use ao_core::evidence::Reading;
use ao_core::text::sanitise;
use ao_ports::{AgentError, AnswerOrder, Answered};

use super::ANSWERS;
use super::agent::{CommandAgent, failed};
use crate::text::letters;

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
        let is_open = open.as_ref().is_some_and(|question| self.is_meant(order, question));
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
        let text = sanitise(&order.text);
        let number = ANSWERS | u64::from(order.number) << 8;
        match self.options.keys.answers.get(&text.trim().to_lowercase()) {
            Some(keys) => self.press(&order.process, number, keys).await?,
            // Numbered choices are taken at once, and Enter would go to whatever comes next.
            None if text.trim().len() == 1 && text.trim().as_bytes()[0].is_ascii_digit() => {
                self.press(&order.process, number, text.trim()).await?
            }
            None => {
                let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
                self.press(&order.process, number, &(line + &self.options.keys.submit)).await?
            }
        };
        Ok(Answered::Given)
    }

    /// Whether the dialog on the screen is the one that was answered. A hook has its own words for it; then it is the one
    /// that a hook has last told of.
    fn is_meant(&self, order: &AnswerOrder, shown: &str) -> bool {
        let (meant, shown) = (letters(&order.question), letters(shown));
        let told = || {
            self.history.as_ref().is_some_and(|it| it.asked(order.session, order.attempt, &order.question))
        };
        meant == shown || (!meant.is_empty() && (shown.contains(&meant) || meant.contains(&shown))) || told()
    }
}
