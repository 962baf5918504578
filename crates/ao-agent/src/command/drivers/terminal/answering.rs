//! Answers the open dialog, and no other, and cancels turns by keys.

use ao_core::evidence::{Reading, same_question};
use ao_core::text::sanitise;
use ao_ports::{AgentError, AnswerOrder, AnswerOutcome, CancelOrder, Cancelled, FollowOrder, Screen};

use super::TerminalDriver;
use super::typing::STOPS;
use crate::command::base::failed;
use crate::command::{ANSWERS, CANCELS, WELCOMES};

impl TerminalDriver {
    /// Answers through the terminal.
    pub(super) async fn press_answer(&self, order: &AnswerOrder) -> Result<AnswerOutcome, AgentError> {
        let agent_process = self.base.agent_process(order.session, order.attempt);
        let mut memory = agent_process.memory().await.map_err(failed)?;
        let runtime = self.base.runtime(&order.process)?;
        let screen = runtime.screen(&order.process).await.map_err(failed)?;
        let open = match self.reads(&screen) {
            Reading::Asking { question } => Some(question),
            _ => None,
        };
        let is_open = open.as_ref().is_some_and(|question| is_meant(order, question));
        let before = memory.answered(order.number);
        match open {
            // It was answered in an earlier call, and the dialog is gone.
            _ if before && !is_open => return Ok(AnswerOutcome::Given),
            // It was answered, and is still open. A runtime without write numbers would press the keys again.
            _ if before && !runtime.abilities().remembers_writes => return Ok(AnswerOutcome::Given),
            Some(other) if !is_open => {
                return Ok(AnswerOutcome::Gone { why: format!("another question is open: {other}") });
            }
            None => return Ok(AnswerOutcome::Gone { why: "no question is open on its screen".into() }),
            Some(_) => {}
        }
        if !before {
            memory.answer(order.number, None).map_err(failed)?;
        }
        let number = ANSWERS | u64::from(order.number) << 8;
        self.press(&order.process, number, &self.keys_for(&order.text)).await?;
        Ok(AnswerOutcome::Given)
    }

    /// Answers a question of a first launch whose answer is known. Returns true if it did, so that no person is asked;
    /// a question that stays open after its answer goes to a person.
    pub(super) async fn welcomes(&self, order: &FollowOrder, question: &str) -> Result<bool, AgentError> {
        let Some(place) = self.patterns.welcome(question) else { return Ok(false) };
        let agent_process = self.base.agent_process(order.session, order.attempt);
        let mut memory = agent_process.memory().await.map_err(failed)?;
        if memory.is_settled() || memory.welcomed(place) {
            return Ok(false);
        }
        memory.welcome(place).map_err(failed)?;
        let keys = self.keys_for(&self.base.options.first_launch[place].answer);
        tracing::info!(session = %order.session, question, "a question of a first launch is answered");
        self.press(&order.process, WELCOMES | (place as u64) << 8, &keys).await?;
        Ok(true)
    }

    /// Presses the keys that end a running turn, and waits until the agent is at its prompt. A turn that has not ended by
    /// then may still do so.
    pub(super) async fn press_cancel(
        &self,
        order: &CancelOrder,
        keys: &str,
    ) -> Result<Cancelled, AgentError> {
        let agent_process = self.base.agent_process(order.session, order.attempt);
        let mut memory = agent_process.memory().await.map_err(failed)?;
        if let Some(cancelled) = memory.cancelled(order.number) {
            return Ok(cancelled);
        }
        let screen = self.base.runtime(&order.process)?.screen(&order.process).await.map_err(failed)?;
        let cancelled = match self.reads(&screen) {
            Reading::Working { .. } | Reading::Asking { .. } => Cancelled::Cut,
            Reading::Idle | Reading::Limited { .. } => Cancelled::NoTurn,
            _ => return Err(AgentError::Failed("its screen does not show whether a turn is running".into())),
        };
        memory.cancel(order.number, cancelled).map_err(failed)?;
        if cancelled == Cancelled::Cut {
            self.press(&order.process, CANCELS | u64::from(order.number) << 8, keys).await?;
            let at_prompt = |screen: &Screen| self.reads(screen) == Reading::Idle;
            self.until(&order.process, STOPS, at_prompt).await?;
        }
        Ok(cancelled)
    }

    /// Returns the keys for an answer.
    fn keys_for(&self, answer: &str) -> String {
        let text = sanitise(answer);
        let text = text.trim();
        match self.base.options.keys.answers.get(&text.to_lowercase()) {
            Some(keys) => keys.clone(),
            // Numbered choices are taken at once, and Enter would go to the next dialog.
            None if text.len() == 1 && text.as_bytes()[0].is_ascii_digit() => text.to_owned(),
            None => text.split_whitespace().collect::<Vec<_>>().join(" ") + &self.base.options.keys.submit,
        }
    }
}

/// Returns true if the dialog on the screen is the one that was answered: its text is what the person has read. If the
/// question came from a hook, the tool's name is in front of it.
fn is_meant(order: &AnswerOrder, shown: &str) -> bool {
    same_question(&order.question, shown)
}
